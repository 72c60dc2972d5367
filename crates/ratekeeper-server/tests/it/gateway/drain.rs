//! The end of the gateway: what is under way is finished, what is new is not begun.

use super::message::Wire;
use super::site::{MANY, Site, get};
use super::upstream::{After, OK, Upstream};
use crate::program::{closes, poll};
use crate::wire::DEADLINE;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;

/// Goal: a gateway that is asked to stop finishes the requests under way, answers no new ones, and ends well.
/// Method: one request without an answer yet, one within its answer; the signal; then the answers.
#[test]
fn requests_under_way_are_finished() {
    let (go, gate) = sync_channel::<()>(2);
    let gate = Mutex::new(gate);
    let upstream = Upstream::acting(move |request, wire| {
        let wait = || gate.lock().expect("nobody failed").recv_timeout(DEADLINE);
        if request.start.contains("/begun") {
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nbegu");
            let _ = wait();
            wire.send("nend");
        } else {
            let _ = wait();
            wire.send(OK);
        }
        After::Keep
    });
    let mut site = Site::before(&[&upstream], MANY);
    let mut begun = Wire::open(site.address);
    begun.send(get("/begun", ""));
    assert_eq!(begun.head().expect("the head comes").status(), 200);
    let mut waiting = Wire::open(site.address);
    waiting.send(get("/waiting", ""));
    assert!(poll(|| (upstream.seen().len() == 2).then_some(())).is_some());
    // One that is open and says nothing is closed.
    let mut idle = Wire::open(site.address);

    site.program.signal("TERM");
    assert!(closes(site.address), "nobody new is let in");
    assert!(idle.ends(), "who says nothing is not waited for");
    for _ in 0..2 {
        go.send(()).expect("the upstream waits");
    }
    assert_eq!(begun.exactly(8).expect("the whole comes"), b"begunend");
    assert_eq!(waiting.answer("GET").expect("an answer comes").text(), "ok");
    let ended = site.program.ended().expect("it ends");
    assert!(ended.success(), "{ended:?}");
    assert_eq!(upstream.seen().len(), 2);
}

/// Goal: a request that does not end is cut when the time to finish is over; the gateway ends well.
/// Method: an upstream that never answers; the signal; the end.
#[test]
fn what_does_not_end_is_cut() {
    let upstream = Upstream::acting(|_, wire| {
        let _ = wire.ends();
        After::Close
    });
    let mut site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    wire.send(get("/", ""));
    assert!(poll(|| (upstream.seen().len() == 1).then_some(())).is_some());
    site.program.signal("TERM");
    let ended = site.program.ended().expect("it ends");
    assert!(ended.success(), "{ended:?}");
    assert!(wire.answer("GET").is_err(), "it is cut");
    assert!(poll(|| (upstream.open() == 0).then_some(())).is_some(), "the upstream is told");
}
