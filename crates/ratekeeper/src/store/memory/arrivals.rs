//! The states that are an arrival, buckets and queues, in one word or two.
//!
//! Invariant: the parts of a tick are in the lower bits of the first word if those of the rate always
//! fit there, else in a second word.

use super::super::Stamp;
use super::words::{LOW, LOW_BITS, Packed, Settle, Words};
use crate::algorithm::Verdict;
use crate::algorithm::bucket::{Arrival, Bucket};
use crate::algorithm::shaping::Shaping;

/// An algorithm whose state is an arrival.
pub(super) trait Arriving {
    fn drain(&self) -> u64;
    fn charge(&self, arrival: Arrival, now: u64, cost: u64) -> (Verdict, Arrival);
    fn refund(&self, arrival: Arrival, now: u64, units: u64) -> (Verdict, Arrival);
    fn settle(&self, arrival: Arrival, now: u64, settle: Settle) -> (Verdict, Arrival);
    fn stays(&self, verdict: &Verdict) -> bool;
}

impl Arriving for &Bucket {
    #[inline]
    fn drain(&self) -> u64 {
        Bucket::drain(self)
    }

    #[inline(always)]
    fn charge(&self, arrival: Arrival, now: u64, cost: u64) -> (Verdict, Arrival) {
        Bucket::charge(self, arrival, now, cost)
    }

    fn refund(&self, arrival: Arrival, now: u64, units: u64) -> (Verdict, Arrival) {
        Bucket::refund(self, arrival, now, units)
    }

    fn settle(&self, arrival: Arrival, now: u64, settle: Settle) -> (Verdict, Arrival) {
        Bucket::settle(self, arrival, now, settle.stamp.into(), settle.held, settle.actual)
    }

    #[inline]
    fn stays(&self, verdict: &Verdict) -> bool {
        verdict.remaining == 0
    }
}

/// A queue, asked by a caller who waits no longer than `until` a tick.
pub(super) struct Turn<'a> {
    pub(super) shaping: &'a Shaping,
    pub(super) until: u64,
}

impl Arriving for Turn<'_> {
    fn drain(&self) -> u64 {
        self.shaping.bucket().drain()
    }

    fn charge(&self, arrival: Arrival, now: u64, cost: u64) -> (Verdict, Arrival) {
        self.shaping.charge(arrival, now, cost, self.until.saturating_sub(now))
    }

    fn refund(&self, arrival: Arrival, now: u64, units: u64) -> (Verdict, Arrival) {
        self.shaping.refund(arrival, now, units)
    }

    fn settle(&self, arrival: Arrival, now: u64, settle: Settle) -> (Verdict, Arrival) {
        let Settle { stamp, held, actual } = settle;
        self.shaping.settle(arrival, now, stamp.into(), held, actual)
    }

    /// Somebody waits for a turn that was told: it cannot be forgotten.
    fn stays(&self, _: &Verdict) -> bool {
        true
    }
}

impl From<Stamp> for Arrival {
    fn from(Stamp { tick, part }: Stamp) -> Arrival {
        Arrival { tick, part }
    }
}

impl From<Arrival> for Stamp {
    fn from(Arrival { tick, part }: Arrival) -> Stamp {
        Stamp { tick, part }
    }
}

/// An arrival whose parts of a tick fit the lower bits of one word.
pub(super) struct Narrow<A>(A);

impl<A: Arriving> Narrow<A> {
    #[inline]
    pub(super) fn new(algorithm: A) -> Result<Narrow<A>, Wide<A>> {
        if algorithm.drain() <= LOW + 1 { Ok(Narrow(algorithm)) } else { Err(Wide(algorithm)) }
    }

    #[inline]
    fn unpack([word]: [u64; 1]) -> Arrival {
        Arrival { tick: word >> LOW_BITS, part: word & LOW }
    }

    #[inline]
    fn pack((verdict, arrival): (Verdict, Arrival)) -> (Verdict, [u64; 1]) {
        (verdict, [arrival.tick << LOW_BITS | arrival.part])
    }
}

impl<A: Arriving> Words<1> for Narrow<A> {
    #[inline(always)]
    fn charge_words(&self, words: [u64; 1], now: u64, cost: u64) -> (Verdict, [u64; 1]) {
        Self::pack(self.0.charge(Self::unpack(words), now, cost))
    }

    fn refund_words(&self, words: [u64; 1], now: u64, units: u64) -> (Verdict, [u64; 1]) {
        Self::pack(self.0.refund(Self::unpack(words), now, units))
    }

    fn settle_words(&self, words: [u64; 1], now: u64, settle: Settle) -> (Verdict, [u64; 1]) {
        Self::pack(self.0.settle(Self::unpack(words), now, settle))
    }

    fn moved(&self, _: [u64; 1], to: Arrival) -> [u64; 1] {
        [to.tick << LOW_BITS | to.part]
    }

    fn stamp(&self, words: [u64; 1]) -> Stamp {
        Self::unpack(words).into()
    }

    #[inline]
    fn stays(&self, verdict: &Verdict) -> bool {
        self.0.stays(verdict)
    }
}

/// An arrival that takes a second word for its parts of a tick.
pub(super) struct Wide<A>(A);

impl<A: Arriving> Packed for Wide<A> {
    type State = Arrival;

    fn unpack(&self, [first, part]: [u64; 2]) -> Arrival {
        Arrival { tick: first >> LOW_BITS, part }
    }

    fn pack(&self, arrival: Arrival) -> [u64; 2] {
        [arrival.tick << LOW_BITS | u64::from(arrival.part > 0), arrival.part]
    }

    fn stamp(&self, arrival: Arrival) -> Stamp {
        arrival.into()
    }

    fn moved(&self, _: Arrival, to: Arrival) -> Arrival {
        to
    }

    fn charge(&self, arrival: Arrival, now: u64, cost: u64) -> (Verdict, Arrival) {
        self.0.charge(arrival, now, cost)
    }

    fn refund(&self, arrival: Arrival, now: u64, units: u64) -> (Verdict, Arrival) {
        self.0.refund(arrival, now, units)
    }

    fn settle(&self, arrival: Arrival, now: u64, settle: Settle) -> (Verdict, Arrival) {
        self.0.settle(arrival, now, settle)
    }

    fn stays(&self, verdict: &Verdict) -> bool {
        self.0.stays(verdict)
    }
}
