//! The corpus with its bytes shaken: whatever comes out, nothing arrives that was not charged.
//!
//! Invariant: the shaking is the same in every run.

use super::corpus::{CHUNKS, CODINGS, LENGTHS, LINES, TARGETS};
use super::message::{Fault, Wire};
use super::site::{MANY, Site, of_upstream};
use super::upstream::{OK, Upstream, free};
use crate::program::poll;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many are tried.
const TRIES: u64 = 400;

/// How long one is waited for that does not end by itself.
const PATIENCE: Duration = Duration::from_millis(100);

/// Bytes that mean something to somebody.
const BYTES: &[&[u8]] = &[
    b"\r\n",
    b"\r",
    b"\n",
    b" ",
    b"\t",
    b":",
    b",",
    b";",
    b"0",
    b"1",
    b"+",
    b"-",
    b"\x00",
    b"\x0b",
    b"\xff",
    b"0\r\n\r\n",
    b"\r\n\r\n",
    b"Content-Length: 1\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Host: b\r\n",
    b"GET /inner HTTP/1.1\r\nHost: a\r\n\r\n",
];

/// Numbers in an order that nobody would guess, and that is the same in every run.
struct Numbers(u64);

impl Numbers {
    /// One below a bound.
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// Shakes bytes: puts some in, takes some out, repeats some.
fn shaken(bytes: &str, numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = bytes.as_bytes().to_vec();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(bytes.len());
        let to = (at + 1 + numbers.below(8)).min(bytes.len());
        match numbers.below(4) {
            0 => drop(bytes.drain(at..to)),
            1 => {
                let again = bytes[at..to].to_vec();
                bytes.splice(at..at, again);
            }
            _ => {
                let put = BYTES[numbers.below(BYTES.len())];
                bytes.splice(at..at, put.iter().copied());
            }
        }
    }
    bytes.extend(b"GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    bytes
}

/// An upstream that counts heads, whole requests, and what is framed as none.
fn upstream() -> (Upstream, Arc<[AtomicUsize; 3]>) {
    let counts = Arc::<[AtomicUsize; 3]>::default();
    let ours = counts.clone();
    let note = move |index: usize| ours[index].fetch_add(1, Ordering::SeqCst);
    let upstream = Upstream::raw(free(), move |wire, _, _| {
        loop {
            let framed = wire.head().and_then(|mut request| {
                note(0);
                wire.framed(&mut request)
            });
            match framed {
                Ok(_) => drop((note(1), wire.send(OK))),
                Err(Fault::Bad(_)) => return drop(note(2)),
                Err(_) => return,
            }
        }
    });
    (upstream, counts)
}

/// Sends bytes in pieces; how many answers of the upstream came.
fn passed(site: &Site, bytes: &[u8], numbers: &mut Numbers) -> usize {
    let mut wire = Wire::open(site.address);
    wire.stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    let (first, second) = bytes.split_at(numbers.below(bytes.len()));
    let _ = wire.send(first) && wire.send(second);
    let mut passed = 0;
    while let Ok(answer) = wire.answer("GET") {
        passed += usize::from(answer.status() == 200);
    }
    passed
}

/// Waits until nothing is under way, and the upstream has seen the end of every connection that is not kept.
fn settled(site: &Site, upstream: &Upstream) -> bool {
    let of = |name: &str, more: &str| site.metric(&of_upstream(name, upstream, more));
    let is_settled = || {
        let kept = of("connections", ",state=\"idle\"")? as usize;
        (of("in_flight", "") == Some(0.0) && upstream.open() == kept).then_some(())
    };
    poll(is_settled).is_some()
}

/// Goal: no bytes make one request of two, or two of one.
/// Method: shake the corpus; after each try, what arrived is at most what was charged, is framed well, and was
/// whole wherever the client got an answer.
#[test]
fn shaken_bytes_pass_nothing_uncounted() {
    let (upstream, counts) = upstream();
    let site = Site::before(&[&upstream], MANY);
    let corpus = [LENGTHS, CODINGS, CHUNKS, LINES, TARGETS].concat();
    let mut numbers = Numbers(2_026);
    let figures = |site: &Site| {
        let [heads, whole, bad] =
            [0, 1, 2].map(|index: usize| counts[index].load(Ordering::SeqCst));
        (heads, whole, bad, site.decided("all", "allowed") as usize)
    };
    let mut total = 0;
    for number in 0..TRIES {
        let (_, bytes, _) = corpus[numbers.below(corpus.len())];
        let bytes = shaken(bytes, &mut numbers);
        let before = figures(&site);
        let passed = passed(&site, &bytes, &mut numbers);
        assert!(settled(&site, &upstream), "{number}: something is left");
        let after = figures(&site);
        let text = String::from_utf8_lossy(&bytes);
        let (heads, charged) = (after.0 - before.0, after.3 - before.3);
        assert!(heads <= charged, "{number}: {heads} of {charged} charged by {text:?}");
        assert!(passed <= after.1 - before.1, "{number}: {passed} answers by {text:?}");
        assert_eq!(after.2, 0, "{number}: badly framed by {text:?}");
        total += passed;
    }
    assert!(total > 100, "only {total} passed: the bytes are shaken too much");
}
