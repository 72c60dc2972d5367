//! Large bodies: the gateway holds a little of them, never the whole.

use super::message::Wire;
use super::site::{MANY, Site, get};
use super::upstream::{After, OK, Upstream, free};
use crate::program::poll;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Bytes of a large body.
const LARGE: u64 = 1 << 30;

/// By how much the program may grow, in KiB, while large bodies pass.
pub(super) const GROWTH_MAX: u64 = 32 * 1024;

/// One piece of a body.
static PIECE: [u8; 64 * 1024] = [b'x'; 64 * 1024];

/// The most memory that the program has had, in KiB.
pub(super) fn most(site: &Site) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", site.program.id()));
    let status = status.expect("the system tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok());
    number.expect("a number of KiB")
}

/// Writes a large body, as far as the peer takes it.
fn write_large(wire: &mut Wire) -> u64 {
    let mut sent = 0;
    while sent < LARGE && wire.send(PIECE) {
        sent += PIECE.len() as u64;
    }
    sent
}

/// Writes a large body in chunks.
fn write_chunks(wire: &mut Wire) {
    let head = format!("{:x}\r\n", PIECE.len());
    let piece = [head.as_bytes(), &PIECE, b"\r\n"].concat();
    for _ in 0..LARGE / PIECE.len() as u64 {
        wire.send(&piece);
    }
    wire.send("0\r\n\r\n");
}

/// Goal: a body of a gigabyte passes in each direction, and the program hardly grows.
/// Method: an upstream that counts what comes, and sends as much; the most memory that the program has had,
/// before and after.
#[test]
fn a_gigabyte_passes_in_each_direction() {
    let upstream = Upstream::raw(free(), |wire, number, book| {
        while let Ok(request) = wire.head() {
            let length = request.field("content-length").and_then(|it| it.parse().ok());
            let path = request.start.split(' ').nth(1).unwrap_or_default().to_owned();
            if wire.skim(length.unwrap_or(0)).is_err() {
                return;
            }
            book.note(number, request);
            match path.as_str() {
                "/down" => {
                    wire.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n"));
                    write_large(wire);
                }
                "/chunks" => {
                    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                    write_chunks(wire);
                }
                _ => drop(wire.send(OK)),
            }
        }
    });
    let site = Site::before(&[&upstream], MANY);
    assert_eq!(site.get("/small").status(), 200);
    let before = most(&site);

    let mut wire = Wire::open(site.address);
    wire.send(get("/down", ""));
    assert_eq!(wire.head().expect("the head comes").status(), 200);
    wire.skim(LARGE).expect("the whole comes");

    wire.send(get("/chunks", ""));
    assert_eq!(wire.head().expect("the head comes").status(), 200);
    // The chunks may be cut anew; there are at least as many bytes.
    wire.skim(LARGE).expect("the whole comes");
    drop(wire);

    let mut wire = Wire::open(site.address);
    wire.send(format!("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: {LARGE}\r\n\r\n"));
    assert_eq!(write_large(&mut wire), LARGE);
    assert_eq!(wire.answer("POST").expect("an answer comes").status(), 200);
    let grown = most(&site) - before;
    assert!(grown < GROWTH_MAX, "it grew by {grown} KiB");
    assert_eq!(upstream.seen().len(), 4);
}

/// Goal: an upstream is read as fast as the client reads, and a client as fast as the upstream.
/// Method: a peer that does not read: what the other could write stays far below the whole.
#[test]
fn who_does_not_read_holds_the_other_back() {
    let written = Arc::<AtomicU64>::default();
    let ours = written.clone();
    let upstream = Upstream::acting(move |request, wire| {
        if request.start.contains("/down") {
            wire.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n"));
            while wire.send(PIECE) {
                ours.fetch_add(PIECE.len() as u64, Ordering::SeqCst);
            }
        }
        After::Close
    });
    let site = Site::before(&[&upstream], MANY);
    let before = most(&site);
    let mut wire = Wire::open(site.address);
    wire.send(get("/down", ""));
    assert_eq!(wire.head().expect("the head comes").status(), 200);
    let held = stands_still(&written);
    assert!(held < 64 << 20, "{held} bytes were taken from the upstream");

    let deaf = Upstream::raw(free(), |wire, _, _| {
        let _ = wire.head();
        // It reads nothing more until it is over.
        thread::park_timeout(crate::wire::DEADLINE);
    });
    let second = Site::before(&[&deaf], MANY);
    let taken = Arc::<AtomicU64>::default();
    let ours = taken.clone();
    let mut up = Wire::open(second.address);
    let client = thread::spawn(move || {
        up.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {LARGE}\r\n\r\n"));
        while ours.load(Ordering::SeqCst) < LARGE && up.send(PIECE) {
            ours.fetch_add(PIECE.len() as u64, Ordering::SeqCst);
        }
    });
    let held = stands_still(&taken);
    assert!(held < 64 << 20, "{held} bytes were taken from the client");
    assert!(most(&site) - before < GROWTH_MAX);
    drop((second, deaf));
    client.join().expect("it ends when its peer does");
}

/// Waits until a count has moved and moves no more; the count.
fn stands_still(count: &AtomicU64) -> u64 {
    let (mut last, mut still) = (0, 0);
    let stands = poll(|| {
        let now = count.load(Ordering::SeqCst);
        still = if now == last { still + 1 } else { 0 };
        last = now;
        (now > 0 && still > 30).then_some(now)
    });
    stands.expect("it stands still")
}
