//! A limit: an amount per period, a burst, and how to count.
//!
//! Read from text that reads aloud (`100/minute burst 20`) or built in code
//! (`Limit::per_minute(100).burst(20)`). Invariant: a `Limit` that exists makes sense; every
//! way to make one goes through [`LimitBuilder::build`], which checks every bound.

mod build;
mod parse;

pub use build::LimitBuilder;
#[cfg(feature = "yaml")]
pub(crate) use parse::read_length;

use crate::algorithm::Algorithm;
#[cfg(feature = "yaml")]
use crate::algorithm::bucket::Bucket;
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

/// Largest amount and burst. Beyond it a limit is a slip of the keyboard; `unlimited` is a word.
pub const AMOUNT_MAX: u64 = 1 << 40;

/// Largest amount of a sliding window log, which remembers each request: 8 bytes each per key.
pub const LOG_MAX: u64 = 10_000;

/// Largest amount of a sliding window counter, so that both its counts fit beside their time in two
/// words, even when they are overdrawn.
pub const COUNTER_MAX: u64 = (1 << 37) - 1;

/// Shortest period: a millisecond, in ticks.
pub const PERIOD_MIN: u64 = 1_000;

/// How long a permit that nobody gives back is held, unless said.
pub const HOLD_DEFAULT: Duration = Duration::from_secs(60);

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
pub struct Limit(Shape);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    Unlimited,
    Rate(Rate),
    Concurrent(Concurrent),
}

/// An amount per period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rate {
    pub(crate) amount: NonZeroU64,
    pub(crate) period: NonZeroU64,
    pub(crate) burst: NonZeroU64,
    pub(crate) algorithm: Algorithm,
    pub(crate) mode: Mode,
}

/// What becomes of a request that is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// It passes at once.
    Policing,
    /// It passes in its turn, which is at most so many ticks away.
    Shaping { max_wait: Option<u64> },
}

/// An amount at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Concurrent {
    pub(crate) amount: NonZeroU64,
    /// How long a permit with an identity is held at most, in ticks.
    pub(crate) hold: u64,
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
        LimitBuilder::new(amount, Some(period))
    }

    /// `amount` at a time, each held until it is given back.
    pub fn concurrent(amount: u64) -> LimitBuilder {
        LimitBuilder::new(amount, None)
    }

    /// No limit at all: everything is admitted and nothing is counted.
    pub fn unlimited() -> Limit {
        Limit(Shape::Unlimited)
    }

    /// The same limit, counted in another way.
    pub fn with_algorithm(self, algorithm: Algorithm) -> Result<Limit, LimitError> {
        match self.0 {
            Shape::Unlimited => Ok(self),
            Shape::Rate(rate) if rate.algorithm == algorithm => Ok(self),
            Shape::Rate(rate) => {
                let builder = Limit::per(rate.amount.get(), ticks(rate.period.get()));
                let own_burst = rate.burst != rate.amount;
                let builder = if own_burst { builder.burst(rate.burst.get()) } else { builder };
                builder.algorithm(algorithm).build()
            }
            Shape::Concurrent(limit) => {
                Limit::concurrent(limit.amount.get()).algorithm(algorithm).build()
            }
        }
    }

    /// Units per period, or at a time; `None` if unlimited.
    pub fn amount(&self) -> Option<u64> {
        match self.0 {
            Shape::Unlimited => None,
            Shape::Rate(rate) => Some(rate.amount.get()),
            Shape::Concurrent(limit) => Some(limit.amount.get()),
        }
    }

    /// The period; `None` if unlimited or concurrent.
    pub fn period(&self) -> Option<Duration> {
        self.rate().map(|rate| ticks(rate.period.get()))
    }

    /// Units that an idle key may spend at once; `None` if unlimited or concurrent. A window's is its
    /// amount.
    pub fn burst(&self) -> Option<u64> {
        self.rate().map(|rate| rate.burst.get())
    }

    /// How it counts; `None` if unlimited or concurrent.
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.rate().map(|rate| rate.algorithm)
    }

    /// Whether what is admitted waits for its turn.
    pub fn is_shaping(&self) -> bool {
        self.rate().is_some_and(|rate| rate.mode != Mode::Policing)
    }

    /// How long a permit that nobody gives back is held; `None` unless concurrent.
    pub fn hold(&self) -> Option<Duration> {
        match self.0 {
            Shape::Concurrent(limit) => Some(ticks(limit.hold)),
            _ => None,
        }
    }

    /// What one server of so many may admit by itself: its part, rounded up.
    #[cfg(feature = "redis")]
    pub(crate) fn share(&self, nodes: u32) -> Limit {
        let part = |whole: NonZeroU64| {
            NonZeroU64::new(whole.get().div_ceil(nodes.max(1).into())).unwrap_or(whole)
        };
        Limit(match self.0 {
            Shape::Unlimited => Shape::Unlimited,
            Shape::Concurrent(limit) => {
                Shape::Concurrent(Concurrent { amount: part(limit.amount), ..limit })
            }
            Shape::Rate(rate) => {
                Shape::Rate(Rate { amount: part(rate.amount), burst: part(rate.burst), ..rate })
            }
        })
    }

    /// Its figures alone, to say anew how they are counted; `None` if unlimited.
    #[cfg(feature = "yaml")]
    pub(crate) fn figures(&self) -> Option<LimitBuilder> {
        match self.0 {
            Shape::Unlimited => None,
            Shape::Concurrent(limit) => Some(Limit::concurrent(limit.amount.get())),
            Shape::Rate(rate) => {
                let builder = Limit::per(rate.amount.get(), ticks(rate.period.get()));
                let own_burst = rate.burst != rate.amount;
                Some(if own_burst { builder.burst(rate.burst.get()) } else { builder })
            }
        }
    }

    /// So many percent of it, rounded down, and at least one unit.
    #[cfg(feature = "yaml")]
    pub(crate) fn part(&self, percent: u8) -> Result<Limit, LimitError> {
        let part = |whole: NonZeroU64| {
            let part = whole.get() * u64::from(percent.min(100)) / 100;
            NonZeroU64::new(part).unwrap_or(NonZeroU64::MIN)
        };
        Ok(Limit(match self.0 {
            Shape::Unlimited => Shape::Unlimited,
            Shape::Concurrent(limit) => {
                Shape::Concurrent(Concurrent { amount: part(limit.amount), ..limit })
            }
            Shape::Rate(rate) => {
                let (amount, burst) = (part(rate.amount), part(rate.burst));
                if rate.algorithm.is_bucket() && Bucket::new(amount, rate.period, burst).is_none() {
                    let fault = format!(
                        "{percent}% of it would take more than ten years to fill; lower the burst"
                    );
                    return Err(LimitError { fault });
                }
                Shape::Rate(Rate { amount, burst, ..rate })
            }
        }))
    }

    pub(crate) fn shape(&self) -> Shape {
        self.0
    }

    fn rate(&self) -> Option<Rate> {
        match self.0 {
            Shape::Rate(rate) => Some(rate),
            _ => None,
        }
    }
}

fn ticks(ticks: u64) -> Duration {
    Duration::from_micros(ticks)
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = match self.0 {
            Shape::Unlimited => return f.write_str("unlimited"),
            Shape::Concurrent(limit) => return write!(f, "{} concurrent", limit.amount),
            Shape::Rate(rate) => rate,
        };
        write!(f, "{}/", rate.amount)?;
        parse::write_period(f, rate.period.get())?;
        if rate.burst != rate.amount { write!(f, " burst {}", rate.burst) } else { Ok(()) }
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
