//! One shard: the buckets of one part of all keys.
//!
//! A bucket that is there is charged under the lock of its line. Everything that adds or removes
//! holds the shard's book, one at a time. Invariants: whatever the shard holds was taken from the
//! store's budget; nobody waits for a book while holding a line.

use super::super::{Charge, Kind};
use super::MemoryStats;
use super::budget::Budget;
use super::logs::{At, Logs, NEW_WEIGHT};
use super::slots::{OneWord, TwoWords};
use super::words::{Narrow, Words, whole_at};
use crate::algorithm::Verdict;
use crate::algorithm::sliding_log::SlidingLog;
use crate::sync::{AtomicU64, Mutex, MutexGuard, lock};
use std::sync::Arc;

pub(super) struct Shard {
    pub(super) one: OneWord,
    pub(super) two: TwoWords,
    /// Most buckets of its tables, whatever the budget says.
    most: usize,
    budget: Arc<Budget>,
    book: Mutex<Book>,
}

/// What the shard holds, and has done. The sliding logs are in it themselves.
#[derive(Default)]
pub(super) struct Book {
    one: Count,
    two: Count,
    pub(super) logs: Logs,
    stats: MemoryStats,
}

/// How many buckets a table holds.
#[derive(Default)]
struct Count(usize);

impl Count {
    /// One more, and as many fewer as adding it dropped.
    fn grow(&mut self, add: impl FnOnce(usize) -> usize) -> usize {
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
            Kind::Bucket(bucket) if Narrow::new(bucket).is_some() => Width::One,
            _ => Width::Two,
        }
    }
}

/// Does one thing with the algorithm of a charge and what stands for its buckets, which is one
/// thing for buckets of one word and another for those of two.
macro_rules! with_words {
    ($kind:expr, $one:expr, $two:expr, $log:ident => $on_log:expr, |$table:ident, $algorithm:ident| $on_words:expr) => {
        match $kind {
            Kind::Bucket(bucket) => match Narrow::new(bucket) {
                Some($algorithm) => {
                    let $table = $one;
                    $on_words
                }
                None => {
                    let ($table, $algorithm) = ($two, bucket);
                    $on_words
                }
            },
            Kind::Fixed($algorithm) => {
                let $table = $two;
                $on_words
            }
            Kind::Counter($algorithm) => {
                let $table = $two;
                $on_words
            }
            Kind::Log($log) => $on_log,
        }
    };
}
pub(super) use with_words;

impl Shard {
    pub(super) fn new(most: usize, budget: Arc<Budget>) -> Shard {
        let (one, two) = (OneWord::new(most), TwoWords::new(most));
        Shard { one, two, most, budget, book: Mutex::new(Book::default()) }
    }

