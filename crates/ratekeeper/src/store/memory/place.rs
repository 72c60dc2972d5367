//! A place in the shard: for newcomers, of which others may have to give way, and for logs that grow.
//!
//! Everything here is for who holds the shard's book. Invariants: nothing is added before its weight
//! was taken from the budget, and the weight of whatever goes is given back; a bucket that was spent
//! does not give way before it is whole again.

use super::super::{Charge, Kind};
use super::MemoryStats;
use super::arrivals::{Narrow, Turn};
use super::logs::{At, Logs, NEW_WEIGHT};
use super::shard::{Shard, with_words};
use super::words::whole_at;
use crate::algorithm::bucket::Bucket;
use crate::algorithm::sliding_log::SlidingLog;

/// What the shard holds, and has done. The sliding logs are in it themselves.
#[derive(Default)]
pub(super) struct Book {
    pub(super) one: Count,
    pub(super) two: Count,
    pub(super) logs: Logs,
    pub(super) stats: MemoryStats,
}

/// How many buckets a table holds.
#[derive(Default)]
pub(super) struct Count(pub(super) usize);

impl Count {
    /// One more, and as many fewer as adding it dropped.
    pub(super) fn grow(&mut self, add: impl FnOnce(usize) -> usize) -> usize {
        let dropped = add(self.0);
        self.0 = self.0 + 1 - dropped;
        dropped
    }

    /// One fewer, if it is gone.
    fn shrink(&mut self, gone: bool) -> bool {
        self.0 -= usize::from(gone);
        gone
    }
}

/// Which table holds a bucket that is not a log.
enum Width {
    One,
    Two,
}

impl Width {
    fn of(charge: &Charge<'_>) -> Width {
        match &charge.meter.kind {
            Kind::Bucket(bucket) => Width::of_rate(bucket),
            Kind::Shaping(shaping) => Width::of_rate(shaping.bucket()),
            Kind::Concurrency(_) => Width::One,
            _ => Width::Two,
        }
    }
}

impl Width {
    fn of_rate(bucket: &Bucket) -> Width {
        if Narrow::new(bucket).is_ok() { Width::One } else { Width::Two }
    }
}

impl Shard {
    /// Makes sure that the bucket has a place, without charging it; `false` if there is none.
    /// Buckets in `mine` do not give way.
    pub(super) fn place(
        &self,
        book: &mut Book,
        now: u64,
        charge: &Charge<'_>,
        mine: &[u64],
    ) -> bool {
        let bucket = charge.bucket;
        if let Kind::Log(log) = &charge.meter.kind {
            return self.place_log(book, log, now, bucket, mine);
        }
        let (present, reused) = with_words!(charge, &self.one, &self.two,
        _log => (true, false),
        |slots, _algorithm| match slots.contains(bucket) {
            true => (true, false),
            false => (false, slots.reuse(now, bucket, mine)),
        });
        if present {
            return true;
        }
        // A table that is full although the store is not holds more than its share by far.
        let full = match Width::of(charge) {
            Width::One => book.one.0 >= self.most,
            Width::Two => book.two.0 >= self.most,
        };
        if !reused && (full || !self.make_room(book, now, 1, bucket, mine)) {
            return false;
        }
        let dropped = match Width::of(charge) {
            _ if reused => 1,
            Width::One => book.one.grow(|len| self.one.add(now, bucket, mine, len)),
            Width::Two => book.two.grow(|len| self.two.add(now, bucket, mine, len)),
        };
        // Reusing a slot takes nothing and gives nothing back.
        self.budget.give(if reused { 0 } else { dropped });
        book.stats.expired += dropped as u64;
        book.stats.created += 1;
        true
    }

