//! Which upstreams are asked: those that answer, the least busy first.

use super::message::{Message, Wire};
use super::site::{MANY, Site, get, of_upstream, post};
use super::upstream::{After, OK, Upstream, apart, nobodies};
use crate::program::poll;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Goal: an upstream that refuses connections is left out at once, and is asked again when it is back.
/// Method: kill one of two, ask, start it again at its address, ask until it is asked.
#[test]
fn who_refuses_is_left_out_until_it_is_back() {
    let well = |_: &Message, wire: &mut Wire| {
        wire.send(OK);
        After::Keep
    };
    let (first, second) = (Upstream::acting_at(apart(), well), Upstream::saying(OK));
    let site = Site::before(&[&first, &second], MANY);
    let both = poll(|| {
        assert_eq!(site.get("/").status(), 200);
        (!first.seen().is_empty() && !second.seen().is_empty()).then_some(())
    });
    assert!(both.is_some(), "both are asked");
    first.kill();
    // Whatever was pooled is over, and nobody gets to know.
    for _ in 0..20 {
        assert_eq!(site.get("/").status(), 200);
    }
    site.becomes(&of_upstream("healthy", &first, ""), 0.0);
    site.becomes(&of_upstream("ejections_total", &first, ""), 1.0);

    let again = Upstream::acting_at(first.address, well);
    site.becomes(&of_upstream("healthy", &first, ""), 1.0);
    let asked = poll(|| {
        assert_eq!(site.get("/").status(), 200);
        (!again.seen().is_empty()).then_some(())
    });
    assert!(asked.is_some(), "it is asked again");
}

/// Goal: with no upstream left the answer is 503, at once, and nothing waits.
/// Method: addresses where nobody listens; the usual request of many is answered in milliseconds.
#[test]
fn with_all_down_the_answer_comes_at_once() {
    let urls: Vec<String> = nobodies(2).iter().map(|own| format!("http://{own}")).collect();
    let site = Site::to(&urls, "", "", "[{id: all, key: ip, limit: 1000/day}]");
    // The first ones find out.
    let found = poll(|| (site.get("/").status() == 503).then_some(()));
    assert!(found.is_some(), "nobody is left");
    let mut took: Vec<Duration> = (0..101)
        .map(|_| {
            let started = Instant::now();
            let answer = site.get("/");
            assert_eq!(answer.status(), 503);
            assert_eq!(answer.field("content-type"), Some("application/problem+json"));
            started.elapsed()
        })
        .collect();
    took.sort_unstable();
    assert!(took[50] <= Duration::from_millis(5), "{:?}", took[50]);
    assert!(site.left("all") < 900, "they are counted");
}

/// Goal: an upstream that says that it is not well gets no requests until it says that it is.
/// Method: a health path that answers 500, then 200; the only upstream of its route.
#[test]
fn an_upstream_says_whether_it_is_well() {
    let well = Arc::new(AtomicBool::new(true));
    let ours = well.clone();
    let upstream = Upstream::telling(move |request| {
        if request.start.contains("/healthz") && !ours.load(Ordering::SeqCst) {
            "HTTP/1.1 500 Not Well\r\nContent-Length: 0\r\n\r\n".to_owned()
        } else {
            OK.to_owned()
        }
    });
    let rules = "[{id: all, key: ip, limit: 1000/day}]";
    let site = Site::with(&[&upstream], "", ", health: /healthz", rules);
    site.becomes(&of_upstream("healthy", &upstream, ""), 1.0);
    assert_eq!(site.get("/").status(), 200);
    well.store(false, Ordering::SeqCst);
    site.becomes(&of_upstream("healthy", &upstream, ""), 0.0);
    assert_eq!(site.get("/").status(), 503);
    well.store(true, Ordering::SeqCst);
    site.becomes(&of_upstream("healthy", &upstream, ""), 1.0);
    assert_eq!(site.get("/").status(), 200);
    let seen = upstream.seen();
    let asked = seen.iter().filter(|request| request.start == "GET / HTTP/1.1").count();
    let probed = seen.iter().filter(|request| request.start == "GET /healthz HTTP/1.1").count();
    assert_eq!((asked, asked + probed), (2, seen.len()), "{seen:?}");
    assert!(probed >= 2, "it is asked again and again");
    assert_eq!(site.left("all"), 997, "its own questions are not counted");
}

