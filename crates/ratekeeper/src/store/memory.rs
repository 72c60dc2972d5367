//! The memory store: a bounded concurrent table of buckets.
//!
//! A bucket's fingerprint says its shard; in the shard it is found without a lock, and charged under
//! the lock of its cache line alone. Invariant: the store never holds more than `keys` keys, the
//! shared buckets aside.
//!
//! A bucket is found by a keyed 64-bit hash alone. Among ten million keys the odds that any two
//! share one are 3 in a million; nobody outside the process can search for such a pair.

mod arrivals;
mod back;
mod budget;
mod former;
mod kept;
mod line;
mod logs;
mod look;
mod place;
mod several;
mod shard;
mod slots;
mod words;

pub(crate) use kept::Kept;

use super::{Charge, Receipt};
use crate::algorithm::bucket::Arrival;
use crate::algorithm::{Retry, UNKNOWN, Verdict};
use crate::decision::{Decision, Source};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use budget::Budget;
use former::Formers;
use shard::Shard;
use std::hint::black_box;
use std::sync::Arc;
use words::Settle;

/// Keys that the store remembers unless told otherwise.
pub(crate) const KEYS_DEFAULT: usize = 1_000_000;

/// Most keys that the store can be told to remember: above it the memory of a large machine ends.
pub(crate) const KEYS_MAX: usize = 1 << 32;

/// A shard beyond the least is not made for fewer keys than this.
const SHARD_KEYS_MIN: usize = 256;

/// About as many keys a shard holds at most, so that growing one takes a fraction of a millisecond.
const SHARD_KEYS_MAX: usize = 8_192;

/// Enough shards for many cores; beyond it their number grows with the keys only.
const SHARDS: usize = 1_024;

/// Shards that there are at least: what is stored of a fingerprint lacks its two upper bits, which the shard tells.
/// (Few keys that meet in one shard are what loom explores.)
const SHARDS_MIN: usize = if cfg!(loom) { 1 } else { 4 };

/// Keys of a batch whose lines are fetched together, instead of one after the other.
const BATCH: usize = 16;

/// Shards that are tried for a bucket to let go, when a newcomer's own has none.
const RELIEF_TRIES: usize = 8;

/// Buckets that the shared shard can hold: one for each limit of each rule.
const SHARED_MAX: usize = 1 << 20;

/// What is said where not even a shared bucket has room, that is, never: no, for a second.
const NO_ROOM: Verdict =
    Verdict { remaining: 0, reset_after: SECOND, retry_after: Retry::after(SECOND), more_after: 0 };
const SECOND: u64 = 1_000_000;

/// What is said where there is no room for another key with permits: no, and nobody knows for how long.
const NO_PERMIT: Verdict =
    Verdict { remaining: 0, reset_after: UNKNOWN, retry_after: Retry::UNKNOWN, more_after: 0 };

/// One shard, on cache lines of its own.
#[repr(align(128))]
struct Padded(Shard);

pub(crate) struct Memory {
    /// The shards by the upper bits of the fingerprint; and a last one, where newcomers to a full
    /// shard are charged: one bucket for each limit.
    shards: Box<[Padded]>,
    shift: u32,
    overflowed: AtomicU64,
    /// Where to look next for a bucket to let go, when a newcomer's own shard has none.
    relief: AtomicUsize,
    formers: Formers,
    /// Keys at most.
    most: u64,
}

/// What the memory store holds and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Keys held at present, those that are whole again but not yet reclaimed included.
    pub keys: u64,
    /// Keys held at most; a sliding log takes the room of several.
    pub most: u64,
    /// Bytes of the tables and logs.
    pub bytes: u64,
    /// Keys created since the start.
    pub created: u64,
    /// Keys reclaimed because they were whole again.
    pub expired: u64,
    /// Keys dropped at the cap, nearest to whole first.
    pub evicted: u64,
    /// Decisions by shared buckets, because the store was at its cap.
    pub overflowed: u64,
}

