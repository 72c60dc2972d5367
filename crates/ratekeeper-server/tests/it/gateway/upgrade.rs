//! Upgrades: a tunnel once the upstream has agreed, and a request like any other before.

use super::message::Wire;
use super::site::{Site, get, of_upstream};
use super::upstream::{After, Upstream, free};
use crate::program::poll;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const RULES: &str = "[{id: all, key: ip, limit: 10/day}, {id: few, key: ip, limit: 2 concurrent}]";

const FIELDS: &str = "Connection: Upgrade, keep-alive\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

const AGREED: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// An upstream that agrees and gives back what it gets; how many tunnels have ended.
fn echo() -> (Upstream, Arc<AtomicUsize>) {
    let ended = Arc::<AtomicUsize>::default();
    let ours = ended.clone();
    let upstream = Upstream::acting(move |_, wire| {
        wire.send(AGREED);
        let mut piece = [0; 1024];
        while let Ok(count @ 1..) = wire.stream.read(&mut piece) {
            let _ = wire.stream.write_all(&piece[..count]);
        }
        ours.fetch_add(1, Ordering::SeqCst);
        After::Close
    });
    (upstream, ended)
}

/// Opens a tunnel.
fn tunnel(site: &Site) -> Wire {
    let mut wire = Wire::open(site.address);
    wire.send(get("/socket", FIELDS));
    let answer = wire.answer("GET").expect("an answer comes");
    assert_eq!(answer.status(), 101, "{answer:?}");
    assert!(answer.field("upgrade").is_some_and(|it| it.eq_ignore_ascii_case("websocket")));
    assert_eq!(answer.field("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    wire
}

/// Goal: after a 101 bytes go both ways as they are; the permit is held as long as the tunnel is open, and
/// either end closes it.
/// Method: two tunnels of two permits; bytes; a third is refused; one client leaves, one upstream dies.
#[test]
fn a_tunnel_carries_bytes_and_holds_its_permit() {
    let (upstream, ended) = echo();
    let site = Site::before(&[&upstream], RULES);
    let mut first = tunnel(&site);
    for bytes in [&b"\x81\x05hello"[..], &[0, 255, 13, 10, 13, 10], &[7; 100_000]] {
        let mut half = Wire::of(first.stream.try_clone().expect("a socket can be cloned"));
        let sent = bytes.to_vec();
        let sender = std::thread::spawn(move || half.send(sent));
        assert!(first.exactly(bytes.len()).expect("it comes back") == bytes);
        assert!(sender.join().expect("it ends"));
    }
    let request = upstream.only();
    assert!(request.field("upgrade").is_some_and(|it| it.eq_ignore_ascii_case("websocket")));
    assert!(request.field("connection").is_some_and(|it| it.eq_ignore_ascii_case("upgrade")));
    assert_eq!(request.field("sec-websocket-key"), Some("dGhlIHNhbXBsZSBub25jZQ=="));

    let mut second = tunnel(&site);
    assert_eq!(site.left("few"), 0);
    assert_eq!(site.ask(&get("/socket", FIELDS)).status(), 429);
    drop(first);
    assert!(poll(|| (ended.load(Ordering::SeqCst) == 1).then_some(())).is_some(), "it is told");
    site.has_left("few", 1);
    second.send("x");
    assert_eq!(second.exactly(1).expect("the other one goes on"), b"x");
    upstream.kill();
    assert!(second.ends(), "the client is told");
    site.has_left("few", 2);
    site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    assert_eq!(site.left("all"), 8);
}

/// Goal: an upgrade that the upstream refuses is an answer like any other, and the connection goes on.
/// Method: an upstream that answers 403; bytes behind the request are requests, and are counted.
#[test]
fn an_upgrade_that_is_refused_stays_http() {
    let upstream = Upstream::saying("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send(get("/socket", FIELDS));
    let answer = wire.answer("GET").expect("an answer comes");
    assert_eq!((answer.status(), answer.text()), (403, "no"));
    wire.send(get("/next", "Connection: close\r\n"));
    assert_eq!(wire.answer("GET").expect("the connection goes on").status(), 403);
    site.has_left("few", 2);
    assert_eq!((upstream.seen().len(), site.left("all")), (2, 8));
}

/// Goal: nothing of a tunnel passes before the upstream has agreed.
/// Method: a client that sends bytes behind its request at once; an upstream that waits for bytes before it
/// agrees gets none.
#[test]
fn nothing_passes_before_the_agreement() {
    let early = Arc::<AtomicUsize>::default();
    let ours = early.clone();
    let upstream = Upstream::acting(move |_, wire| {
        let short = std::time::Duration::from_millis(300);
        wire.stream.set_read_timeout(Some(short)).expect("a timeout can be set");
        let count = wire.unused() + wire.stream.read(&mut [0; 64]).unwrap_or(0);
        ours.fetch_add(count, Ordering::SeqCst);
        wire.stream.set_read_timeout(Some(crate::wire::DEADLINE)).expect("a timeout can be set");
        wire.send(AGREED);
        if let Ok(bytes) = wire.exactly(5) {
            wire.send(bytes);
        }
        After::Close
    });
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send(get("/socket", FIELDS) + "early");
    assert_eq!(wire.answer("GET").expect("an answer comes").status(), 101);
    assert_eq!(wire.exactly(5).expect("they pass now"), b"early");
    assert_eq!(early.load(Ordering::SeqCst), 0, "bytes that came before the agreement");
    assert!(wire.ends());
}

/// Goal: who has a body to send cannot upgrade, since the upstream could agree before it has read it.
/// Method: the same request with a body that does not come; what the upstream is asked.
#[test]
fn who_has_a_body_cannot_upgrade() {
    let upstream = Upstream::raw(free(), |wire, number, book| {
        if let Ok(request) = wire.head() {
            book.note(number, request);
            wire.send(AGREED);
            let _ = wire.ends();
        }
    });
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send(get("/socket", &format!("{FIELDS}Content-Length: 50\r\n")) + "begun");
    let seen = || upstream.seen().first().cloned();
    let request = poll(seen).expect("it is asked");
    assert!(!request.has("upgrade") && !request.has("connection"), "{request:?}");
    assert_eq!(wire.answer("GET").expect("an answer comes").status(), 502);
    site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
}

/// Goal: HTTP/2 in plain text is not what a client can upgrade to past the gateway.
/// Method: ask for it: the upstream sees a plain request.
#[test]
fn nobody_upgrades_past_the_gateway() {
    let upstream = Upstream::telling(|request| {
        if request.has("upgrade") { AGREED.to_owned() } else { super::upstream::OK.to_owned() }
    });
    let site = Site::before(&[&upstream], RULES);
    let fields = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
                  HTTP2-Settings: AAMAAABkAAQAAP__\r\n";
    assert_eq!(site.ask(&get("/", fields)).status(), 200);
    let others = ["websocket, H2C", "h2c/1.0", "TLS/1.2, HTTP/1.1", "HTTP/2.0", "h2"];
    for other in others {
        let answer = site.ask(&get("/", &fields.replace("h2c", other)));
        assert_eq!(answer.status(), 200, "{other}");
    }
    assert_eq!(upstream.seen().len(), 1 + others.len());
    for request in upstream.seen() {
        assert!(!request.has("http2-settings") && !request.has("upgrade"), "{request:?}");
    }
}

/// Goal: a tunnel on which nothing moves ends, and so does one whose gateway stops.
/// Method: a short time without a byte; a signal, with a tunnel open.
#[test]
fn a_tunnel_ends_in_time() {
    let (upstream, ended) = echo();
    let mut site = Site::with(&[&upstream], "  timeouts: {idle: 400ms}\n", "", RULES);
    let mut quiet = tunnel(&site);
    quiet.send("x");
    assert_eq!(quiet.exactly(1).expect("it comes back"), b"x");
    assert!(quiet.ends(), "nothing moves");
    assert!(poll(|| (ended.load(Ordering::SeqCst) == 1).then_some(())).is_some(), "it is told");
    site.has_left("few", 2);

    let (upstream, _) = echo();
    site = Site::before(&[&upstream], RULES);
    let mut open = tunnel(&site);
    site.program.signal("TERM");
    assert!(open.ends(), "it is cut when the time to finish is over");
    assert!(site.program.ended().expect("it ends").success());
}
