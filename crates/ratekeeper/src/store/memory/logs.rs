//! The sliding logs of one shard, which are as long as their traffic.
//!
//! Invariant: `weight` is the sum over all logs of 1 and 1 for every 16 bytes of entries, so that a
//! log counts against the store's cap like the slots that would fit its place.

use super::kept::Kept as Stored;
use super::words::Settle;
use crate::algorithm::Verdict;
use crate::algorithm::sliding_log::{Log, SlidingLog};
use std::collections::BTreeMap;

/// Bytes of entries that weigh as much as a key.
const BYTES_PER_WEIGHT: usize = 16;

/// Entries by which a log grows: a quarter, but within these.
const GROWTH_MIN: usize = 4;
const GROWTH_MAX: usize = 64;

/// What a new log weighs.
pub(super) const NEW_WEIGHT: usize = 1 + (GROWTH_MIN * 8).div_ceil(BYTES_PER_WEIGHT);

/// Logs that are looked at for one to give way, or to reclaim, from the newcomer's place on.
const NEIGHBOURS: usize = 8;

#[derive(Default)]
pub(super) struct Logs {
    kept: BTreeMap<u64, Kept>,
    weight: usize,
}

struct Kept {
    log: Log,
    whole_at: u64,
    /// The last charge left nothing or was refused: not to be evicted before it is whole again.
    spent: bool,
}

impl Kept {
    fn weight(&self) -> usize {
        1 + self.log.bytes().div_ceil(BYTES_PER_WEIGHT)
    }

    /// A verdict counts from the newest entry if the clock went back behind it.
    fn note(&mut self, now: u64, verdict: &Verdict) {
        let from = self.log.newest().map_or(now, |newest| now.max(newest));
        (self.whole_at, self.spent) = (from + verdict.reset_after, verdict.remaining == 0);
    }
}

impl Logs {
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    pub(super) fn bytes(&self) -> usize {
        self.kept.values().map(|kept| size_of::<(u64, Kept)>() + kept.log.bytes()).sum()
    }

    pub(super) fn contains(&self, bucket: u64) -> bool {
        self.kept.contains_key(&bucket)
    }

    /// The entries of a log that count, oldest first.
    pub(super) fn entries(&self, bucket: u64, now: u64, period: Option<u64>) -> Vec<(u64, u64)> {
        let entries = self.kept.get(&bucket).into_iter().flat_map(|kept| kept.log.entries());
        entries.filter(|(at, _)| now.saturating_sub(*at) < period.unwrap_or(0)).collect()
    }

    pub(super) fn check(
        &self,
        algorithm: &SlidingLog,
        bucket: u64,
        now: u64,
        cost: u64,
    ) -> Verdict {
        let none = Log::default();
        let log = self.kept.get(&bucket).map_or(&none, |kept| &kept.log);
        algorithm.with_more(algorithm.check(log, now, cost), log, now)
    }

    /// Adds an empty log, and reclaims neighbours that are whole again; returns how many.
    pub(super) fn add(&mut self, now: u64, bucket: u64, mine: &[u64]) -> usize {
        let near = self.kept.range(bucket..).take(NEIGHBOURS);
        let whole: Vec<u64> = near
            .filter(|(at, kept)| kept.whole_at <= now && !mine.contains(at))
            .map(|(at, _)| *at)
            .collect();
        whole.iter().for_each(|at| self.remove(*at));
        let mut log = Log::default();
        log.reserve(GROWTH_MIN);
        let kept = Kept { log, whole_at: now, spent: false };
        self.weight += kept.weight();
        self.kept.insert(bucket, kept);
        whole.len()
    }

    /// Drops the entries that no longer count, and says how much more the log will weigh with
    /// another entry: nothing, while it has space.
    pub(super) fn growth(&mut self, algorithm: &SlidingLog, bucket: u64, now: u64) -> usize {
        let Some(kept) = self.kept.get_mut(&bucket) else { return 0 };
        let before = kept.weight();
        algorithm.prune(&mut kept.log, now);
        kept.log.trim(GROWTH_MAX);
        self.weight -= before - kept.weight();
        if kept.log.is_full() { (growth_of(&kept.log) * 8).div_ceil(BYTES_PER_WEIGHT) } else { 0 }
    }

