//! A limit: an amount per period, a burst, and how to count.
//!
//! Read from text that reads aloud (`100/minute burst 20`) or built in code
//! (`Limit::per_minute(100).burst(20)`). Invariant: a `Limit` that exists makes sense; every
//! way to make one goes through [`LimitBuilder::build`], which checks every bound.

mod parse;

use crate::algorithm::{Algorithm, PERIOD_MAX, bucket::Bucket};
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

/// Largest amount and burst. Beyond it a limit is a slip of the keyboard; `unlimited` is a word.
pub const AMOUNT_MAX: u64 = 1 << 40;

/// Largest amount of a sliding window log, which remembers each request: 8 bytes each per key.
pub const LOG_MAX: u64 = 10_000;

/// Largest amount of a sliding window counter, so that both its counts fit beside their time in two
/// words, even when they are overdrawn.
pub const COUNTER_MAX: u64 = 1 << 37;

/// Shortest period: a millisecond, in ticks.
pub const PERIOD_MIN: u64 = 1_000;

/// An amount per period, a burst, and how to count.
///
/// ```
/// use ratekeeper::{Algorithm, Limit};
///
/// let read: Limit = "100/minute burst 20".parse()?;
/// let built = Limit::per_minute(100).burst(20).build()?;
/// assert_eq!(read, built);
///
/// let login = Limit::per_minute(20).algorithm(Algorithm::SlidingWindowLog).build()?;
/// assert_eq!(login.to_string(), "20/minute");
/// # Ok::<(), ratekeeper::LimitError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit(Option<Rate>);

/// What a limit is, unless it is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rate {
    pub(crate) amount: NonZeroU64,
    pub(crate) period: NonZeroU64,
    pub(crate) burst: NonZeroU64,
    pub(crate) algorithm: Algorithm,
}

impl Limit {
    /// `amount` per second.
    pub fn per_second(amount: u64) -> LimitBuilder {
        Limit::per(amount, Duration::from_secs(1))
    }

    /// `amount` per minute.
    pub fn per_minute(amount: u64) -> LimitBuilder {
        Limit::per(amount, Duration::from_secs(60))
    }

    /// `amount` per hour.
    pub fn per_hour(amount: u64) -> LimitBuilder {
        Limit::per(amount, Duration::from_secs(3600))
    }

    /// `amount` per day of 24 hours.
    pub fn per_day(amount: u64) -> LimitBuilder {
        Limit::per(amount, Duration::from_secs(24 * 3600))
    }

    /// `amount` per `period`.
    pub fn per(amount: u64, period: Duration) -> LimitBuilder {
        LimitBuilder { amount, period, burst: None, algorithm: Algorithm::default() }
    }

    /// No limit at all: everything is admitted and nothing is counted.
    pub fn unlimited() -> Limit {
        Limit(None)
    }

    /// The same limit, counted in another way.
    pub fn with_algorithm(self, algorithm: Algorithm) -> Result<Limit, LimitError> {
        let Some(rate) = self.0 else { return Ok(self) };
        let burst = (rate.burst != rate.amount).then_some(rate.burst.get());
        LimitBuilder { amount: rate.amount.get(), period: rate.duration(), burst, algorithm }
            .build()
    }

    /// Units per period; `None` if unlimited.
    pub fn amount(&self) -> Option<u64> {
        self.0.map(|rate| rate.amount.get())
    }

    /// The period; `None` if unlimited.
    pub fn period(&self) -> Option<Duration> {
        self.0.map(|rate| rate.duration())
    }

    /// Units that an idle key may spend at once; `None` if unlimited. A window's is its amount.
    pub fn burst(&self) -> Option<u64> {
        self.0.map(|rate| rate.burst.get())
    }

    /// How it counts; `None` if unlimited.
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.0.map(|rate| rate.algorithm)
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        self.0
    }
}