/// Goal: an upstream that says in one word that it is well, and hangs up, is well.
/// Method: answers without a body that end with their connection, in each form; five looks at each.
#[test]
fn a_short_word_is_enough() {
    let forms = [
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n",
    ];
    let each = forms.map(|form| {
        Upstream::acting(move |_, wire| {
            wire.send(form);
            After::Close
        })
    });
    let all: Vec<&Upstream> = each.iter().collect();
    let site = Site::with(&all, "", ", health: /healthz", MANY);
    let looked = || each.iter().all(|upstream| upstream.seen().len() >= 5);
    assert!(poll(|| looked().then_some(())).is_some(), "all are looked at");
    for upstream in &each {
        assert_eq!(site.metric(&of_upstream("ejections_total", upstream, "")), Some(0.0));
    }
}

/// Goal: an upstream that fails five times in a row is left out where another one is well, and not where it
/// is the only one.
/// Method: one that ends every request without an answer; how many clients see that.
#[test]
fn five_failures_leave_an_upstream_out_if_there_is_another() {
    let fails = || Upstream::acting(|_, _| After::Close);
    let (bad, good) = (fails(), Upstream::saying(OK));
    let site = Site::before(&[&bad, &good], MANY);
    let mut bad_answers = 0;
    for _ in 0..60 {
        let status = site.ask(&post("/", "", "x")).status();
        assert!([200, 502].contains(&status));
        bad_answers += usize::from(status == 502);
    }
    // It comes back when a connection can be made, and may fail once more each time.
    assert!((5..30).contains(&bad_answers), "{bad_answers} clients saw it");
    assert_eq!(bad.seen().len(), bad_answers, "none was sent twice");
    assert_eq!(good.seen().len(), 60 - bad_answers);
    let ejections = site.metric(&of_upstream("ejections_total", &bad, ""));
    assert!(ejections.is_some_and(|count| count >= 1.0), "{ejections:?}");

    let only = fails();
    let site = Site::before(&[&only], MANY);
    for number in 1..=20 {
        assert_eq!(site.ask(&post("/", "", "x")).status(), 502, "request {number}");
    }
    assert_eq!(only.seen().len(), 20);
}

/// Goal: the upstream with the fewest requests under way is asked.
/// Method: requests that stay: half of them are at each; when one upstream is free, it gets the next ones.
#[test]
fn the_least_busy_is_asked() {
    let stays = || {
        Upstream::acting(|request, wire| {
            if request.start.contains("/short") {
                wire.send(OK);
                return After::Keep;
            }
            let _ = wire.ends();
            After::Close
        })
    };
    let (first, second) = (stays(), stays());
    let site = Site::before(&[&first, &second], MANY);
    let mut held: Vec<Wire> = Vec::new();
    for number in 1..=10 {
        let mut wire = Wire::open(site.address);
        wire.send(get("/long", ""));
        held.push(wire);
        let all = || first.seen().len() + second.seen().len();
        assert!(poll(|| (all() == number).then_some(())).is_some(), "{number} arrives");
    }
    assert_eq!((first.seen().len(), second.seen().len()), (5, 5));
    drop(held);
    site.becomes(&of_upstream("in_flight", &first, ""), 0.0);
    site.becomes(&of_upstream("in_flight", &second, ""), 0.0);
    let mut wire = Wire::open(site.address);
    wire.send(get("/long", ""));
    let total = || first.seen().len() + second.seen().len();
    assert!(poll(|| (total() == 11).then_some(())).is_some());
    let busy = if first.seen().len() == 6 { &first } else { &second };
    let before = busy.seen().len();
    for _ in 0..10 {
        assert_eq!(site.get("/short").status(), 200);
    }
    assert_eq!(busy.seen().len(), before, "the other one had nothing to do");
}
