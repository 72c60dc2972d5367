//! Upstreams that hang or are slow: their time is over, and nothing is left behind.

use super::message::{Fault, Wire};
use super::site::{Site, get, of_upstream, post};
use super::upstream::{After, OK, Upstream, free};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

const RULES: &str = "[{id: all, key: ip, limit: 10/day}, {id: few, key: ip, limit: 2 concurrent}]";

/// An upstream that takes a request, says this, and then nothing until its peer leaves.
fn silent(said: &'static str) -> Upstream {
    Upstream::acting(move |_, wire| {
        wire.send(said);
        let _ = wire.ends();
        After::Close
    })
}

/// Goal: an upstream that does not answer costs its client the time for the first byte, and no more.
/// Method: a hung upstream, a short time; the answer, the charge, the permit, the gauge; it was sent once.
#[test]
fn a_hung_upstream_is_a_gateway_timeout() {
    let upstream = silent("");
    let site = Site::with(&[&upstream], "  timeouts: {first_byte: 300ms}\n", "", RULES);
    let answer = site.get("/");
    assert_eq!(answer.status(), 504, "{answer:?}");
    assert_eq!(answer.field("content-type"), Some("application/problem+json"));
    assert_eq!(answer.json()["status"], 504);
    assert!(answer.field("ratelimit").is_some(), "{answer:?}");
    assert_eq!((upstream.seen().len(), site.left("all")), (1, 9));
    site.has_left("few", 2);
    site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    site.becomes(&of_upstream("failures_total", &upstream, ",kind=\"timeout\""), 1.0);
    assert!(crate::program::poll(|| (upstream.open() == 0).then_some(())).is_some(), "it is told");
}

/// Goal: a route has times of its own.
/// Method: two routes to the same hung upstream: one whose time is short, one that waits for the answer.
#[test]
fn a_route_has_times_of_its_own() {
    let upstream = Upstream::acting(|_, wire| {
        thread::sleep(Duration::from_millis(700));
        wire.send(OK);
        After::Keep
    });
    let url = upstream.url();
    let text = format!(
        "{}  timeouts: {{first_byte: 100ms}}\n  routes:\n    \
         - {{path: /slow, upstream: \"{url}\", timeouts: {{first_byte: 19s}}}}\n    \
         - {{path: \"/**\", upstream: \"{url}\"}}\nrules: {RULES}\n",
        super::site::head("")
    );
    let site = Site::of(&[], &text);
    assert_eq!(site.get("/slow").status(), 200);
    assert_eq!(site.get("/fast").status(), 504);
}

/// Goal: an answer that stops in the middle is cut when its time is over, not left open.
/// Method: an upstream that begins and hangs; once by the time between pieces, once by the time in all.
#[test]
fn an_answer_that_stops_is_cut() {
    for timeouts in ["idle: 300ms", "total: 300ms"] {
        let upstream = silent("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun");
        let gateway = format!("  timeouts: {{{timeouts}}}\n");
        let site = Site::with(&[&upstream], &gateway, "", RULES);
        let mut wire = Wire::open(site.address);
        wire.send(get("/", ""));
        assert_eq!(wire.head().expect("the head comes").status(), 200);
        assert_eq!(wire.exactly(5).expect("a piece comes"), b"begun");
        assert_eq!(wire.exactly(1), Err(Fault::Cut), "{timeouts}");
        site.has_left("few", 2);
        site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    }
}

/// Goal: the time in all ends an answer that drips, although each piece comes in time.
/// Method: a byte every 20 ms without an end.
#[test]
fn an_answer_that_drips_is_cut() {
    let upstream = Upstream::acting(|_, wire| {
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while wire.send("x") {
            thread::sleep(Duration::from_millis(20));
        }
        After::Close
    });
    let gateway = "  timeouts: {idle: 10s, total: 500ms}\n";
    let site = Site::with(&[&upstream], gateway, "", RULES);
    let mut wire = Wire::open(site.address);
    wire.send(get("/", ""));
    assert_eq!(wire.head().expect("the head comes").status(), 200);
    assert_eq!(wire.exactly(100_000), Err(Fault::Cut));
    site.has_left("few", 2);
}

