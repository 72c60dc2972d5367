//! One shard: the buckets of one part of all keys, under one lock and within one quota.
//!
//! Invariant: what the shard holds never weighs more than its quota. A key weighs 1; a log also
//! weighs 1 for every 16 bytes of its entries, so that logs count against the cap like slots.

use super::super::{Charge, Kind};
use super::MemoryStats;
use super::logs::{At, Logs, NEW_WEIGHT};
use super::slots::{OneWord, TwoWords};
use super::words::{Narrow, Words};
use crate::algorithm::Verdict;
use crate::algorithm::sliding_log::SlidingLog;

pub(super) struct Shard {
    one: OneWord,
    two: TwoWords,
    logs: Logs,
    quota: usize,
    created: u64,
    expired: u64,
    evicted: u64,
    overflowed: u64,
}

/// Calls one function with the table and the algorithm of a charge, whatever its words.
macro_rules! with_words {
    ($shard:expr, $kind:expr, $log:ident => $on_log:expr, |$slots:ident, $algorithm:ident| $on_words:expr) => {
        match $kind {
            Kind::Log($log) => $on_log,
            Kind::Bucket(bucket) => match Narrow::new(bucket) {
                Some($algorithm) => {
                    let ($slots, $algorithm) = (&mut $shard.one, &$algorithm);
                    $on_words
                }
                None => {
                    let ($slots, $algorithm) = (&mut $shard.two, bucket);
                    $on_words
                }
            },
            Kind::Fixed($algorithm) => {
                let $slots = &mut $shard.two;
                $on_words
            }
            Kind::Counter($algorithm) => {
                let $slots = &mut $shard.two;
                $on_words
            }
        }
    };
}

impl Shard {
    pub(super) fn new(quota: usize) -> Shard {
        let (one, two, logs) = (OneWord::new(), TwoWords::new(), Logs::default());
        Shard { one, two, logs, quota, created: 0, expired: 0, evicted: 0, overflowed: 0 }
    }

    /// Charges a bucket. `None`, and nothing done, if it is new and there is no room for it.
    #[inline]
    pub(super) fn charge(&mut self, now: u64, charge: &Charge<'_>) -> Option<Verdict> {
        with_words!(self, &charge.meter.kind,
        log => self.charge_log(log, now, charge),
        |slots, algorithm| {
            let Some(slot) = slots.get(charge.bucket) else { return self.charge_new(now, charge) };
            let (verdict, words) = algorithm.charge_words(slot.words(), now, charge.cost);
            if verdict.allowed() && charge.cost > 0 {
                slot.write(words, verdict.remaining == 0);
            }
            Some(verdict)
        })
    }

    /// What a charge would say; writes nothing.
    pub(super) fn check(&mut self, now: u64, charge: &Charge<'_>) -> Verdict {
        with_words!(self, &charge.meter.kind,
        log => self.logs.check(log, charge.bucket, now, charge.cost),
        |slots, algorithm| {
            let words = slots.get(charge.bucket).map_or_else(unused, |slot| slot.words());
            algorithm.charge_words(words, now, charge.cost).0
        })
    }

    /// Charges the bucket that newcomers share. Only the store's overflow shard, which has no quota,
    /// is asked for this.
    pub(super) fn charge_shared(&mut self, now: u64, charge: &Charge<'_>) -> Verdict {
        let shared = charge.shared();
        let verdict = self.charge(now, &shared).unwrap_or_else(|| self.check(now, &shared));
        self.overflowed += u64::from(verdict.allowed() && shared.cost > 0);
        verdict
    }

    /// Makes sure that the bucket has a place, without charging it; `false` if there is none.
    /// Buckets in `mine` do not give way.
    pub(super) fn place(&mut self, now: u64, charge: &Charge<'_>, mine: &[u64]) -> bool {
        let bucket = charge.bucket;
        let (present, reused) = with_words!(self, &charge.meter.kind,
        _log => (self.logs.contains(bucket), false),
        |slots, _algorithm| match slots.find(bucket) {
            Some(_) => (true, false),
            None => (false, slots.reuse(now, bucket, mine)),
        });
        if present {
            return true;
        }
        let weight = if matches!(charge.meter.kind, Kind::Log(_)) { NEW_WEIGHT } else { 1 };
        if !reused && !self.make_room(now, weight, bucket, mine) {
            return false;
        }
        let reclaimed = match reused {
            true => 1,
            false => with_words!(self, &charge.meter.kind,
                _log => self.logs.add(now, bucket, mine),
                |slots, _algorithm| slots.add(now, bucket, mine)),
        };
        self.created += 1;
        self.expired += reclaimed as u64;
        true
    }

