//! What a bucket in memory holds, for people who look on.
//!
//! Invariant: nothing is written, and no bucket is made.

use super::super::{Charge, Contents, Kind};
use super::Memory;
use super::arrivals::Narrow;
use super::shard::Shard;
use super::words::{Packed, Words, unpack_held};
use crate::algorithm::bucket::{Arrival, Bucket};

impl Memory {
    /// What a bucket holds now.
    pub(crate) fn look(&self, now: u64, charge: &Charge<'_>) -> Contents {
        self.shard(charge).look(now, charge)
    }
}

impl Shard {
    fn look(&self, now: u64, charge: &Charge<'_>) -> Contents {
        // Nothing moves while the book is open.
        let (book, bucket) = (self.book(), charge.bucket);
        match &charge.meter.kind {
            Kind::Bucket(rate) => Contents::Arrival(self.arrival(rate, bucket)),
            Kind::Shaping(shaping) => Contents::Arrival(self.arrival(shaping.bucket(), bucket)),
            Kind::Concurrency(_) => Contents::Permits(unpack_held(self.one.words(bucket))),
            Kind::Fixed(window) => {
                let state = (&window).unpack(self.two.words(bucket));
                Contents::window(window, state, now)
            }
            Kind::Counter(counter) => {
                let state = (&counter).unpack(self.two.words(bucket));
                Contents::windows(counter, state, now)
            }
            Kind::Log(log) => Contents::Log(book.logs.entries(bucket, now, Some(log.period()))),
        }
    }

    fn arrival(&self, rate: &Bucket, bucket: u64) -> Arrival {
        match Narrow::new(rate) {
            Ok(narrow) => narrow.stamp(self.one.words(bucket)).into(),
            Err(wide) => Words::stamp(&wide, self.two.words(bucket)).into(),
        }
    }
}