impl Memory {
    pub(crate) fn new(keys: usize) -> Memory {
        let keys = keys.clamp(1, KEYS_MAX);
        let wanted = SHARDS.min(keys / SHARD_KEYS_MIN).max(keys / SHARD_KEYS_MAX).max(SHARDS_MIN);
        let count = wanted.next_power_of_two();
        // Fingerprints spread evenly; where they do not, a shard is full before the store is.
        let (most, budget) = (keys / count * 5 / 4 + SHARD_KEYS_MIN, Arc::new(Budget::new(keys)));
        let own = (0..count).map(|_| Shard::new(most, Arc::clone(&budget)));
        let shared = Shard::new(SHARED_MAX, Arc::new(Budget::new(SHARED_MAX)));
        let shards = own.chain([shared]).map(Padded).collect();
        let shift = 64 - count.trailing_zeros();
        let (overflowed, relief) = (AtomicU64::new(0), AtomicUsize::new(0));
        let (formers, most) = (Formers::default(), keys as u64);
        Memory { shards, shift, overflowed, relief, formers, most }
    }

    /// Charges one bucket.
    #[inline]
    pub(crate) fn charge(&self, now: u64, charge: &Charge<'_>) -> Decision {
        self.bring(now, charge);
        match self.shard(charge).charge(now, charge) {
            Some(verdict) => charge.decision(verdict, Source::Store),
            None => self.charge_newcomer(now, charge),
        }
    }

    /// Charges one bucket that shapes; if it admits, and is the key's own, says when the charge will
    /// have drained.
    pub(crate) fn charge_turn(&self, now: u64, charge: &Charge<'_>) -> (Decision, Option<Arrival>) {
        self.bring(now, charge);
        let turn = || self.shard(charge).charge_turn(now, charge);
        let found = turn().or_else(|| if self.relieve(now, charge.bucket) { turn() } else { None });
        match found {
            Some((verdict, until)) => (charge.decision(verdict, Source::Store), until),
            None => (self.charge_shared(now, charge), None),
        }
    }

    /// Takes units of one bucket that gives permits. Time plays a part only if the bucket is new.
    #[inline]
    pub(crate) fn acquire(&self, now: impl FnOnce() -> u64, charge: &Charge<'_>) -> Decision {
        match self.shard(charge).acquire(charge) {
            Some(verdict) => charge.decision(verdict, Source::Store),
            None => self.charge(now(), charge),
        }
    }

    /// Charges all buckets, or none if one refuses. Each decision is its bucket's own; if all admit,
    /// there is a receipt for each charge.
    pub(crate) fn charge_all(
        &self,
        now: u64,
        charges: &[Charge<'_>],
    ) -> (Vec<Decision>, Vec<Receipt>) {
        charges.iter().for_each(|charge| self.bring(now, charge));
        let (decisions, receipts) = several::charge_all(self, now, charges);
        let shared =
            decisions.iter().filter(|decision| decision.source == Source::Overflow).count();
        self.overflowed.fetch_add(shared as u64, Ordering::Relaxed);
        (decisions, receipts)
    }

    /// Settles a charge at what was really used.
    pub(crate) fn settle(&self, now: u64, charge: &Charge<'_>, receipt: &Receipt, actual: u64) {
        let Receipt { bucket, stamp, held, .. } = *receipt;
        let charge = Charge { bucket, ..*charge };
        let _ = self.shard_with(receipt).settle(now, &charge, Settle { stamp, held, actual });
    }

    /// Gives back units that were held.
    #[inline]
    pub(crate) fn release(&self, bucket: u64, units: u64) {
        self.shards[self.shard_of(bucket)].0.release(bucket, units);
    }

    #[inline]
    fn shard_with(&self, receipt: &Receipt) -> &Shard {
        let own = self.shard_of(receipt.bucket);
        &self.shards[if receipt.shared { self.overflow() } else { own }].0
    }

    /// Makes each charge by itself, in their order, at the same time.
    pub(crate) fn charge_each<'c>(
        &self,
        now: u64,
        mut charges: impl Iterator<Item = Charge<'c>>,
        decisions: &mut Vec<Decision>,
    ) {
        decisions.reserve(charges.size_hint().0);
        loop {
            // All lines are asked for before the first is needed, so that they arrive together.
            let mut batch = [None; BATCH];
            let mut tags = [None; BATCH];
            for (place, tag) in batch.iter_mut().zip(&mut tags) {
                let Some(charge) = charges.next() else { break };
                *tag = self.shard(&charge).first_tag(&charge);
                *place = Some(charge);
            }
            black_box(tags.iter().flatten().fold(0, |sum, tag| sum ^ tag.load(Ordering::Relaxed)));
            decisions.extend(batch.iter().flatten().map(|charge| self.charge(now, charge)));
            if batch[BATCH - 1].is_none() {
                return;
            }
        }
    }

