//! The breaker: after some failures nobody waits for the store, until a probe has got through.
//!
//! It opens on five failures in a row, or if at least half of at least twenty calls within a second
//! fail. Invariant: while it is open, one probe at a time is made, and no other call.

use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use std::time::Duration;
use tokio::time::Instant;

/// Failures in a row that open it.
const IN_A_ROW: u32 = 5;

/// Calls within [`WINDOW`] of which half have to fail.
const ENOUGH: u32 = 20;
const WINDOW: Duration = Duration::from_secs(1);

/// How often a probe is made: give or take a half.
const PROBE_EVERY: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct Breaker {
    open: AtomicBool,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    since: Option<Instant>,
    calls: u32,
    failures: u32,
    in_a_row: u32,
}

impl Breaker {
    /// Whether calls are not to be made.
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// A call succeeded.
    pub(super) fn succeeded(&self) {
        lock(&self.counts).note(false);
    }

    /// A call failed; `true` if that has opened the breaker, and the caller is to see to the probes.
    #[must_use]
    pub(super) fn failed(&self) -> bool {
        lock(&self.counts).note(true) && self.open()
    }

    /// Opens it; `true` if it was closed.
    #[must_use]
    pub(super) fn open(&self) -> bool {
        !self.open.swap(true, Ordering::AcqRel)
    }

    /// A probe got through.
    pub(super) fn close(&self) {
        *lock(&self.counts) = Counts::default();
        self.open.store(false, Ordering::Release);
    }
}

impl Counts {
    /// Whether there were enough failures now.
    fn note(&mut self, failed: bool) -> bool {
        let now = Instant::now();
        if self.since.is_none_or(|since| now - since >= WINDOW) {
            *self = Counts { since: Some(now), in_a_row: self.in_a_row, ..Counts::default() };
        }
        self.calls += 1;
        self.failures += u32::from(failed);
        self.in_a_row = if failed { self.in_a_row + 1 } else { 0 };
        failed
            && (self.in_a_row >= IN_A_ROW
                || self.calls >= ENOUGH && 2 * self.failures >= self.calls)
    }
}

/// How long to wait for the next probe; `random` is any number.
pub(super) fn until_probe(random: u64) -> Duration {
    PROBE_EVERY / 2 + share(PROBE_EVERY, random)
}

/// So much of a time as a random number says.
pub(super) fn share(time: Duration, random: u64) -> Duration {
    let nanos = (u128::from(random) * time.as_nanos()) >> 64;
    Duration::from_nanos(nanos as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    /// Goal: five failures in a row open it, and a success in between does not count as one.
    /// Method: four failures, a success, four failures: closed; a fifth opens it, once.
    #[tokio::test(start_paused = true)]
    async fn five_failures_in_a_row_open_it() {
        let breaker = Breaker::default();
        assert!((0..4).all(|_| !breaker.failed()));
        breaker.succeeded();
        assert!((0..4).all(|_| !breaker.failed()) && !breaker.is_open());
        assert!(breaker.failed() && breaker.is_open());
        assert!(!breaker.failed(), "it opens once");
        breaker.close();
        assert!((0..4).all(|_| !breaker.failed()) && !breaker.is_open());
    }

    /// Goal: half of twenty calls in one second open it; fewer, or over a longer time, do not.
    /// Method: every other call fails, at two paces.
    #[tokio::test(start_paused = true)]
    async fn half_of_twenty_calls_in_a_second_open_it() {
        for (pause, opens) in [(10, true), (60, false)] {
            let breaker = Breaker::default();
            for call in 0..40 {
                match call % 2 {
                    0 => breaker.succeeded(),
                    _ => _ = breaker.failed(),
                }
                assert!(!breaker.is_open() || call >= 19, "after {call} calls");
                advance(Duration::from_millis(pause)).await;
            }
            assert_eq!(breaker.is_open(), opens, "a call every {pause} ms");
        }
    }

    /// Goal: probes are 50 to 150 ms apart.
    /// Method: the ends of what is random.
    #[test]
    fn probes_are_a_tenth_of_a_second_apart_give_or_take_a_half() {
        assert_eq!(until_probe(0), Duration::from_millis(50));
        let longest = until_probe(u64::MAX);
        assert!(Duration::from_millis(149) < longest && longest < Duration::from_millis(150));
    }
}