    /// Keeps others from adding and removing.
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.book)
    }

    /// Charges a bucket. `None`, and nothing done, if it is new and there is no room for it.
    #[inline]
    pub(super) fn charge(&self, now: u64, charge: &Charge<'_>) -> Option<Verdict> {
        with_words!(&charge.meter.kind, &self.one, &self.two,
        log => self.charge_log(log, now, charge),
        |slots, algorithm| {
            let Some(mut held) = slots.hold(charge.bucket) else {
                return self.charge_new(now, charge);
            };
            let (verdict, words) = algorithm.charge_words(held.words(), now, charge.cost);
            if verdict.allowed() && charge.cost > 0 {
                held.write(words, verdict.remaining == 0);
            }
            Some(verdict)
        })
    }

    /// What a charge would say; writes nothing.
    pub(super) fn check(&self, book: &Book, now: u64, charge: &Charge<'_>) -> Verdict {
        with_words!(&charge.meter.kind, &self.one, &self.two,
            log => book.logs.check(log, charge.bucket, now, charge.cost),
            |slots, algorithm| algorithm.charge_words(slots.words(charge.bucket), now, charge.cost).0)
    }

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
        let (present, reused) = with_words!(&charge.meter.kind, &self.one, &self.two,
        _log => (true, false),
        |slots, _algorithm| match slots.contains(bucket) {
            true => (true, false),
            false => (false, slots.reuse(now, bucket, mine)),
        });
        if present {
            return true;
        }
        if !reused && !self.make_room(book, now, 1, bucket, mine) {
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
    fn place_log(
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
        let growth = self.weigh(book, 0, |logs| logs.growth(log, bucket, now));
        if growth > 0 && self.make_room(book, now, growth, bucket, mine) {
            self.weigh(book, growth, |logs| logs.grow(bucket));
        }
        true
    }

    /// Enters an admitted cost into a log that has its place.
    pub(super) fn record(&self, book: &mut Book, log: &SlidingLog, bucket: u64, at: At) {
        self.weigh(book, 0, |logs| logs.record(log, bucket, at));
    }

    /// Changes the logs, and corrects the budget, of which `taken` was taken for it.
    fn weigh<R>(&self, book: &mut Book, taken: usize, change: impl FnOnce(&mut Logs) -> R) -> R {
        let before = book.logs.weight();
        let done = change(&mut book.logs);
        self.budget.settle(taken, before, book.logs.weight());
        done
    }

    /// Gives units back to a bucket, if there is one.
    pub(super) fn refund(&self, now: u64, charge: &Charge<'_>) -> Verdict {
        with_words!(&charge.meter.kind, &self.one, &self.two,
        log => self.book().logs.refund(log, charge.bucket, now, charge.cost),
        |slots, algorithm| match slots.hold(charge.bucket) {
            Some(mut held) => {
                let (verdict, words) = algorithm.refund_words(held.words(), now, charge.cost);
                held.write(words, verdict.remaining == 0);
                verdict
            }
            None => algorithm.charge_words(Default::default(), now, 0).0,
        })
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

    /// Where looking for a bucket begins in memory.
    #[inline]
    pub(super) fn first_tag(&self, charge: &Charge<'_>) -> Option<&AtomicU64> {
        with_words!(&charge.meter.kind, &self.one, &self.two,
            _log => None,
            |slots, _algorithm| slots.first_tag(charge.bucket))
    }

    pub(super) fn add_stats(&self, sum: &mut MemoryStats) {
        let book = self.book();
        sum.keys += (book.one.0 + book.two.0 + book.logs.len()) as u64;
        sum.bytes +=
            (size_of::<Shard>() + self.one.bytes() + self.two.bytes() + book.logs.bytes()) as u64;
        sum.created += book.stats.created;
        sum.expired += book.stats.expired;
        sum.evicted += book.stats.evicted;
    }

    #[cold]
    #[inline(never)]
    fn charge_new(&self, now: u64, charge: &Charge<'_>) -> Option<Verdict> {
        let mut book = self.book();
        let verdict = self.check(&book, now, charge);
        if !verdict.allowed() || charge.cost == 0 {
            return Some(verdict);
        }
        if self.place(&mut book, now, charge, &[charge.bucket]) {
            self.charge(now, charge)
        } else {
            None
        }
    }

    /// Charges a log, which is in the book.
    fn charge_log(&self, log: &SlidingLog, now: u64, charge: &Charge<'_>) -> Option<Verdict> {
        let (bucket, cost, mut book) = (charge.bucket, charge.cost, self.book());
        let verdict = book.logs.check(log, bucket, now, cost);
        if verdict.allowed() && cost > 0 {
            if !self.place_log(&mut book, log, now, bucket, &[bucket]) {
                return None;
            }
            self.record(&mut book, log, bucket, At { now, cost, verdict });
        }
        Some(verdict)
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
        while book.one.0.max(book.two.0) >= self.most || !self.budget.take(weight) {
            let one = self.one.victim(now, bucket, mine);
            let two = self.two.victim(now, bucket, mine);
            let log = book.logs.victim(now, bucket, mine);
            let times = [
                one.map(|(_, seen)| whole_at(seen.words[0])),
                two.map(|(_, seen)| whole_at(seen.words[0])),
                log.map(|(_, whole_at)| whole_at),
            ];
            let Some(first) = times.into_iter().flatten().min() else { return false };
            // A slot that was charged in the meantime stays; the search goes on.
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
                    continue;
                }
                _ => false,
            };
            if gone {
                self.budget.give(1);
                book.stats.note(first <= now);
            }
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
