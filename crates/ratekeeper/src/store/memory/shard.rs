//! One shard: the buckets of one part of all keys.
//!
//! A bucket that is there is charged under the lock of its line. Everything that adds or removes
//! holds the shard's book, one at a time. Invariants: whatever the shard holds was taken from the
//! store's budget; nobody waits for a book while holding a line.

use super::super::{Charge, Kind};
use super::MemoryStats;
use super::arrivals::{Narrow, Turn};
use super::budget::Budget;
use super::logs::At;
use super::place::Book;
use super::slots::{OneWord, TwoWords};
use super::words::Words;
use crate::algorithm::Verdict;
use crate::algorithm::bucket::Arrival;
use crate::algorithm::sliding_log::SlidingLog;
use crate::sync::{AtomicU64, Mutex, MutexGuard, lock};
use std::sync::Arc;

pub(super) struct Shard {
    pub(super) one: OneWord,
    pub(super) two: TwoWords,
    /// Most buckets of its tables, whatever the budget says.
    pub(super) most: usize,
    pub(super) budget: Arc<Budget>,
    book: Mutex<Book>,
}

/// Does one thing with the algorithm of a charge and what stands for its buckets, which is one
/// thing for buckets of one word and another for those of two.
macro_rules! with_words {
    // A state that is an arrival takes one word or two.
    (@arrival $algorithm:expr, $one:expr, $two:expr, |$table:ident, $sized:ident| $on_words:expr) => {
        match Narrow::new($algorithm) {
            Ok($sized) => {
                let $table = $one;
                $on_words
            }
            Err($sized) => {
                let $table = $two;
                $on_words
            }
        }
    };
    (
        $charge:expr, $one:expr, $two:expr,
        $log:ident => $on_log:expr, |$table:ident, $algorithm:ident| $on_words:expr
    ) => {
        match &$charge.meter.kind {
            Kind::Bucket(bucket) => {
                with_words!(@arrival bucket, $one, $two, |$table, $algorithm| $on_words)
            }
            Kind::Shaping(shaping) => {
                let turn = Turn { shaping, until: $charge.until };
                with_words!(@arrival turn, $one, $two, |$table, $algorithm| $on_words)
            }
            Kind::Concurrency($algorithm) => {
                let $table = $one;
                $on_words
            }
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

    /// The same, unless somebody else does so now.
    pub(super) fn try_book(&self) -> Option<MutexGuard<'_, Book>> {
        self.book.try_lock().ok()
    }

    /// Charges a bucket. `None`, and nothing done, if it is new and there is no room for it.
    #[inline]
    pub(super) fn charge(&self, now: u64, charge: &Charge<'_>) -> Option<Verdict> {
        with_words!(charge, &self.one, &self.two,
        log => self.charge_log(log, now, charge),
        |slots, algorithm| {
            let Some(mut held) = slots.hold(charge.bucket) else {
                return self.charge_new(now, charge);
            };
            let (verdict, words) = algorithm.charge_words(held.words(), now, charge.cost);
            if verdict.retry_after.ticks().is_some() {
                held.note_refusal();
            } else if verdict.allowed() && charge.cost > 0 {
                held.write(words, algorithm.stays(&verdict));
            }
            Some(verdict)
        })
    }

    /// Charges a queue, and if it admits, says when the charge will have drained. `None`, and nothing
    /// done, if it is new and there is no room for it.
    pub(super) fn charge_turn(
        &self,
        now: u64,
        charge: &Charge<'_>,
    ) -> Option<(Verdict, Option<Arrival>)> {
        let (bucket, cost) = (charge.bucket, charge.cost);
        with_words!(charge, &self.one, &self.two,
        _log => None,
        |slots, algorithm| {
            let (mut held, mut book) = (slots.hold(bucket), None);
            if held.is_none() {
                book = Some(self.book());
                held = slots.hold(bucket);
            }
            if let Some(book) = book.as_mut().filter(|_| held.is_none()) {
                let (verdict, _) = algorithm.charge_words(Default::default(), now, cost);
                if !verdict.allowed() || cost == 0 {
                    return Some((verdict, None));
                }
                // The book is open until it was charged: before that, others could take its place.
                if !self.place(book, now, charge, &[bucket]) {
                    return None;
                }
                held = slots.hold(bucket);
            }
            let mut held = held?;
            let (verdict, words) = algorithm.charge_words(held.words(), now, cost);
            if !verdict.allowed() || cost == 0 {
                return Some((verdict, None));
            }
            held.write(words, algorithm.stays(&verdict));
            Some((verdict, Some(algorithm.stamp(words).into())))
        })
    }

    /// Takes units of a bucket that gives permits, if it is here.
    #[inline]
    pub(super) fn acquire(&self, charge: &Charge<'_>) -> Option<Verdict> {
        let Kind::Concurrency(concurrency) = &charge.meter.kind else { return None };
        let mut held = self.one.hold(charge.bucket)?;
        let (verdict, words) = concurrency.charge_words(held.words(), 0, charge.cost);
        if verdict.allowed() {
            held.write(words, true);
        }
        Some(verdict)
    }

    /// What a charge would say; writes nothing.
    pub(super) fn check(&self, book: &Book, now: u64, charge: &Charge<'_>) -> Verdict {
        with_words!(charge, &self.one, &self.two,
            log => book.logs.check(log, charge.bucket, now, charge.cost),
            |slots, algorithm| algorithm.charge_words(slots.words(charge.bucket), now, charge.cost).0)
    }

    /// Notes that somebody was refused here, so that the bucket stays; its state is as it was.
    pub(super) fn note_refusal(&self, book: &mut Book, charge: &Charge<'_>) {
        with_words!(charge, &self.one, &self.two,
        _log => book.logs.note_refusal(charge.bucket),
        |slots, _algorithm| if let Some(mut held) = slots.hold(charge.bucket) {
            held.note_refusal();
        });
    }

    /// Where looking for a bucket begins in memory.
    #[inline]
    pub(super) fn first_tag(&self, charge: &Charge<'_>) -> Option<&AtomicU64> {
        with_words!(charge, &self.one, &self.two,
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
        } else if !verdict.allowed() {
            book.logs.note_refusal(bucket);
        }
        Some(verdict)
    }
}
