//! Bytes that wait behind a request, and heads without a measure: nothing of them passes uncounted.

use super::message::{Fault, Wire};
use super::site::{MANY, Site, get, post};
use super::upstream::{After, OK, Upstream, free};
use crate::program::poll;
use ratekeeper_server::serve::Bounds;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::thread::sleep;

/// Goal: requests that come in one piece are each decided, and reach the upstream one by one.
/// Method: ten at once, of which a rule admits six.
#[test]
fn requests_in_one_piece_are_each_decided() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], "[{id: all, key: ip, limit: 6/day}]");
    let mut wire = Wire::open(site.address);
    wire.send((0..10).map(|number| get(&format!("/{number}"), "")).collect::<String>());
    let statuses: Vec<u16> =
        (0..10).map(|_| wire.answer("GET").expect("an answer comes").status()).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 429, 429, 429, 429]);
    let paths: Vec<String> = upstream.seen().into_iter().map(|request| request.start).collect();
    let wanted: Vec<String> = (0..6).map(|number| format!("GET /{number} HTTP/1.1")).collect();
    assert_eq!(paths, wanted);
}

/// Goal: bytes behind a request to upgrade are none of the upstream's before it has agreed
/// (CVE-2026-2833).
/// Method: an upstream that does not agree; the bytes are a request, which is decided as any other.
#[test]
fn bytes_behind_an_upgrade_that_was_refused_are_requests() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], "[{id: all, key: ip, limit: 1/day}]");
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eDp5\r\n\
                   Sec-WebSocket-Version: 13\r\n";
    let mut wire = Wire::open(site.address);
    wire.send(get("/outer", upgrade) + &get("/inner", ""));
    assert_eq!(wire.answer("GET").expect("an answer comes").status(), 200);
    assert_eq!(wire.answer("GET").expect("an answer comes").status(), 429);
    assert_eq!(upstream.only().start, "GET /outer HTTP/1.1");
}

/// Goal: a body that was not read because its request was refused is never read as requests.
/// Method: refuse, then send the body that was announced, which looks like requests, and one behind it.
#[test]
fn the_body_of_a_refused_request_is_no_request() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], "[{id: all, key: ip, limit: 1/day}]");
    assert_eq!(site.get("/first").status(), 200);
    for size in [10, 10_000] {
        let before = site.decided("all", "refused");
        let body = get("/inner", "").repeat(size);
        let mut wire = Wire::open(site.address);
        let whole = post("/outer", "", &body);
        wire.send(&whole[..whole.len() - body.len()]);
        assert_eq!(wire.answer("POST").expect("an answer comes").status(), 429);
        // Whether the rest is read and thrown away, or the connection ends, is the gateway's to choose.
        let _ = wire.send(body) && wire.send(get("/next", "Connection: close\r\n"));
        let mut more = 0;
        while let Ok(answer) = wire.answer("GET") {
            assert_eq!(answer.status(), 429);
            more += 1;
        }
        assert!(more <= 1, "{more} answers behind the body");
        assert_eq!(site.decided("all", "refused") - before, 1 + more);
    }
    assert_eq!(upstream.only().start, "GET /first HTTP/1.1");
}

/// Goal: a connection to an upstream on which a body was not sent to its end is not used again
/// (CVE-2025-4366).
/// Method: an upstream that answers before the body; the client leaves within it; another one asks.
#[test]
fn a_connection_with_half_a_body_is_not_used_again() {
    let bytes = Arc::<Mutex<Vec<String>>>::default();
    let ours = bytes.clone();
    let upstream = Upstream::raw(free(), move |wire, number, _| {
        ours.lock().expect("nobody failed").push(String::new());
        while let Ok(request) = wire.head() {
            let mut all = ours.lock().expect("nobody failed");
            let _ = write!(all[number], "{}|", request.start);
            drop(all);
            wire.send(OK);
        }
        // A head that is none is the rest of a body, or the end.
    });
    let site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    let whole = post("/outer", "", &get("/inner", ""));
    wire.send(&whole[..whole.len() - 10]);
    assert_eq!(wire.answer("POST").expect("an early answer comes").status(), 200);
    drop(wire);
    assert_eq!(site.get("/next").status(), 200);
    assert!(
        poll(|| (upstream.accepted() == 2).then_some(())).is_some(),
        "on a connection of its own"
    );
    assert!(poll(|| (upstream.open() == 1).then_some(())).is_some(), "the other one is closed");
    let bytes = bytes.lock().expect("nobody failed").clone();
    assert_eq!(bytes[1], "GET /next HTTP/1.1|");
    assert!(bytes[0].starts_with("POST /outer HTTP/1.1|"), "{bytes:?}");
    assert!(!bytes[0].contains("/next"), "{bytes:?}");
}