/// Goal: the time in all also ends a request that has no answer yet, with 504.
/// Method: a time in all that is shorter than the one for the first byte.
#[test]
fn the_time_in_all_is_over_before_the_first_byte() {
    let upstream = silent("");
    let site = Site::with(&[&upstream], "", ", timeouts: {total: 300ms, first_byte: 10s}", RULES);
    assert_eq!(site.ask(&post("/", "", "x")).status(), 504);
    assert_eq!(upstream.seen().len(), 1, "a POST is sent once");
}

/// Goal: an upstream that does not even accept costs the time to connect.
/// Method: a listener whose backlog is full.
#[test]
fn a_connection_that_is_not_made_is_a_gateway_timeout() {
    let full = full();
    let urls = [format!("http://{}", full.address)];
    let site = Site::to(&urls, "  timeouts: {connect: 300ms}\n", "", RULES);
    let answer = site.get("/");
    assert_eq!(answer.status(), 504, "{answer:?}");
    assert_eq!(site.left("all"), 9);
}

/// Goal: an upstream that is asked after another could not be reached has all the time that it would have had.
/// Method: a listener that takes nobody beside an upstream that takes a while; less time to answer than the first
/// costs.
#[test]
fn time_to_answer_begins_when_an_upstream_is_asked() {
    let full = full();
    let slow = Upstream::acting(|_, wire| {
        thread::sleep(Duration::from_millis(200));
        wire.send(OK);
        After::Keep
    });
    let urls = [format!("http://{}", full.address), slow.url()];
    let times = "  timeouts: {connect: 1500ms, first_byte: 1s}\n";
    let site = Site::to(&urls, times, "", RULES);
    for _ in 0..2 {
        let answer = site.get("/");
        assert_eq!(answer.status(), 200, "{answer:?}");
    }
    let late = of_upstream("failures_total", &slow, ",kind=\"timeout\"");
    assert_eq!(site.metric(&late), Some(0.0));
    let retried = format!("ratekeeper_upstream_retries_total{{upstream=\"{}\"}}", urls[0]);
    assert_eq!(site.metric(&retried), Some(1.0));
}

/// A listener whose backlog is full.
struct Full {
    address: std::net::SocketAddr,
    /// Only kept.
    _waiting: (TcpListener, Vec<std::net::TcpStream>),
}

fn full() -> Full {
    let listener = TcpListener::bind(free()).expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    // Connections that nobody accepts, until the system takes no more.
    let mut waiting = Vec::new();
    let full = crate::program::poll(|| {
        let short = Duration::from_millis(200);
        match std::net::TcpStream::connect_timeout(&address, short) {
            Ok(stream) => {
                waiting.push(stream);
                None
            }
            Err(_) => Some(()),
        }
    });
    assert!(full.is_some() && waiting.len() < 10_000, "the backlog is full");
    Full { address, _waiting: (listener, waiting) }
}

/// Goal: a client that stops within its body does not hold its permit or the upstream.
/// Method: half of a body and no more: its time is over with 408, and the upstream sees no whole request.
#[test]
fn a_client_that_stops_within_its_body_is_given_up() {
    let upstream = Upstream::raw(free(), |wire, _, _| {
        let Ok(mut request) = wire.head() else { return };
        assert!(wire.framed(&mut request).is_err(), "it is cut");
    });
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    let answer = wire.answer("POST").expect("an answer comes");
    assert_eq!(answer.status(), 408, "{answer:?}");
    site.has_left("few", 2);
    assert!(crate::program::poll(|| (upstream.open() == 0).then_some(())).is_some());
    assert_eq!((upstream.accepted(), site.left("all")), (1, 9));
}