    /// Gives units back to a bucket, if there is one.
    pub(crate) fn refund(&self, now: u64, charge: &Charge<'_>) -> Decision {
        self.bring(now, charge);
        charge.decision(self.shard(charge).refund(now, charge), Source::Store)
    }

    /// Moves the end of a line of who waits.
    pub(crate) fn move_end(&self, charge: &Charge<'_>, to: Arrival) {
        self.shard(charge).move_end(charge, to);
    }

    /// Forgets a bucket.
    pub(crate) fn reset(&self, charge: &Charge<'_>) {
        self.forget_formers(charge);
        self.shard(charge).remove(charge);
    }

    /// What it holds, and what it has done.
    pub(crate) fn stats(&self) -> MemoryStats {
        let overflowed = self.overflowed.load(Ordering::Relaxed);
        let mut sum = MemoryStats { overflowed, most: self.most, ..MemoryStats::default() };
        self.shards.iter().for_each(|shard| shard.0.add_stats(&mut sum));
        sum
    }

    /// Charges a newcomer whose shard has no bucket that may go: its own, if one goes elsewhere, else
    /// the bucket that such newcomers share.
    #[cold]
    fn charge_newcomer(&self, now: u64, charge: &Charge<'_>) -> Decision {
        if self.relieve(now, charge.bucket)
            && let Some(verdict) = self.shard(charge).charge(now, charge)
        {
            return charge.decision(verdict, Source::Store);
        }
        self.charge_shared(now, charge)
    }

    /// Charges the bucket that newcomers share. Permits are not shared: whoever holds some there could
    /// take as many again once there is room for a bucket of its own.
    fn charge_shared(&self, now: u64, charge: &Charge<'_>) -> Decision {
        if !charge.is_shareable() {
            self.overflowed.fetch_add(1, Ordering::Relaxed);
            return charge.decision(NO_PERMIT, Source::Overflow);
        }
        let shared = self.shards[self.overflow()].0.charge(now, &charge.shared());
        self.overflowed.fetch_add(1, Ordering::Relaxed);
        charge.decision(shared.unwrap_or(NO_ROOM), Source::Overflow)
    }

    /// Lets one bucket go in some shard, a few of which are tried in turn: what fills the store may
    /// lie in a few of them, as long logs do.
    fn relieve(&self, now: u64, bucket: u64) -> bool {
        let next = || self.relief.fetch_add(1, Ordering::Relaxed) % self.overflow();
        (0..RELIEF_TRIES).any(|_| {
            let shard = &self.shards[next()].0;
            shard.try_book().is_some_and(|mut book| shard.let_go(&mut book, now, bucket, &[]))
        })
    }

    /// The number of the shared shard.
    fn overflow(&self) -> usize {
        self.shards.len() - 1
    }

    #[inline]
    fn shard_of(&self, bucket: u64) -> usize {
        bucket.checked_shr(self.shift).unwrap_or(0) as usize
    }

    #[inline]
    fn shard(&self, charge: &Charge<'_>) -> &Shard {
        &self.shards[self.shard_of(charge.bucket)].0
    }
}
