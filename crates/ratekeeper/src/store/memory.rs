//! The memory store: a bounded concurrent table of buckets.
//!
//! Shards, each behind a lock of its own, hold flat tables of slots. A request locks the shards of
//! its buckets in order, evaluates all, and writes only if all admit: trying and undoing would
//! refuse neighbours on a charge that never was. Invariants: no path holds a shard's lock while
//! it waits for a lower one; the store never holds more than `keys` keys.
//!
//! A bucket is found by a keyed 64-bit hash alone. Among ten million keys the odds that any two
//! share one are 3 in a million; nobody outside the process can search for such a pair.

mod logs;
mod shard;
mod slots;
mod words;

use super::Charge;
use crate::decision::{Decision, Source};
use crate::sync::{Mutex, MutexGuard, lock};
use shard::Shard;
use std::hint::black_box;

/// Keys that the store remembers unless told otherwise.
pub(crate) const KEYS_DEFAULT: usize = 1_000_000;

/// Most keys that the store can be told to remember: above it the memory of a large machine ends.
pub(crate) const KEYS_MAX: usize = 1 << 32;

/// A shard is not made for fewer keys than this.
const SHARD_KEYS_MIN: usize = 256;

/// A shard holds no more keys than this, so that growing one takes a fraction of a millisecond.
const SHARD_KEYS_MAX: usize = 8_192;

/// Enough shards for many cores; beyond it their number grows with the keys only.
const SHARDS: usize = 1_024;

/// Keys of a batch whose shards are locked together: their slots are fetched from memory at the
/// same time, instead of one after the other.
const BATCH: usize = 16;

/// One shard, on cache lines of its own.
#[repr(align(128))]
struct Padded(Mutex<Shard>);

pub(crate) struct Memory {
    shards: Box<[Padded]>,
    /// Where newcomers to a full shard are charged: one bucket for each meter, and no cap.
    overflow: Mutex<Shard>,
    /// A bucket's shard is the upper bits of its fingerprint.
    shift: u32,
}

/// What the memory store holds and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Keys held at present, those that are whole again but not yet reclaimed included.
    pub keys: u64,
    /// Bytes of the tables and logs.
    pub bytes: u64,
    /// Keys created since the start.
    pub created: u64,
    /// Keys reclaimed because they were whole again.
    pub expired: u64,
    /// Keys dropped at the cap, nearest to whole first.
    pub evicted: u64,
    /// Charges to shared buckets, because the store was at its cap.
    pub overflowed: u64,
}

impl Memory {
    pub(crate) fn new(keys: usize) -> Memory {
        let keys = keys.clamp(1, KEYS_MAX);
        let wanted = SHARDS.min(keys / SHARD_KEYS_MIN).max(keys / SHARD_KEYS_MAX).max(1);
        let count = wanted.next_power_of_two();
        let quota = keys / count;
        let shards = (0..count).map(|_| Padded(Mutex::new(Shard::new(quota)))).collect();
        let overflow = Mutex::new(Shard::new(usize::MAX));
        Memory { shards, overflow, shift: 64 - count.trailing_zeros() }
    }

    /// Charges one bucket.
    #[inline]
    pub(crate) fn charge(&self, now: u64, charge: &Charge<'_>) -> Decision {
        let verdict = self.lock(self.shard_of(charge.bucket)).charge(now, charge);
        match verdict {
            Some(verdict) => charge.decision(verdict, Source::Store),
            None => self.charge_shared(now, charge),
        }
    }

