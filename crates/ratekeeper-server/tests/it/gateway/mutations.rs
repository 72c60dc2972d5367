//! The corpus with its bytes shaken: whatever comes out, nothing arrives that was not charged.
//!
//! Invariant: the shaking is the same in every run.

use super::corpus::{CHUNKS, CODINGS, Case, Fate, LENGTHS, LINES, TARGETS};
use super::message::{Fault, Wire};
use super::site::{MANY, Site, of_upstream};
use super::upstream::{OK, Upstream, free};
use crate::program::poll;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How many are tried.
const TRIES: u64 = 1_000;

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
    for _ in 0..=numbers.below(2) {
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

/// What became of a request at the upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Arrival {
    /// Its head was there.
    Begun(String),
    Whole,
    /// It was framed as none.
    Bad(String),
    /// It came from the test itself.
    Mark,
}

/// The way of the test itself to the upstream.
const MARK: &str = "MARK / HTTP/1.1\r\nConnection: close\r\n\r\n";

/// An upstream that writes down what comes, and what comes of it.
fn upstream() -> (Upstream, Arc<Mutex<Vec<Arrival>>>) {
    let arrived = Arc::<Mutex<Vec<Arrival>>>::default();
    let ours = arrived.clone();
    let note = move |arrival: Arrival| ours.lock().expect("nobody failed").push(arrival);
    let upstream = Upstream::raw(free(), move |wire, _, _| {
        loop {
            let framed = wire.head().and_then(|mut request| {
                let is_mark = request.start.starts_with("MARK");
                note(if is_mark { Arrival::Mark } else { Arrival::Begun(request.start.clone()) });
                wire.framed(&mut request).map(|_| is_mark)
            });
            match framed {
                Ok(true) => return,
                Ok(false) => {
                    note(Arrival::Whole);
                    wire.send(OK);
                }
                Err(Fault::Bad(text)) => return note(Arrival::Bad(text)),
                Err(_) => return,
            }
        }
    });
    (upstream, arrived)
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
    let is_still = poll(|| (of("in_flight", "") == Some(0.0)).then_some(()));
    // Connections are accepted in order: when this one is, all before it are.
    let mut mark = Wire::open(upstream.address);
    let kept = || of("connections", ",state=\"idle\"").map(|count| count as usize);
    let is_same = || (kept() == Some(upstream.open())).then_some(());
    is_still.is_some() && mark.send(MARK) && mark.ends() && poll(is_same).is_some()
}

/// Goal: no bytes make one request of two, or two of one.
/// Method: shake the corpus; after each try, what arrived is at most what was charged, is framed well, and was
/// whole wherever the client got an answer.
#[test]
fn shaken_bytes_pass_nothing_uncounted() {
    let (upstream, arrived) = upstream();
    let site = Site::before(&[&upstream], MANY);
    let corpus = [LENGTHS, CODINGS, CHUNKS, LINES, TARGETS].concat();
    // What passes as it is comes nearest to passing as something else.
    let passes = |case: &&Case| matches!(case.2, Fate::Passes(_) | Fate::Closes(..));
    let good: Vec<Case> = corpus.iter().filter(passes).copied().collect();
    let (mut numbers, mut total) = (Numbers(2_026), 0);
    for number in 0..TRIES {
        let from = if number % 4 == 0 { &corpus } else { &good };
        let (_, bytes, _) = from[numbers.below(from.len())];
        let bytes = shaken(bytes, &mut numbers);
        let before = site.decided("all", "allowed");
        let passed = passed(&site, &bytes, &mut numbers);
        assert!(settled(&site, &upstream), "{number}: something is left");
        let charged = (site.decided("all", "allowed") - before) as usize;
        let arrived = std::mem::take(&mut *arrived.lock().expect("nobody failed"));
        let count = |fits: fn(&Arrival) -> bool| arrived.iter().filter(|own| fits(own)).count();
        let begun = count(|own| matches!(own, Arrival::Begun(_)));
        let whole = count(|own| *own == Arrival::Whole);
        let bad = count(|own| matches!(own, Arrival::Bad(_)));
        assert!(
            begun <= charged && passed <= whole && bad == 0,
            "{number}: {charged} charged, {passed} answered, {arrived:?} by {:?}",
            String::from_utf8_lossy(&bytes)
        );
        total += passed;
    }
    assert!(total > 100, "only {total} passed: the bytes are shaken too much");
}
