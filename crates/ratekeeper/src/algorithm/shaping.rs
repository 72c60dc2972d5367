//! Leaky bucket as a queue: what is admitted passes at an even pace, each in its turn.
//!
//! The same state and the same test as the [bucket](super::bucket); what is admitted passes when all
//! that was admitted before it has drained. Invariant: the turns of a key are in the order in which
//! they were given, and each is at least as far from the one before as that one's cost takes to
//! drain.

use super::bucket::{Arrival, Bucket};
use super::{Retry, Verdict};

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaping {
    bucket: Bucket,
    max_wait: u64,
}

impl Shaping {
    /// A queue for as many units as the bucket holds, the one whose turn it is included, in which
    /// nothing waits for more than `max_wait` ticks.
    pub fn new(bucket: Bucket, max_wait: u64) -> Shaping {
        Shaping { bucket, max_wait }
    }

    /// The pace, and how much fits.
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// The longest wait, in ticks.
    pub fn max_wait(&self) -> u64 {
        self.max_wait
    }

    /// Asks for `cost` units of a key that was left at `arrival`, for a caller who waits no longer
    /// than `patience`. A peek is told the delay of whoever comes now.
    pub fn charge(
        &self,
        arrival: Arrival,
        now: u64,
        cost: u64,
        patience: u64,
    ) -> (Verdict, Arrival) {
        let delay = self.delay(arrival, now);
        let (mut verdict, next) = self.bucket.charge(arrival, now, cost);
        let excess = delay.saturating_sub(self.max_wait.min(patience));
        if cost > 0 && excess > 0 {
            let retry_after = verdict.retry_after.max(Retry::after(excess));
            let refused = Verdict { retry_after, ..self.bucket.charge(arrival, now, 0).0 };
            return (self.limited(refused, arrival, now), arrival);
        }
        if verdict.allowed() {
            verdict.retry_after = Retry::delayed(delay);
        }
        (self.limited(verdict, next, now), next)
    }

    /// Gives `units` back: the latest turns, which nobody takes.
    pub fn refund(&self, arrival: Arrival, now: u64, units: u64) -> (Verdict, Arrival) {
        let (verdict, next) = self.bucket.refund(arrival, now, units);
        (self.limited(verdict, next, now), next)
    }

    /// Settles a charge, see [`Bucket::settle`]. A turn can be given back only while it is the last:
    /// those behind it were told theirs.
    pub fn settle(
        &self,
        arrival: Arrival,
        now: u64,
        until: Arrival,
        held: u64,
        actual: u64,
    ) -> (Verdict, Arrival) {
        let actual = if arrival == until { actual } else { actual.max(held) };
        let (verdict, next) = self.bucket.settle(arrival, now, until, held, actual);
        (self.limited(verdict, next, now), next)
    }

    /// Ticks until the turn of whoever comes now.
    pub fn delay(&self, arrival: Arrival, now: u64) -> u64 {
        let level = self.bucket.level(arrival, now);
        self.bucket.drained(level).up()
    }

    /// Nothing is left, however much space there is, if the wait is too long.
    fn limited(&self, verdict: Verdict, next: Arrival, now: u64) -> Verdict {
        let waits = self.delay(next, now) <= self.max_wait;
        Verdict { remaining: if waits { verdict.remaining } else { 0 }, ..verdict }
    }
}
