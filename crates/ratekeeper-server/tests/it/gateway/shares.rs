//! What answers change: permits end with them, failures count, and what was used is settled.

use super::message::{Message, Wire};
use super::site::{Site, get, post};
use super::upstream::{After, Upstream};
use crate::wire::DEADLINE;
use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};

/// An upstream that sends the head and a piece at once, and the rest of its answer when the test says so.
fn gated() -> (Upstream, SyncSender<()>) {
    let (open, gate) = sync_channel::<()>(8);
    let gate = Mutex::new(gate);
    let upstream = Upstream::acting(move |_, wire| {
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nbeg");
        let _ = gate.lock().expect("nobody failed").recv_timeout(DEADLINE);
        wire.send("end");
        After::Keep
    });
    (upstream, open)
}

/// Goal: a permit is held until the last byte of the answer, and is free right then.
/// Method: four answers that have begun and not ended; a fifth request; one answer ends.
#[test]
fn permits_are_held_until_the_answer_ends() {
    let (upstream, open) = gated();
    let site = Site::before(&[&upstream], "[{id: exports, key: ip, limit: 4 concurrent}]");
    let mut running: Vec<Wire> = (0..4)
        .map(|number| {
            let mut wire = Wire::open(site.address);
            wire.send(get(&format!("/{number}"), ""));
            assert_eq!(wire.head().expect("the head comes").status(), 200);
            assert_eq!(wire.exactly(3).expect("a piece comes"), b"beg");
            wire
        })
        .collect();
    assert_eq!(site.left("exports"), 0);
    assert_eq!(site.get("/refused").status(), 429);
    assert_eq!(upstream.seen().len(), 4);

    // One of the four ends, whichever stands at the gate.
    open.send(()).expect("somebody waits");
    site.has_left("exports", 1);
    let mut fifth = Wire::open(site.address);
    fifth.send(get("/fifth", ""));
    assert_eq!(fifth.head().expect("the head comes").status(), 200);
    for _ in 0..4 {
        open.send(()).expect("somebody waits");
    }
    for wire in &mut running {
        assert_eq!(wire.exactly(3).expect("the rest comes"), b"end");
    }
    assert_eq!(fifth.exactly(6).expect("the whole comes"), b"begend");
    site.has_left("exports", 4);
    assert_eq!(site.decided("exports", "allowed"), 5);
}

/// The status that a path asks for.
fn by_path(request: &Message) -> String {
    let code = request.start.split(['/', ' ']).nth(2).unwrap_or("200");
    format!("HTTP/1.1 {code} As asked\r\nContent-Length: 2\r\n\r\nok")
}

/// Goal: under `count: failures` only answers of 401 and 403 stay charged.
/// Method: answers of all kinds, and what is left after each; then the limit.
#[test]
fn only_failures_count() {
    let upstream = Upstream::telling(by_path);
    let site = Site::before(
        &[&upstream],
        "[{id: login, key: ip, limit: 3/hour, algorithm: sliding_window_log, count: failures}]",
    );
    for (status, left) in
        [(200, 3), (401, 2), (404, 2), (500, 2), (302, 2), (403, 1), (200, 1), (401, 0)]
    {
        let answer = site.ask(&post(&format!("/{status}"), "", "name=x"));
        assert_eq!(answer.status(), status);
        site.has_left("login", left);
    }
    assert_eq!(site.ask(&post("/200", "", "")).status(), 429);
    assert_eq!(upstream.seen().len(), 8);
}

/// Goal: what an answer says that was used is what is charged; without a word the estimate stays.
/// Method: less than the estimate, more, nothing, nonsense; what is left after each.
#[test]
fn what_was_used_is_settled() {
    let upstream = Upstream::telling(|request| {
        let used = request.start.split(['/', ' ']).nth(2).unwrap_or_default();
        let field = if used == "none" { String::new() } else { format!("X-Used: {used}\r\n") };
        format!("HTTP/1.1 200 OK\r\n{field}Content-Length: 2\r\n\r\nok")
    });
    let site = Site::before(
        &[&upstream],
        "[{id: tokens, key: ip, limit: 10000/day, \
           cost: {header: X-Estimate, default: 100, max: 1000}, \
           settle: {response_header: X-Used}}]",
    );
    for (used, estimate, left) in [
        ("30", "", 9970),
        ("30", "X-Estimate: 500\r\n", 9940),
        ("700", "X-Estimate: 500\r\n", 9240),
        ("none", "", 9140),
        ("nonsense", "", 9040),
        ("0", "", 9040),
    ] {
        let answer = site.ask(&get(&format!("/{used}"), estimate));
        assert_eq!(answer.status(), 200, "{answer:?}");
        site.has_left("tokens", left);
    }
    assert_eq!(upstream.seen().len(), 6);
}
