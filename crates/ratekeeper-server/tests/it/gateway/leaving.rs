//! Clients that leave: the upstream hears of it, the charge stays, the permit is free.

use super::message::Wire;
use super::site::{Site, get, of_upstream};
use super::upstream::{After, Upstream};
use crate::program::poll;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

const RULES: &str =
    "[{id: all, key: ip, limit: 1000/day}, {id: few, key: ip, limit: 4 concurrent}]";

/// Within which upstreams hear of it, in the middle of several tries: one alone may meet a busy machine.
const SOON: Duration = Duration::from_millis(100);

/// How often it is tried.
const TRIES: usize = 5;

/// An upstream that says this and then waits for the end of its connection; how often that came.
fn patient(said: &'static str) -> (Upstream, Arc<AtomicUsize>) {
    let left = Arc::<AtomicUsize>::default();
    let ours = left.clone();
    let upstream = Upstream::acting(move |_, wire| {
        wire.send(said);
        if wire.ends() {
            ours.fetch_add(1, Ordering::SeqCst);
        }
        After::Close
    });
    (upstream, left)
}

/// Clients ask, say something behind it, and leave, before the answer or within it: the upstream knows soon.
fn leave_within(said: &'static str, behind: &str) {
    let mut took: Vec<Duration> = (0..TRIES).map(|_| leave_once(said, behind)).collect();
    took.sort_unstable();
    assert!(took[TRIES / 2] < SOON, "{took:?}");
}

/// How long it takes until the upstream knows.
fn leave_once(said: &'static str, behind: &str) -> Duration {
    let (upstream, left) = patient(said);
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send(get("/", "") + behind);
    assert!(poll(|| (upstream.seen().len() == 1).then_some(())).is_some(), "it arrives");
    if !said.is_empty() {
        assert_eq!(wire.head().expect("the head comes").status(), 200);
    }
    site.becomes(&of_upstream("in_flight", &upstream, ""), 1.0);
    assert_eq!(site.left("few"), 3);
    let started = Instant::now();
    drop(wire);
    assert!(poll(|| (left.load(Ordering::SeqCst) == 1).then_some(())).is_some(), "it is told");
    let took = started.elapsed();
    site.has_left("few", 4);
    site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    assert_eq!(site.left("all"), 999, "it stays charged");
    assert_eq!(upstream.seen().len(), 1, "and is not tried again");
    took
}

/// Goal: a client that leaves before its answer cancels the request at the upstream.
/// Method: an upstream that never answers.
#[test]
fn who_leaves_before_the_answer_cancels_it() {
    leave_within("", "");
}

/// Goal: a client that leaves within its answer cancels the rest.
/// Method: upstreams that begin and go silent, by length and in chunks.
#[test]
fn who_leaves_within_the_answer_cancels_the_rest() {
    leave_within("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun", "");
    leave_within("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n", "");
}

/// Goal: a client that has said something behind its request is missed as well, before the upstream's time is
/// over.
/// Method: the end of a line, and the beginning of another request, before an answer and within it.
#[test]
fn who_leaves_in_the_middle_of_a_word_is_missed() {
    leave_within("", "\r\n");
    leave_within("", "GET /next");
    leave_within("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun", "GET /next");
}

/// Goal: an answer without an end stops when its client leaves.
/// Method: an upstream that writes as long as it can.
#[test]
fn an_endless_answer_stops_when_its_client_leaves() {
    let left = Arc::<AtomicUsize>::default();
    let ours = left.clone();
    let upstream = Upstream::acting(move |_, wire| {
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let piece = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
        while wire.send(&piece) {}
        ours.fetch_add(1, Ordering::SeqCst);
        After::Close
    });
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send(get("/", ""));
    assert_eq!(wire.head().expect("the head comes").status(), 200);
    assert!(wire.exactly(1 << 20).is_ok(), "it flows");
    assert_eq!(left.load(Ordering::SeqCst), 0);
    drop(wire);
    assert!(poll(|| (left.load(Ordering::SeqCst) == 1).then_some(())).is_some(), "it stops");
    site.has_left("few", 4);
    assert_eq!(site.left("all"), 999);
}

/// Goal: a client that leaves within its own request leaves nothing whole at the upstream.
/// Method: half of a body, by length and in chunks; the upstream sees a message that is cut.
#[test]
fn half_a_request_is_never_a_whole_one() {
    for framing in
        ["Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"]
    {
        let seen = Arc::<(AtomicUsize, AtomicUsize)>::default();
        let ours = seen.clone();
        let upstream = Upstream::raw(super::upstream::free(), move |wire, _, _| {
            if let Ok(mut request) = wire.head() {
                ours.0.fetch_add(1, Ordering::SeqCst);
                if wire.framed(&mut request).is_err() {
                    ours.1.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        let site = Site::before(&[&upstream], RULES);
        let mut wire = Wire::open(site.address);
        wire.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}"));
        assert!(poll(|| (seen.0.load(Ordering::SeqCst) == 1).then_some(())).is_some());
        drop(wire);
        assert!(poll(|| (seen.1.load(Ordering::SeqCst) == 1).then_some(())).is_some(), "it is cut");
        site.has_left("few", 4);
        assert_eq!(site.left("all"), 999);
    }
}

/// Goal: nothing is left behind by clients that come and go.
/// Method: thousands that leave, four at a time, every other one within a body; then permits, gauges and
/// connections.
#[test]
fn many_that_leave_leave_nothing_behind() {
    const ROUNDS: usize = 500;
    let counts = Arc::<(AtomicUsize, AtomicUsize)>::default();
    let ours = counts.clone();
    let upstream = Upstream::raw(super::upstream::free(), move |wire, _, _| {
        if wire.head().is_ok() {
            ours.0.fetch_add(1, Ordering::SeqCst);
            ours.1.fetch_add(usize::from(wire.ends()), Ordering::SeqCst);
        }
    });
    // Of so many in a year none comes back while the test runs.
    let rules = RULES.replace("1000/day", "10000/year");
    let site = Site::before(&[&upstream], &rules);
    let half = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    for round in 1..=ROUNDS {
        let wires: Vec<Wire> = [get("/", ""), half.to_owned(), get("/", ""), half.to_owned()]
            .into_iter()
            .map(|request| {
                let mut wire = Wire::open(site.address);
                wire.send(request);
                wire
            })
            .collect();
        let all_came = || (counts.0.load(Ordering::SeqCst) == 4 * round).then_some(());
        assert!(poll(all_came).is_some(), "{round}");
        drop(wires);
        site.has_left("few", 4);
    }
    let all_left = || (counts.1.load(Ordering::SeqCst) == 4 * ROUNDS).then_some(());
    assert!(poll(all_left).is_some(), "all are told");
    site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    site.becomes(&of_upstream("connections", &upstream, ",state=\"busy\""), 0.0);
    assert!(poll(|| (upstream.open() == 0).then_some(())).is_some());
    assert_eq!(site.left("all"), 10_000 - 4 * ROUNDS as u64);
}