    /// Makes space for another entry.
    pub(super) fn grow(&mut self, bucket: u64) {
        let Some(kept) = self.kept.get_mut(&bucket) else { return };
        let before = kept.weight();
        kept.log.reserve(growth_of(&kept.log));
        self.weight += kept.weight() - before;
    }

    /// Enters an admitted cost. A log without space takes it into its newest entry, and is then no
    /// longer exact, but never too generous.
    pub(super) fn record(&mut self, algorithm: &SlidingLog, bucket: u64, at: At) {
        let Some(kept) = self.kept.get_mut(&bucket) else { return };
        let before = kept.weight();
        if !(kept.log.is_full() && algorithm.merge(&mut kept.log, at.now, at.cost)) {
            // Costs in the thousands may need up to three entries that nobody paid for.
            kept.log.reserve(SlidingLog::entries_for(at.cost));
            algorithm.record(&mut kept.log, at.now, at.cost);
        }
        kept.note(at.now, &at.verdict);
        self.weight += kept.weight() - before;
    }

    /// Notes that somebody was refused here, so that the log stays.
    pub(super) fn note_refusal(&mut self, bucket: u64) {
        if let Some(kept) = self.kept.get_mut(&bucket) {
            kept.spent = true;
        }
    }

    pub(super) fn refund(
        &mut self,
        algorithm: &SlidingLog,
        bucket: u64,
        now: u64,
        units: u64,
    ) -> Verdict {
        let Some(kept) = self.kept.get_mut(&bucket) else {
            return algorithm.check(&Log::default(), now, 0);
        };
        let verdict = algorithm.refund(&mut kept.log, now, units);
        kept.note(now, &verdict);
        verdict
    }

    pub(super) fn settle(
        &mut self,
        algorithm: &SlidingLog,
        bucket: u64,
        now: u64,
        settle: Settle,
    ) -> Verdict {
        let Some(kept) = self.kept.get_mut(&bucket) else {
            return algorithm.check(&Log::default(), now, 0);
        };
        let before = kept.weight();
        let Settle { stamp, held, actual } = settle;
        let verdict = algorithm.settle(&mut kept.log, now, stamp.tick, held, actual);
        kept.note(now, &verdict);
        // Pruning keeps the space that it empties; entries of an excess may take some.
        self.weight = self.weight + kept.weight() - before;
        verdict
    }

    /// Hands over every log that is not whole yet.
    pub(super) fn each_kept(&self, now: u64, each: &mut impl FnMut(Stored)) {
        for (bucket, Kept { log, whole_at, spent }) in &self.kept {
            if *whole_at > now {
                let (bucket, spent, whole_at) = (*bucket, *spent, *whole_at);
                each(Stored::Log { bucket, spent, whole_at, entries: log.entries().collect() });
            }
        }
    }

    /// Takes a log in, if there is none of its name and `take` finds room for what it weighs.
    pub(super) fn take_in(
        &mut self,
        bucket: u64,
        (log, whole_at, spent): (Log, u64, bool),
        take: impl FnOnce(usize) -> bool,
    ) -> bool {
        let kept = Kept { log, whole_at, spent };
        let weight = kept.weight();
        if self.kept.contains_key(&bucket) || !take(weight) {
            return false;
        }
        self.weight += weight;
        self.kept.insert(bucket, kept);
        true
    }

    /// When the newest entry was made.
    pub(super) fn newest(&self, bucket: u64) -> Option<u64> {
        self.kept.get(&bucket)?.log.newest()
    }

    pub(super) fn remove(&mut self, bucket: u64) {
        if let Some(kept) = self.kept.remove(&bucket) {
            self.weight -= kept.weight();
        }
    }

    /// Of the neighbours, the one nearest to whole, and when it is.
    pub(super) fn victim(&self, now: u64, bucket: u64, mine: &[u64]) -> Option<(u64, u64)> {
        let near = self.kept.range(bucket..).chain(self.kept.range(..bucket)).take(NEIGHBOURS);
        near.filter(|(at, kept)| (!kept.spent || kept.whole_at <= now) && !mine.contains(at))
            .map(|(at, kept)| (*at, kept.whole_at))
            .min_by_key(|(_, whole_at)| *whole_at)
    }
}

/// An admitted charge: when, how much, and what was said of it.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) now: u64,
    pub(super) cost: u64,
    pub(super) verdict: Verdict,
}

fn growth_of(log: &Log) -> usize {
    (log.len() / 4).clamp(GROWTH_MIN, GROWTH_MAX)
}