impl Rate {
    fn duration(&self) -> Duration {
        Duration::from_micros(self.period.get())
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(rate) = self.0 else { return f.write_str("unlimited") };
        write!(f, "{}/", rate.amount)?;
        parse::write_period(f, rate.period.get())?;
        if rate.burst != rate.amount { write!(f, " burst {}", rate.burst) } else { Ok(()) }
    }
}

/// A limit in the making; `build` checks it. Accepted wherever a limit is.
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder does nothing until it is built or given to a rule"]
pub struct LimitBuilder {
    amount: u64,
    period: Duration,
    burst: Option<u64>,
    algorithm: Algorithm,
}

impl LimitBuilder {
    /// Units that an idle key may spend at once: the whole capacity of the bucket. The amount,
    /// unless said. Windows have none.
    pub fn burst(mut self, burst: u64) -> LimitBuilder {
        self.burst = Some(burst);
        self
    }

    /// How to count.
    pub fn algorithm(mut self, algorithm: Algorithm) -> LimitBuilder {
        self.algorithm = algorithm;
        self
    }

    /// The limit, if it makes sense.
    pub fn build(self) -> Result<Limit, LimitError> {
        let fail = |fault: String| Err(LimitError { fault });
        let (amount, algorithm) = (self.amount, self.algorithm);
        let Some(nonzero) = NonZeroU64::new(amount) else {
            return fail("a limit of 0 admits nothing; write `deny: true` to close a route".into());
        };
        let (most, why) = match algorithm {
            Algorithm::SlidingWindowLog => {
                (LOG_MAX, "; a log remembers each request, so take another algorithm")
            }
            Algorithm::SlidingWindowCounter => (COUNTER_MAX, ""),
            _ => (AMOUNT_MAX, "; write `unlimited` for no limit"),
        };
        if amount > most {
            return fail(format!(
                "an amount of {amount} is above {most}, the most that {algorithm} takes{why}"
            ));
        }
        let period = self.ticks()?;
        let burst = match self.burst {
            None => nonzero,
            Some(_) if !algorithm.is_bucket() => {
                return fail(format!(
                    "{algorithm} has no burst; leave it out, or use token_bucket"
                ));
            }
            Some(burst) if burst > AMOUNT_MAX => {
                return fail(format!("a burst of {burst} is above the most, {AMOUNT_MAX}"));
            }
            Some(burst) => match NonZeroU64::new(burst) {
                Some(burst) => burst,
                None => {
                    return fail("a burst of 0 admits nothing; write at least `burst 1`".into());
                }
            },
        };
        if algorithm.is_bucket() && Bucket::new(nonzero, period, burst).is_none() {
            return fail(format!(
                "a burst of {burst} would take more than ten years to fill at this rate; lower the burst"
            ));
        }
        Ok(Limit(Some(Rate { amount: nonzero, period, burst, algorithm })))
    }

    fn ticks(&self) -> Result<NonZeroU64, LimitError> {
        let nanos = self.period.as_nanos();
        let ticks = u64::try_from(nanos / 1_000).unwrap_or(u64::MAX);
        let fault = if ticks < PERIOD_MIN {
            "the period is shorter than a millisecond; write a longer one with a larger amount"
        } else if ticks > PERIOD_MAX {
            "the period is longer than ten years; write a shorter one with a smaller amount"
        } else if !nanos.is_multiple_of(1_000) {
            "the period is not a whole number of microseconds; round it"
        } else if let Some(ticks) = NonZeroU64::new(ticks) {
            return Ok(ticks);
        } else {
            "the period is zero; write one such as `minute`"
        };
        Err(LimitError { fault: fault.into() })
    }
}

impl TryFrom<LimitBuilder> for Limit {
    type Error = LimitError;

    fn try_from(builder: LimitBuilder) -> Result<Limit, LimitError> {
        builder.build()
    }
}

/// Why a limit makes no sense, and what would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitError {
    fault: String,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault)
    }
}

impl std::error::Error for LimitError {}

/// A limit is made of a limit without fault.
impl From<std::convert::Infallible> for LimitError {
    fn from(never: std::convert::Infallible) -> LimitError {
        match never {}
    }
}
