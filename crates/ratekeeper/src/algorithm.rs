//! The algorithms: pure functions of a bucket's state, the time and a cost.
//!
//! Time comes in as whole ticks of one microsecond since the epoch, and every quantity is an
//! integer, so that every figure is exact and every store gives the same one. Nothing here reads a
//! clock, takes a lock or writes: a function returns what it decided and the state that would
//! follow. Invariant: a refusal and a peek return the state that they were given.
//!
//! | word      | meaning                                                       |
//! |-----------|---------------------------------------------------------------|
//! | tick      | one microsecond                                               |
//! | amount    | units that a limit admits per period (L in the papers)        |
//! | period    | length of a window, in ticks (W)                              |
//! | burst     | units that an idle bucket admits at once (B)                  |
//! | cost      | units that a request takes (n); 0 is a peek                   |

pub mod bucket;
pub mod concurrency;
pub mod fixed_window;
pub mod shaping;
pub mod sliding_counter;
pub mod sliding_log;

use std::fmt;
use std::str::FromStr;

/// Most units that an amount, a burst or a count may reach here: what a double holds exactly, since
/// some stores compute in doubles. A [`Limit`](crate::Limit) allows less.
pub const UNITS_MAX: u64 = (1 << 53) - 1;

/// Longest period, and longest time that a bucket may take to fill: ten years, in ticks.
pub const PERIOD_MAX: u64 = 10 * 365 * 24 * 3600 * 1_000_000;

/// Latest time that the algorithms are asked about: two of the longest periods before the end of
/// 52 bits, in the year 2092. The clock stops there, so that no sum of times overflows.
pub const NOW_MAX: u64 = (1 << 52) - 1 - 2 * PERIOD_MAX;

/// How a limit counts. The default is the token bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// At most the amount in each window of the clock; twice that around an edge.
    FixedWindow,
    /// At most the amount in every window, wherever it starts; remembers each request.
    SlidingWindowLog,
    /// Two counters, the former weighted by what of it is still in the window.
    SlidingWindowCounter,
    /// A burst at once, then an even refill.
    #[default]
    TokenBucket,
    /// The leaky bucket: as a meter the same answers as the token bucket, by another name; or, where
    /// the limit is [shaping](crate::LimitBuilder::shaping), a queue.
    LeakyBucket,
}

impl Algorithm {
    /// Every algorithm, in the order of the documentation.
    pub const ALL: [Algorithm; 5] = [
        Algorithm::FixedWindow,
        Algorithm::SlidingWindowLog,
        Algorithm::SlidingWindowCounter,
        Algorithm::TokenBucket,
        Algorithm::LeakyBucket,
    ];

    /// The name in rule files.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::FixedWindow => "fixed_window",
            Algorithm::SlidingWindowLog => "sliding_window_log",
            Algorithm::SlidingWindowCounter => "sliding_window_counter",
            Algorithm::TokenBucket => "token_bucket",
            Algorithm::LeakyBucket => "leaky_bucket",
        }
    }

    /// Whether the limit is a bucket, with a burst of its own, and not a window.
    pub const fn is_bucket(self) -> bool {
        matches!(self, Algorithm::TokenBucket | Algorithm::LeakyBucket)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no algorithm's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm(String);

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Algorithm::ALL.map(Algorithm::name).join(", ");
        write!(f, "`{}` is not an algorithm; write one of {names}", self.0)
    }
}

impl std::error::Error for UnknownAlgorithm {}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Algorithm, UnknownAlgorithm> {
        let found = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == text);
        found.ok_or_else(|| UnknownAlgorithm(text.chars().take(64).collect()))
    }
}

/// What an algorithm says of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The largest cost that would be admitted at this very instant, after this call.
    pub remaining: u64,
    /// Ticks until everything is available again if nothing else arrives; for a fixed window, ticks
    /// to its edge; [`UNKNOWN`] for permits, which come back when their holders please.
    pub reset_after: u64,
    /// The first instant at which the same cost is admitted: now, if it was.
    pub retry_after: Retry,
    /// Ticks until there is more than what remains, which stores add for sliding windows, whose other
    /// figures do not tell it; 0 for others, of a key that is whole, and where a wait was told.
    pub more_after: u64,
}

/// A time that nobody can tell.
pub const UNKNOWN: u64 = u64::MAX;

impl Verdict {
    /// Whether the whole cost fits.
    #[inline]
    pub fn allowed(&self) -> bool {
        self.retry_after <= Retry::NOW
    }
}

/// When the same request is admitted; ordered by how long that takes.
///
/// One word, so that a verdict travels in registers: below zero it was admitted and waits for its
/// turn, at zero it was admitted, above zero it was refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Retry(i64);

impl Retry {
    /// It was admitted.
    pub const NOW: Retry = Retry(0);

    /// Not before somebody gives a permit back.
    pub const UNKNOWN: Retry = Retry(i64::MAX - 1);

    /// The cost is above what the limit ever admits at once.
    pub const NEVER: Retry = Retry(i64::MAX);

    /// Not for another so many ticks, and not a tick earlier.
    #[inline]
    pub const fn after(ticks: u64) -> Retry {
        Retry(ticks.cast_signed())
    }

    /// It was admitted, and its turn comes after so many ticks.
    #[inline]
    pub const fn delayed(ticks: u64) -> Retry {
        Retry(-ticks.cast_signed())
    }

    /// How long to wait before asking again, if that helps.
    pub fn ticks(self) -> Option<u64> {
        (Retry::NOW < self && self < Retry::UNKNOWN).then_some(self.0.unsigned_abs())
    }

    /// How long what was admitted waits for its turn.
    pub fn delay(self) -> u64 {
        if self < Retry::NOW { self.0.unsigned_abs() } else { 0 }
    }

    /// `NEVER` for a cost above `most`; else `NOW`, or after what `wait` computes.
    fn judge(allowed: bool, cost: u64, most: u64, wait: impl FnOnce() -> u64) -> Retry {
        if allowed {
            Retry::NOW
        } else if cost > most {
            Retry::NEVER
        } else {
            Retry::after(wait())
        }
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Retry::NOW => f.write_str("Now"),
            Retry::NEVER => f.write_str("Never"),
            Retry::UNKNOWN => f.write_str("Unknown"),
            Retry(ticks) if ticks < 0 => write!(f, "Delayed({})", ticks.unsigned_abs()),
            Retry(ticks) => write!(f, "After({ticks})"),
        }
    }
}

/// What a window counts after a charge of `held` in it was settled at `actual`: what is used beyond is
/// charged without asking, up to twice the `amount`.
fn settled(count: u64, held: u64, actual: u64, amount: u64) -> u64 {
    match actual.checked_sub(held) {
        Some(excess) => count.saturating_add(excess).min(2 * amount).max(count),
        None => count.saturating_sub(held - actual),
    }
}

/// `⌊a·b / c⌋` without overflow on the way; the caller knows that the result fits.
fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => (u128::from(a) * u128::from(b) / u128::from(c)) as u64,
    }
}

/// `⌈a·b / c⌉` without overflow on the way; the caller knows that the result fits.
fn mul_div_up(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product.div_ceil(c),
        None => (u128::from(a) * u128::from(b)).div_ceil(u128::from(c)) as u64,
    }
}
