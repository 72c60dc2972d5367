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

/// Goal: before the gateway closes connections it has clients take their next requests elsewhere, so that none
/// is on its way when that happens.
/// Method: requests one after the other on one connection; the signal; every one is answered, until an answer
/// says that it is the last.
#[test]
fn clients_are_told_to_go_elsewhere() {
    let upstream = Upstream::saying(OK);
    let mut site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    let mut ask = || {
        wire.send(get("/", ""));
        let answer = wire.answer("GET").expect("every request is answered");
        assert_eq!(answer.text(), "ok");
        answer.field("connection").map(str::to_owned)
    };
    assert_eq!(ask(), None);
    site.program.signal("TERM");
    let last = poll(ask);
    assert_eq!(last.as_deref(), Some("close"));
    assert!(wire.ends(), "it was the last");
    assert!(site.program.ended().expect("it ends").success());
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