/// Goal: the rest of a body is a body, however late it comes behind an answer that did not wait for it.
/// Method: an upstream that answers the head; the client waits until a quiet connection would have been put
/// away, and then sends a body that reads like a request.
#[test]
fn the_rest_of_a_body_is_no_request() {
    let upstream = Upstream::raw(free(), |wire, number, book| {
        while let Ok(mut request) = wire.head() {
            wire.send(OK);
            if wire.framed(&mut request).is_err() {
                return;
            }
            book.note(number, request);
        }
    });
    let site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    let inner = get("/inner", "");
    let whole = post("/outer", "", &inner);
    wire.send(&whole[..whole.len() - inner.len()]);
    assert_eq!(wire.answer("POST").expect("an early answer comes").status(), 200);
    sleep(2 * Bounds::default().rest);
    wire.send(&inner);
    assert!(poll(|| (upstream.seen().len() == 1).then_some(())).is_some(), "all of it comes");
    let outer = upstream.only();
    assert_eq!((&*outer.start, outer.body), ("POST /outer HTTP/1.1", inner.into_bytes()));
    assert_eq!(site.decided("all", "allowed"), 1);
}

/// Goal: bytes that an upstream sends behind its answer are no answer to the next request.
/// Method: an upstream that sends two answers to one request; the next client gets its own.
#[test]
fn an_answer_that_nobody_asked_for_reaches_nobody() {
    let upstream = Upstream::acting(|request, wire| {
        if request.start.contains("/first") {
            wire.send(format!("{OK}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"));
        } else {
            wire.send(OK);
        }
        After::Keep
    });
    let site = Site::before(&[&upstream], MANY);
    assert_eq!(site.get("/first").text(), "ok");
    for _ in 0..5 {
        let answer = site.get("/next");
        assert_eq!((answer.status(), answer.text()), (200, "ok"));
    }
}

/// Goal: a head beyond its measure is refused before it is counted, and its connection ends.
/// Method: too many fields, a field too long, a target too long; one that just fits.
#[test]
fn heads_without_a_measure_are_refused() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    let fields = |count: usize| "X-A: 1\r\n".repeat(count);
    for (name, bytes, status) in [
        ("fields", get("/", &fields(64)), 431),
        ("many fields", get("/", &fields(1_000)), 431),
        ("a long field", get("/", &format!("X-A: {}\r\n", "a".repeat(20_000))), 431),
        ("a long name", get("/", &format!("{}: a\r\n", "a".repeat(20_000))), 431),
        ("a long target", get(&format!("/{}", "a".repeat(9_000)), ""), 414),
        ("a long query", get(&format!("/?{}", "a".repeat(9_000)), ""), 414),
        ("a target without an end", format!("GET /{}", "a".repeat(1 << 20)), 414),
    ] {
        let mut wire = Wire::open(site.address);
        wire.send(&bytes);
        match wire.answer("GET") {
            // A head that is longer than all that is read may be answered by either.
            Ok(answer) if bytes.len() > 16_384 => {
                assert!([414, 431].contains(&answer.status()), "{name}: {answer:?}");
            }
            Ok(answer) => assert_eq!(answer.status(), status, "{name}: {answer:?}"),
            // What is still being sent when the answer comes can take the answer with it.
            Err(fault) => {
                assert!(bytes.len() > 16_384 && fault != Fault::Late, "{name}: {fault:?}");
            }
        }
    }
    assert_eq!((upstream.accepted(), site.decided("all", "allowed")), (0, 0));
    // `Host` is one of the fields.
    assert_eq!(site.ask(&get("/", &fields(63))).status(), 200);
    assert_eq!(upstream.only().all("x-a").len(), 63);
}
