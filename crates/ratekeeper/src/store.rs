//! The one atomic step: charge all buckets of a request, or none.
//!
//! A store makes the algorithms atomic and knows nothing else about them. Invariant: if one bucket
//! of a request refuses, no bucket of it changes.

mod contents;
#[cfg(feature = "redis")]
pub(crate) mod denied;
mod former;
#[cfg(feature = "redis")]
mod guard;
#[cfg(feature = "redis")]
pub(crate) mod lease;
pub(crate) mod memory;
#[cfg(feature = "redis")]
mod near;
mod receipt;
#[cfg(feature = "redis")]
pub(crate) mod redis;

use crate::algorithm::bucket::Bucket;
use crate::algorithm::concurrency::Concurrency;
use crate::algorithm::fixed_window::FixedWindow;
use crate::algorithm::shaping::Shaping;
use crate::algorithm::sliding_counter::SlidingCounter;
use crate::algorithm::sliding_log::SlidingLog;
use crate::algorithm::{Algorithm, Verdict};
use crate::decision::{Decision, Source};
use crate::limit::{Concurrent, Mode, Rate, Shape};
pub(crate) use contents::Contents;
use former::Former;
pub(crate) use receipt::{Receipt, Stamp};

/// One bucket of a request, and what to charge it.
#[derive(Clone, Copy)]
pub(crate) struct Charge<'a> {
    meter: &'a Meter,
    /// The key's fingerprint under this meter.
    bucket: u64,
    cost: u64,
    /// The last tick at which the caller would have its turn.
    until: u64,
}

impl<'a> Charge<'a> {
    #[inline]
    pub(crate) fn new(meter: &'a Meter, fingerprint: u64, cost: u64) -> Charge<'a> {
        Charge { meter, bucket: fingerprint ^ meter.salt, cost, until: u64::MAX }
    }

    /// The same charge for a caller who waits no longer than until then.
    pub(crate) fn until(self, until: u64) -> Charge<'a> {
        Charge { until, ..self }
    }

    /// The name of the bucket in the store.
    pub(crate) fn bucket(&self) -> u64 {
        self.bucket
    }

    /// Units to charge.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    /// The meter's; see [`Meter::log_period`].
    #[cfg(feature = "redis")]
    pub(crate) fn log_period(&self) -> Option<u64> {
        self.meter.log_period()
    }

    /// The most that the limit admits at once.
    #[cfg(feature = "redis")]
    pub(crate) fn shown(&self) -> u64 {
        self.meter.shown
    }

    /// Ticks to the edge of the window at a time; `None` if there are no windows.
    #[cfg(feature = "redis")]
    pub(crate) fn edge(&self, now: u64) -> Option<u64> {
        let period = match &self.meter.kind {
            Kind::Fixed(window) => window.period(),
            Kind::Counter(counter) => counter.period(),
            _ => return None,
        };
        Some(period - now % period)
    }

    /// The meter's; see [`Meter::pace`].
    pub(crate) fn pace(&self) -> Option<&'a Bucket> {
        self.meter.pace()
    }

    /// The meter's; see [`Meter::hold`].
    pub(crate) fn hold(&self) -> Option<u64> {
        self.meter.hold()
    }

    /// Whether newcomers to a full store may share a bucket: neither permits nor limits of the caller's own are shared.
    fn is_shareable(&self) -> bool {
        self.hold().is_none() && !self.meter.given
    }

    /// A look at the same bucket, which charges nothing.
    pub(crate) fn peek(&self) -> Charge<'a> {
        self.for_units(0)
    }

    /// The same for another cost.
    pub(crate) fn for_units(&self, cost: u64) -> Charge<'a> {
        Charge { cost, ..*self }
    }

    /// The same charge to the bucket that newcomers to a full store share.
    fn shared(&self) -> Charge<'a> {
        Charge { bucket: self.meter.salt, ..*self }
    }

    /// No, and nobody knows for how long: what the bucket holds cannot be read.
    #[cfg(feature = "redis")]
    pub(crate) fn refused(&self) -> Decision {
        self.decision(redis::NOT_OURS, Source::Store)
    }

    /// Tells the meter from others that a name may have stood for.
    #[cfg(feature = "redis")]
    pub(crate) fn mark(&self) -> u64 {
        self.meter.name as u64
    }

    #[inline]
    pub(crate) fn decision(&self, verdict: Verdict, source: Source) -> Decision {
        let (limit, shapes) = (self.meter.shown, self.meter.pace().is_some());
        Decision { verdict, limit, source, shapes, atomic: true, permit: None }
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
    /// Ticks that a permit with an identity is held; 0 if there are none.
    hold: u64,
    /// Tells this meter's buckets from others in a store that is shared; 0 if it is not.
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "only a shared store has names")
    )]
    name: u128,
    /// Under which rates what is used now may still be kept, the latest first.
    former: Vec<Former>,
    /// Whether it came with the question: there may be any number of such, so they have no bucket that newcomers to a
    /// full store share.
    given: bool,
}

