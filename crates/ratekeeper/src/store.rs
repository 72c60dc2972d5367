//! The one atomic step: charge all buckets of a request, or none.
//!
//! A store makes the algorithms atomic and knows nothing else about them. Invariant: if one bucket
//! of a request refuses, no bucket of it changes.

pub(crate) mod memory;

use crate::algorithm::bucket::Bucket;
use crate::algorithm::fixed_window::FixedWindow;
use crate::algorithm::sliding_counter::SlidingCounter;
use crate::algorithm::sliding_log::SlidingLog;
use crate::algorithm::{Algorithm, Verdict};
use crate::decision::{Decision, Source};
use crate::limit::Rate;

/// One bucket of a request, and what to charge it.
#[derive(Clone, Copy)]
pub(crate) struct Charge<'a> {
    meter: &'a Meter,
    /// The key's fingerprint under this meter.
    bucket: u64,
    cost: u64,
}

impl<'a> Charge<'a> {
    #[inline]
    pub(crate) fn new(meter: &'a Meter, fingerprint: u64, cost: u64) -> Charge<'a> {
        Charge { meter, bucket: fingerprint ^ meter.salt, cost }
    }

    /// The same charge to the bucket that newcomers to a full store share.
    fn shared(&self) -> Charge<'a> {
        Charge { bucket: self.meter.salt, ..*self }
    }

    #[inline]
    fn decision(&self, verdict: Verdict, source: Source) -> Decision {
        Decision { verdict, limit: self.meter.shown, source }
    }
}

/// The algorithm of one limit of one rule, ready to run.
#[derive(Debug)]
pub(crate) struct Meter {
    kind: Kind,
    /// The number that callers are shown as the limit.
    shown: u64,
    /// Tells this meter's buckets from those of others for the same key.
    salt: u64,
}

#[derive(Debug)]
enum Kind {
    Fixed(FixedWindow),
    Log(SlidingLog),
    Counter(SlidingCounter),
    Bucket(Bucket),
}

impl Meter {
    /// `None` only beyond the bounds that every [`Limit`](crate::Limit) keeps.
    pub(crate) fn new(rate: Rate, salt: u64) -> Option<Meter> {
        let Rate { amount, period, burst, algorithm } = rate;
        let kind = match algorithm {
            Algorithm::FixedWindow => Kind::Fixed(FixedWindow::new(amount, period)?),
            Algorithm::SlidingWindowLog => Kind::Log(SlidingLog::new(amount, period)?),
            Algorithm::SlidingWindowCounter => Kind::Counter(SlidingCounter::new(amount, period)?),
            Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                Kind::Bucket(Bucket::new(amount, period, burst)?)
            }
        };
        Some(Meter { kind, shown: burst.get(), salt })
    }
}
