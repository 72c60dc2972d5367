//! Limits built in code; text goes this way, too.
//!
//! Invariant: whatever is built was checked against every bound, and a refusal says what to write
//! instead.

use super::{
    AMOUNT_MAX, COUNTER_MAX, Concurrent, HOLD_DEFAULT, LOG_MAX, Limit, LimitError, Mode,
    PERIOD_MIN, Rate, Shape,
};
use crate::algorithm::{Algorithm, PERIOD_MAX, bucket::Bucket};
use std::num::NonZeroU64;
use std::time::Duration;

/// A limit in the making; `build` checks it. Accepted wherever a limit is.
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder does nothing until it is built or given to a rule"]
pub struct LimitBuilder {
    amount: u64,
    /// None if it is an amount at a time.
    period: Option<Duration>,
    burst: Option<u64>,
    algorithm: Option<Algorithm>,
    shaping: bool,
    max_wait: Option<Duration>,
    hold: Option<Duration>,
}

impl LimitBuilder {
    pub(super) fn new(amount: u64, period: Option<Duration>) -> LimitBuilder {
        let (burst, algorithm, shaping, max_wait, hold) = (None, None, false, None, None);
        LimitBuilder { amount, period, burst, algorithm, shaping, max_wait, hold }
    }

    /// Units that an idle key may spend at once: the whole capacity of the bucket. The amount,
    /// unless said. Windows have none.
    pub fn burst(mut self, burst: u64) -> LimitBuilder {
        self.burst = Some(burst);
        self
    }

    /// How to count.
    pub fn algorithm(mut self, algorithm: Algorithm) -> LimitBuilder {
        self.algorithm = Some(algorithm);
        self
    }

    /// Makes it a queue: a leaky bucket that lets what it admits pass at an even pace, in order. Its
    /// capacity is the burst, the one whose turn it is included.
    pub fn shaping(mut self) -> LimitBuilder {
        self.shaping = true;
        self
    }

    /// Refuses what would wait for longer; for shaping limits. Unless said, a full queue is the bound.
    pub fn max_wait(mut self, max_wait: Duration) -> LimitBuilder {
        self.max_wait = Some(max_wait);
        self
    }

    /// How long a permit with an identity is held if nobody gives it back, a minute unless said; for
    /// concurrency limits.
    pub fn hold(mut self, hold: Duration) -> LimitBuilder {
        self.hold = Some(hold);
        self
    }

    /// The limit, if it makes sense.
    pub fn build(self) -> Result<Limit, LimitError> {
        let Some(amount) = NonZeroU64::new(self.amount) else {
            return fail("a limit of 0 admits nothing; write `deny: true` to close a route");
        };
        match self.period {
            Some(period) => self.rate(amount, whole_ticks(period, "period")?),
            None => self.concurrent(amount),
        }
    }

    fn concurrent(self, amount: NonZeroU64) -> Result<Limit, LimitError> {
        let fault = if self.burst.is_some() {
            "a concurrency limit has no burst; leave it out"
        } else if self.algorithm.is_some() {
            "a concurrency limit has no algorithm; leave it out"
        } else if self.shaping || self.max_wait.is_some() {
            "a concurrency limit cannot be shaping; write an amount per period for that"
        } else if self.amount > AMOUNT_MAX {
            return fail(format!(
                "an amount of {amount} is above {AMOUNT_MAX}, the most at a time; write `unlimited` for no limit"
            ));
        } else {
            let hold = whole_ticks(self.hold.unwrap_or(HOLD_DEFAULT), "hold")?.get();
            return Ok(Limit(Shape::Concurrent(Concurrent { amount, hold })));
        };
        fail(fault)
    }

    fn rate(self, amount: NonZeroU64, period: NonZeroU64) -> Result<Limit, LimitError> {
        if self.hold.is_some() {
            return fail("hold is for concurrency limits; leave it out, or write `4 concurrent`");
        }
        let algorithm = match (self.algorithm, self.shaping) {
            (None | Some(Algorithm::LeakyBucket), true) => Algorithm::LeakyBucket,
            (Some(other), true) => {
                return fail(format!("{other} cannot be shaping; use leaky_bucket"));
            }
            (algorithm, false) => algorithm.unwrap_or_default(),
        };
        let (most, why) = match algorithm {
            Algorithm::SlidingWindowLog => {
                (LOG_MAX, "; a log remembers each request, so take another algorithm")
            }
            Algorithm::SlidingWindowCounter => (COUNTER_MAX, ""),
            _ => (AMOUNT_MAX, "; write `unlimited` for no limit"),
        };
        if amount.get() > most {
            return fail(format!(
                "an amount of {amount} is above {most}, the most that {algorithm} takes{why}"
            ));
        }
        let burst = self.capacity(amount, algorithm)?;
        if algorithm.is_bucket() && Bucket::new(amount, period, burst).is_none() {
            return fail(format!(
                "a burst of {burst} would take more than ten years to fill at this rate; lower the burst"
            ));
        }
        let mode = self.mode()?;
        Ok(Limit(Shape::Rate(Rate { amount, period, burst, algorithm, mode })))
    }

    fn capacity(self, amount: NonZeroU64, algorithm: Algorithm) -> Result<NonZeroU64, LimitError> {
        let Some(burst) = self.burst else { return Ok(amount) };
        if !algorithm.is_bucket() {
            return fail(format!("{algorithm} has no burst; leave it out, or use token_bucket"));
        }
        if burst > AMOUNT_MAX {
            return fail(format!("a burst of {burst} is above the most, {AMOUNT_MAX}"));
        }
        NonZeroU64::new(burst)
            .map_or_else(|| fail("a burst of 0 admits nothing; write at least `burst 1`"), Ok)
    }

    fn mode(self) -> Result<Mode, LimitError> {
        let max_wait = match self.max_wait {
            None => None,
            Some(_) if !self.shaping => {
                return fail(
                    "max_wait is for shaping limits; leave it out, or write `mode: shaping`",
                );
            }
            Some(Duration::ZERO) => Some(0),
            Some(max_wait) => Some(whole_ticks(max_wait, "max_wait")?.get()),
        };
        Ok(if self.shaping { Mode::Shaping { max_wait } } else { Mode::Policing })
    }
}

/// A length of time in ticks, if it is a whole number of them within the bounds.
fn whole_ticks(time: Duration, what: &str) -> Result<NonZeroU64, LimitError> {
    let repair = |shorter: &str, longer: &str| match what {
        "period" => format!("write a {shorter} one with a {longer} amount"),
        _ => format!("write a {shorter} one"),
    };
    let nanos = time.as_nanos();
    let ticks = u64::try_from(nanos / 1_000).unwrap_or(u64::MAX);
    if ticks > PERIOD_MAX {
        let repair = repair("shorter", "smaller");
        return fail(format!("the {what} is longer than ten years; {repair}"));
    }
    match NonZeroU64::new(ticks).filter(|_| ticks >= PERIOD_MIN) {
        None => {
            let repair = repair("longer", "larger");
            fail(format!("the {what} is shorter than a millisecond; {repair}"))
        }
        Some(_) if !nanos.is_multiple_of(1_000) => {
            fail(format!("the {what} is not a whole number of microseconds; round it"))
        }
        Some(ticks) => Ok(ticks),
    }
}

fn fail<T>(fault: impl Into<String>) -> Result<T, LimitError> {
    Err(LimitError { fault: fault.into() })
}

impl TryFrom<LimitBuilder> for Limit {
    type Error = LimitError;

    fn try_from(builder: LimitBuilder) -> Result<Limit, LimitError> {
        builder.build()
    }
}