#[derive(Debug)]
enum Kind {
    Fixed(FixedWindow),
    Log(SlidingLog),
    Counter(SlidingCounter),
    Bucket(Bucket),
    Shaping(Shaping),
    Concurrency(Concurrency),
}

impl Meter {
    /// The same of a rule that came with the question.
    pub(crate) fn given(self) -> Meter {
        Meter { given: true, ..self }
    }

    /// `None` for what is unlimited; and beyond the bounds that every [`Limit`](crate::Limit) keeps.
    pub(crate) fn new(shape: Shape, salt: u64, name: u128) -> Option<Meter> {
        match shape {
            Shape::Unlimited => None,
            Shape::Rate(rate) => Meter::rate(rate, salt, name),
            Shape::Concurrent(Concurrent { amount, hold }) => {
                let kind = Kind::Concurrency(Concurrency::new(amount)?);
                Some(Meter {
                    kind,
                    shown: amount.get(),
                    salt,
                    hold,
                    name,
                    former: Vec::new(),
                    given: false,
                })
            }
        }
    }

    fn rate(rate: Rate, salt: u64, name: u128) -> Option<Meter> {
        let Rate { amount, period, burst, algorithm, mode } = rate;
        let kind = match algorithm {
            Algorithm::FixedWindow => Kind::Fixed(FixedWindow::new(amount, period)?),
            Algorithm::SlidingWindowLog => Kind::Log(SlidingLog::new(amount, period)?),
            Algorithm::SlidingWindowCounter => Kind::Counter(SlidingCounter::new(amount, period)?),
            Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                let bucket = Bucket::new(amount, period, burst)?;
                match mode {
                    Mode::Policing => Kind::Bucket(bucket),
                    Mode::Shaping { max_wait } => {
                        Kind::Shaping(Shaping::new(bucket, max_wait.unwrap_or(u64::MAX)))
                    }
                }
            }
        };
        Some(Meter {
            kind,
            shown: burst.get(),
            salt,
            hold: 0,
            name,
            former: Vec::new(),
            given: false,
        })
    }

    /// The pace at which this meter lets pass what it admits, if it shapes.
    #[inline]
    pub(crate) fn pace(&self) -> Option<&Bucket> {
        if let Kind::Shaping(shaping) = &self.kind { Some(shaping.bucket()) } else { None }
    }

    /// How long entries count, if it is a log.
    pub(crate) fn log_period(&self) -> Option<u64> {
        if let Kind::Log(log) = &self.kind { Some(log.period()) } else { None }
    }

    /// The bucket, if it is one, whether or not it shapes.
    fn bucket(&self) -> Option<&Bucket> {
        match &self.kind {
            Kind::Bucket(bucket) => Some(bucket),
            Kind::Shaping(shaping) => Some(shaping.bucket()),
            _ => None,
        }
    }

    /// Ticks that a permit of this meter with an identity is held; `None` if it gives no permits.
    #[inline]
    pub(crate) fn hold(&self) -> Option<u64> {
        matches!(self.kind, Kind::Concurrency(_)).then_some(self.hold)
    }
}
