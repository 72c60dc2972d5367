//! Who is slow: as long as something moves it may take its time, and who stops is given up.

use super::message::{Fault, Wire};
use super::site::{Site, get, of_upstream};
use super::upstream::{After, OK, Upstream, free};
use crate::program::poll;
use crate::wire::{DEADLINE, connect};
use std::io::{Read, Write};
use std::thread::sleep;
use std::time::Duration;
use tokio::time::Instant;

const RULES: &str = "[{id: all, key: ip, limit: 10/day}, {id: few, key: ip, limit: 2 concurrent}]";

/// Goal: the time for the first byte begins with the last piece of the request.
/// Method: a body that takes several times as long as that, piece by piece.
#[test]
fn a_slow_body_is_no_late_answer() {
    let upstream = Upstream::saying(OK);
    let site = Site::with(&[&upstream], "  timeouts: {first_byte: 1s}\n", "", RULES);
    let mut wire = Wire::open(site.address);
    wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n");
    for _ in 0..12 {
        sleep(Duration::from_millis(250));
        wire.send("x");
    }
    assert_eq!(wire.answer("POST").expect("an answer comes").status(), 200);
    assert_eq!(upstream.only().body.len(), 12);
}

/// Goal: while the client is waited for, its upstream is not late.
/// Method: a pause within a body that is longer than the time to answer.
#[test]
fn a_pause_within_a_body_is_not_the_upstreams() {
    let upstream = Upstream::saying(OK);
    let site = Site::with(&[&upstream], "  timeouts: {first_byte: 300ms}\n", "", RULES);
    let mut wire = Wire::open(site.address);
    wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
    sleep(Duration::from_millis(1500));
    wire.send("half");
    assert_eq!(wire.answer("POST").expect("an answer comes").status(), 200);
    assert_eq!(upstream.only().text(), "halfhalf");
    let late = of_upstream("failures_total", &upstream, ",kind=\"timeout\"");
    assert_eq!(site.metric(&late), Some(0.0));
}

/// Goal: an upstream that does not take the request is late, whatever the client still has to send.
/// Method: a body larger than all buffers, and an upstream that reads its head alone.
#[test]
fn an_upstream_that_takes_nothing_is_late() {
    let upstream = Upstream::raw(free(), |wire, _, _| {
        let _ = wire.head();
        // It reads on when its peer has given up.
        sleep(Duration::from_secs(2));
        let _ = wire.ends();
    });
    let site = Site::with(&[&upstream], "  timeouts: {first_byte: 500ms}\n", "", RULES);
    let mut wire = Wire::open(site.address);
    let length = 64 << 20;
    wire.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"));
    let mut half = Wire::of(wire.stream.try_clone().expect("a socket can be cloned"));
    let client = std::thread::spawn(move || half.send(vec![b'x'; length]));
    match wire.answer("POST") {
        Ok(answer) => assert_eq!(answer.status(), 504, "{answer:?}"),
        // What is still being sent when the connection ends can take the answer with it.
        Err(fault) => assert_ne!(fault, Fault::Late),
    }
    site.has_left("few", 2);
    drop(wire);
    assert!(!client.join().expect("it ends"), "the rest is not taken");
}

/// Goal: a client that does not read its answer loses it, and its permit with it.
/// Method: an answer larger than all buffers; the client reads its head and waits.
#[test]
fn a_client_that_takes_nothing_is_given_up() {
    let upstream = Upstream::acting(|_, wire| {
        wire.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 64 << 20));
        let piece = [b'x'; 64 * 1024];
        while wire.send(piece) {}
        After::Close
    });
    let site = Site::before(&[&upstream], RULES);
    let mut wire = Wire::open(site.address);
    wire.send(get("/", ""));
    assert_eq!(wire.head().expect("the head comes").status(), 200);
    assert_eq!(site.left("few"), 1);
    site.has_left("few", 2);
    assert!(poll(|| (upstream.open() == 0).then_some(())).is_some(), "the upstream is told");
    wire.stream.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
    let mut rest = Vec::new();
    let _ = wire.stream.read_to_end(&mut rest);
    assert!(rest.len() < 64 << 20, "it is not whole");
}

/// Goal: the time for all of it also ends an answer that is never quiet, because its caller is slower than it.
/// Method: an upstream without an end, and a client that reads on, a little at a time, until it is cut off.
#[test]
fn who_reads_slowly_has_no_more_time_than_others() {
    let upstream = Upstream::raw(free(), |wire, _, _| {
        let _ = wire.head();
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let piece = [&b"10000\r\n"[..], &[b'x'; 0x10000], b"\r\n"].concat();
        while wire.send(&piece) {}
    });
    let site = Site::with(&[&upstream], "  timeouts: {total: 1s}\n", "", RULES);
    let mut stream = connect(site.address);
    stream.write_all(get("/", "").as_bytes()).expect("the request is taken");
    let (begun, mut piece) = (Instant::now(), [0; 16 * 1024]);
    while stream.read(&mut piece).is_ok_and(|count| count > 0) {
        assert!(begun.elapsed() < DEADLINE, "it goes on and on");
        sleep(Duration::from_millis(2));
    }
    site.becomes(&of_upstream("failures_total", &upstream, ",kind=\"timeout\""), 1.0);
    assert!(begun.elapsed() >= Duration::from_secs(1));
}