    /// Charges all buckets, or none if one refuses. Each decision is its bucket's own.
    pub(crate) fn charge_all(&self, now: u64, charges: &[Charge<'_>]) -> Vec<Decision> {
        let (distinct, owner) = merge_same(charges);
        let mut held = self.hold(&distinct);
        let mut decisions = Vec::with_capacity(distinct.len());
        for (index, charge) in distinct.iter().enumerate() {
            let verdict = held.shard(index).check(now, charge);
            decisions.push(charge.decision(verdict, Source::Store));
        }
        let mut allowed = decisions.iter().all(Decision::is_allowed);
        if allowed {
            allowed = self.commit(&mut held, now, &distinct, &mut decisions);
        }
        if !allowed {
            // Nothing was charged: the buckets that would have admitted show what they still hold.
            for (index, charge) in distinct.iter().enumerate() {
                if decisions[index].is_allowed() {
                    let verdict = held.shard(index).check(now, &Charge { cost: 0, ..*charge });
                    decisions[index] = charge.decision(verdict, Source::Store);
                }
            }
        }
        owner.into_iter().map(|index| decisions[index]).collect()
    }

    /// Charges each bucket by itself, at the same time.
    pub(crate) fn charge_each(&self, now: u64, charges: &[Charge<'_>]) -> Vec<Decision> {
        let mut decisions = Vec::with_capacity(charges.len());
        for batch in charges.chunks(BATCH) {
            let mut held = self.hold(batch);
            // All slots are asked for before the first is needed, so that they arrive together.
            for (index, charge) in batch.iter().enumerate() {
                black_box(held.shard(index).touch(charge));
            }
            for (index, charge) in batch.iter().enumerate() {
                decisions.push(match held.shard(index).charge(now, charge) {
                    Some(verdict) => charge.decision(verdict, Source::Store),
                    None => self.charge_shared(now, charge),
                });
            }
        }
        decisions
    }

    /// Gives units back to a bucket, if there is one.
    pub(crate) fn refund(&self, now: u64, charge: &Charge<'_>) -> Decision {
        let verdict = self.lock(self.shard_of(charge.bucket)).refund(now, charge);
        charge.decision(verdict, Source::Store)
    }

    /// Forgets a bucket.
    pub(crate) fn reset(&self, charge: &Charge<'_>) {
        self.lock(self.shard_of(charge.bucket)).remove(charge);
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        let mut sum = MemoryStats::default();
        for index in 0..self.shards.len() {
            self.lock(index).add_stats(&mut sum);
        }
        lock(&self.overflow).add_stats(&mut sum);
        sum.bytes += size_of_val(&*self.shards) as u64;
        sum
    }

    /// Charges the bucket that newcomers share, where there is no room for one of their own.
    #[cold]
    fn charge_shared(&self, now: u64, charge: &Charge<'_>) -> Decision {
        let verdict = lock(&self.overflow).charge_shared(now, charge);
        charge.decision(verdict, Source::Overflow)
    }

    /// Writes what was found admissible. Every newcomer gets its place first, since where there is
    /// none, the shared bucket has a say, too, and may yet refuse.
    fn commit(
        &self,
        held: &mut Held<'_>,
        now: u64,
        charges: &[Charge<'_>],
        decisions: &mut [Decision],
    ) -> bool {
        let mine: Vec<u64> = charges.iter().map(|charge| charge.bucket).collect();
        let mut overflow: Option<MutexGuard<'_, Shard>> = None;
        for (index, charge) in charges.iter().enumerate() {
            if charge.cost > 0 && !held.shard(index).place(now, charge, &mine) {
                let shared = overflow.get_or_insert_with(|| lock(&self.overflow));
                let verdict = shared.check(now, &charge.shared());
                decisions[index] = charge.decision(verdict, Source::Overflow);
            }
        }
        if !decisions.iter().all(Decision::is_allowed) {
            return false;
        }
        for (index, charge) in charges.iter().enumerate().filter(|(_, charge)| charge.cost > 0) {
            let written = match &mut overflow {
                Some(shared) if decisions[index].source == Source::Overflow => {
                    Some(shared.charge_shared(now, charge))
                }
                _ => held.shard(index).charge(now, charge),
            };
            decisions[index].verdict = written.unwrap_or(decisions[index].verdict);
        }
        true
    }

    /// Locks the shards of `charges`, in order, each once.
    fn hold(&self, charges: &[Charge<'_>]) -> Held<'_> {
        let mut order: Vec<(usize, usize)> =
            charges.iter().map(|charge| self.shard_of(charge.bucket)).zip(0..).collect();
        order.sort_unstable();
        let mut held = Held { guards: Vec::with_capacity(order.len()), of: vec![0; order.len()] };
        let mut last = None;
        for (shard, charge) in order {
            if last.replace(shard) != Some(shard) {
                held.guards.push(self.lock(shard));
            }
            held.of[charge] = held.guards.len() - 1;
        }
        held
    }

    #[inline]
    fn shard_of(&self, bucket: u64) -> usize {
        bucket.checked_shr(self.shift).unwrap_or(0) as usize
    }

    #[inline]
    fn lock(&self, index: usize) -> MutexGuard<'_, Shard> {
        lock(&self.shards[index].0)
    }
}

/// The shards that a request holds.
struct Held<'a> {
    guards: Vec<MutexGuard<'a, Shard>>,
    /// For each charge, which of the guards is its shard's.
    of: Vec<usize>,
}

impl Held<'_> {
    /// The shard of the charge at this index.
    #[inline]
    fn shard(&mut self, index: usize) -> &mut Shard {
        &mut self.guards[self.of[index]]
    }
}

/// The charges with those to the same bucket made one, since a charge of their sum is the same as
/// all of them in turn; and for each charge, which of these it became.
fn merge_same<'a>(charges: &[Charge<'a>]) -> (Vec<Charge<'a>>, Vec<usize>) {
    let mut distinct: Vec<Charge<'a>> = Vec::with_capacity(charges.len());
    let mut owner = Vec::with_capacity(charges.len());
    for charge in charges {
        match distinct.iter().position(|known| known.bucket == charge.bucket) {
            Some(index) => {
                distinct[index].cost = distinct[index].cost.saturating_add(charge.cost);
                owner.push(index);
            }
            None => {
                owner.push(distinct.len());
                distinct.push(*charge);
            }
        }
    }
    (distinct, owner)
}