    /// The same for a log; and for its next entry, unless there is no room for that: then the log
    /// will take it into its newest one.
    pub(super) fn place_log(
        &self,
        book: &mut Book,
        log: &SlidingLog,
        now: u64,
        bucket: u64,
        mine: &[u64],
    ) -> bool {
        if !book.logs.contains(bucket) {
            if !self.make_room(book, now, NEW_WEIGHT, bucket, mine) {
                return false;
            }
            let expired = self.weigh(book, NEW_WEIGHT, |logs| logs.add(now, bucket, mine));
            book.stats.expired += expired as u64;
            book.stats.created += 1;
        }
        // Nobody gives way so that a log can grow.
        let growth = self.weigh(book, 0, |logs| logs.growth(log, bucket, now));
        if growth > 0 && self.budget.take(growth) {
            self.weigh(book, growth, |logs| logs.grow(bucket));
        }
        true
    }

    /// Enters an admitted cost into a log that has its place.
    pub(super) fn record(&self, book: &mut Book, log: &SlidingLog, bucket: u64, at: At) {
        self.weigh(book, 0, |logs| logs.record(log, bucket, at));
    }

    /// Changes the logs, and corrects the budget, of which `taken` was taken for it.
    pub(super) fn weigh<R>(
        &self,
        book: &mut Book,
        taken: usize,
        change: impl FnOnce(&mut Logs) -> R,
    ) -> R {
        let before = book.logs.weight();
        let done = change(&mut book.logs);
        self.budget.settle(taken, before, book.logs.weight());
        done
    }

    /// Forgets a bucket.
    pub(super) fn remove(&self, charge: &Charge<'_>) {
        let (bucket, mut book) = (charge.bucket, self.book());
        let gone = match Width::of(charge) {
            _ if matches!(charge.meter.kind, Kind::Log(_)) => {
                return self.weigh(&mut book, 0, |logs| logs.remove(bucket));
            }
            Width::One => book.one.shrink(self.one.remove(bucket)),
            Width::Two => book.two.shrink(self.two.remove(bucket)),
        };
        self.budget.give(usize::from(gone));
    }

    /// Takes `weight` from the budget, and lets others go until there is as much, those nearest to
    /// whole first; `false`, and nothing taken, if too few may go.
    fn make_room(
        &self,
        book: &mut Book,
        now: u64,
        weight: usize,
        bucket: u64,
        mine: &[u64],
    ) -> bool {
        while !self.budget.take(weight) {
            if !self.let_go(book, now, bucket, mine) {
                return false;
            }
        }
        true
    }

    /// Lets one bucket near `bucket` go, the one nearest to whole; `false` if none may. One that was
    /// charged in the meantime stays, and counts as gone: the caller tries again.
    pub(super) fn let_go(&self, book: &mut Book, now: u64, bucket: u64, mine: &[u64]) -> bool {
        let one = self.one.victim(now, bucket, mine);
        let two = self.two.victim(now, bucket, mine);
        let log = book.logs.victim(now, bucket, mine);
        let times = [
            one.map(|(_, seen)| whole_at(seen.words[0])),
            two.map(|(_, seen)| whole_at(seen.words[0])),
            log.map(|(_, whole_at)| whole_at),
        ];
        let Some(first) = times.into_iter().flatten().min() else { return false };
        let gone = match (one, two, log) {
            (Some(victim), ..) if times[0] == Some(first) => {
                book.one.shrink(self.one.evict(victim))
            }
            (_, Some(victim), _) if times[1] == Some(first) => {
                book.two.shrink(self.two.evict(victim))
            }
            (.., Some((victim, _))) => {
                self.weigh(book, 0, |logs| logs.remove(victim));
                book.stats.note(first <= now);
                return true;
            }
            _ => return false,
        };
        if gone {
            self.budget.give(1);
            book.stats.note(first <= now);
        }
        true
    }
}

impl MemoryStats {
    /// A bucket gave way, being whole again or not.
    fn note(&mut self, whole: bool) {
        *if whole { &mut self.expired } else { &mut self.evicted } += 1;
    }
}
