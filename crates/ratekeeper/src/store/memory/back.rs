//! What comes back to a bucket: refunds, settled charges, permits, turns that were given up.
//!
//! Invariant: with the book open, not to find a bucket means that there is none; then there is nothing
//! to give back to.

use super::super::{Charge, Kind};
use super::arrivals::{Narrow, Turn};
use super::place::Book;
use super::shard::{Shard, with_words};
use super::slots::Held;
use super::words::{self, Settle, Words};
use crate::algorithm::Verdict;
use crate::algorithm::bucket::Arrival;
use crate::algorithm::sliding_log::SlidingLog;

impl Shard {
    /// Gives units back to a bucket, if there is one. With the book open, not to find it means that
    /// there is none.
    pub(super) fn refund(&self, now: u64, charge: &Charge<'_>) -> Verdict {
        let mut book = self.book();
        with_words!(charge, &self.one, &self.two,
        log => book.logs.refund(log, charge.bucket, now, charge.cost),
        |slots, algorithm| match slots.hold(charge.bucket) {
            Some(mut held) => {
                let (verdict, words) = algorithm.refund_words(held.words(), now, charge.cost);
                held.write(words, algorithm.stays(&verdict));
                verdict
            }
            None => algorithm.charge_words(Default::default(), now, 0).0,
        })
    }

    /// Gives back units that are held. Whoever holds them keeps the bucket here.
    #[inline]
    pub(super) fn release(&self, bucket: u64, units: u64) {
        let give_back = |mut held: Held<'_, 1, 4>| {
            let words = words::released(held.words(), units);
            held.write(words, true);
        };
        match self.one.hold(bucket) {
            Some(held) => give_back(held),
            // Not found while others add or remove: then the book has to be open.
            None => {
                let _book = self.book();
                if let Some(held) = self.one.hold(bucket) {
                    give_back(held);
                }
            }
        }
    }

    /// Moves the end of a line, if its bucket is here.
    pub(super) fn move_end(&self, charge: &Charge<'_>, to: Arrival) {
        let _book = self.book();
        with_words!(charge, &self.one, &self.two,
        _log => {},
        |slots, algorithm| if let Some(mut held) = slots.hold(charge.bucket) {
            let words = algorithm.moved(held.words(), to);
            held.write(words, true);
        });
    }

    /// Settles a charge. Of a bucket that is gone nothing can be given back; what was used beyond is
    /// charged, if there is room.
    pub(super) fn settle(&self, now: u64, charge: &Charge<'_>, settle: Settle) -> Verdict {
        let mut book = self.book();
        let bucket = charge.bucket;
        with_words!(charge, &self.one, &self.two,
        log => self.settle_log(&mut book, log, now, charge, settle),
        |slots, algorithm| {
            if settle.actual > settle.held && !slots.contains(bucket) {
                self.place(&mut book, now, charge, &[bucket]);
            }
            let Some(mut held) = slots.hold(bucket) else {
                return algorithm.charge_words(Default::default(), now, 0).0;
            };
            let (verdict, words) = algorithm.settle_words(held.words(), now, settle);
            held.write(words, algorithm.stays(&verdict));
            verdict
        })
    }

    fn settle_log(
        &self,
        book: &mut Book,
        log: &SlidingLog,
        now: u64,
        charge: &Charge<'_>,
        settle: Settle,
    ) -> Verdict {
        if settle.actual > settle.held {
            self.place_log(book, log, now, charge.bucket, &[charge.bucket]);
        }
        self.weigh(book, 0, |logs| logs.settle(log, charge.bucket, now, settle))
    }
}