    /// Gives units back to a bucket, if there is one.
    pub(super) fn refund(&mut self, now: u64, charge: &Charge<'_>) -> Verdict {
        with_words!(self, &charge.meter.kind,
        log => self.logs.refund(log, charge.bucket, now, charge.cost),
        |slots, algorithm| match slots.get(charge.bucket) {
                Some(slot) => {
                    let (verdict, words) = algorithm.refund_words(slot.words(), now, charge.cost);
                    slot.write(words, verdict.remaining == 0);
                    verdict
                }
                None => algorithm.charge_words(unused(), now, 0).0,
            })
    }

    /// Forgets a bucket.
    pub(super) fn remove(&mut self, charge: &Charge<'_>) {
        with_words!(self, &charge.meter.kind,
        _log => self.logs.remove(charge.bucket),
        |slots, _algorithm| if let Some(index) = slots.find(charge.bucket) {
            slots.remove(index);
        });
    }

    #[inline]
    pub(super) fn touch(&self, charge: &Charge<'_>) -> u64 {
        match &charge.meter.kind {
            Kind::Bucket(bucket) if Narrow::new(bucket).is_some() => self.one.touch(charge.bucket),
            Kind::Log(_) => 0,
            _ => self.two.touch(charge.bucket),
        }
    }

    pub(super) fn add_stats(&self, sum: &mut MemoryStats) {
        sum.keys += (self.one.len() + self.two.len() + self.logs.len()) as u64;
        sum.bytes += (self.one.bytes() + self.two.bytes() + self.logs.bytes()) as u64;
        sum.created += self.created;
        sum.expired += self.expired;
        sum.evicted += self.evicted;
        sum.overflowed += self.overflowed;
    }

    #[cold]
    #[inline(never)]
    fn charge_new(&mut self, now: u64, charge: &Charge<'_>) -> Option<Verdict> {
        let verdict = self.check(now, charge);
        if !verdict.allowed() || charge.cost == 0 {
            return Some(verdict);
        }
        if self.place(now, charge, &[charge.bucket]) { self.charge(now, charge) } else { None }
    }

    /// Lets others go until `weight` fits, those nearest to whole first; `false` if too few may.
    fn make_room(&mut self, now: u64, weight: usize, bucket: u64, mine: &[u64]) -> bool {
        while self.one.len() + self.two.len() + self.logs.weight()
            > self.quota.saturating_sub(weight)
        {
            let one = self.one.victim(now, bucket, mine);
            let two = self.two.victim(now, bucket, mine);
            let log = self.logs.victim(now, bucket, mine);
            let times = [one, two].map(|slot| slot.map(|(_, whole_at)| whole_at));
            let Some(first) =
                times.into_iter().chain([log.map(|(_, whole_at)| whole_at)]).flatten().min()
            else {
                return false;
            };
            match (one, two, log) {
                (Some((index, time)), ..) if time == first => self.one.remove(index),
                (_, Some((index, time)), _) if time == first => self.two.remove(index),
                (.., Some((log, _))) => self.logs.remove(log),
                _ => return false,
            }
            *if first <= now { &mut self.expired } else { &mut self.evicted } += 1;
        }
        true
    }

    fn charge_log(
        &mut self,
        algorithm: &SlidingLog,
        now: u64,
        charge: &Charge<'_>,
    ) -> Option<Verdict> {
        let (bucket, cost) = (charge.bucket, charge.cost);
        if !self.logs.contains(bucket) {
            return self.charge_new(now, charge);
        }
        let verdict = self.logs.check(algorithm, bucket, now, cost);
        if verdict.allowed() && cost > 0 {
            let growth = self.logs.growth(algorithm, bucket, now);
            let may_grow = growth == 0 || self.make_room(now, growth, bucket, &[bucket]);
            self.logs.record(algorithm, bucket, At { now, cost, verdict }, may_grow);
        }
        Some(verdict)
    }
}

/// The state of a bucket that was never used.
fn unused<const N: usize>() -> [u64; N] {
    [0; N]
}
