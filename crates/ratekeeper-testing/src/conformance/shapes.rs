//! Rates to try.
//!
//! Invariant: a shape is within the bounds of a limit.

pub use crate::dice::Dice;
use crate::oracle::{Bucket, FixedWindow, Holding, SlidingCounter, SlidingLog};
use ratekeeper::algorithm::PERIOD_MAX;
use ratekeeper::limit::{AMOUNT_MAX, COUNTER_MAX, LOG_MAX, PERIOD_MIN};
use ratekeeper::{Algorithm, Limit};
use std::time::Duration;

pub(super) const SECOND: u64 = 1_000_000;
pub(super) const MINUTE: u64 = 60 * SECOND;

/// Rates as people write them, and such as do not divide.
pub(super) const ORDINARY: [(u64, u64); 7] = [
    (3, SECOND),
    (10, SECOND),
    (7, MINUTE),
    (10_007, MINUTE),
    (4_096, SECOND + 1),
    (8_179, SECOND),
    (5, PERIOD_MIN),
];

/// Rates at the bounds.
pub(super) const HUGE: [(u64, u64); 6] = [
    (1, PERIOD_MAX),
    (COUNTER_MAX, MINUTE),
    (COUNTER_MAX - 1, PERIOD_MIN),
    (AMOUNT_MAX - 1, PERIOD_MIN),
    (AMOUNT_MAX, 3600 * SECOND),
    (AMOUNT_MAX - 1, PERIOD_MAX),
];

/// An algorithm and its numbers. Windows have no burst.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The algorithm.
    pub kind: Algorithm,
    /// Units per period.
    pub amount: u64,
    /// In ticks.
    pub period: u64,
    /// Units at once.
    pub burst: u64,
}

impl Shape {
    /// As near to these numbers as the algorithm allows.
    pub fn new(kind: Algorithm, (amount, period): (u64, u64), burst: Option<u64>) -> Shape {
        let most = match kind {
            Algorithm::SlidingWindowLog => LOG_MAX,
            Algorithm::SlidingWindowCounter => COUNTER_MAX,
            _ => AMOUNT_MAX,
        };
        let amount = amount.min(most);
        // A burst that would take more than ten years to fill is cut to what does not.
        let fills = u128::from(PERIOD_MAX) * u128::from(amount) / u128::from(period);
        let longest = u64::try_from(fills).unwrap_or(u64::MAX).min(AMOUNT_MAX);
        Shape { kind, amount, period, burst: burst.unwrap_or(amount).min(longest) }
    }

    /// Each rate under each algorithm, buckets also with other bursts.
    pub fn all(rates: &[(u64, u64)]) -> Vec<Shape> {
        let mut shapes = Vec::new();
        for (number, rate) in rates.iter().enumerate() {
            shapes.extend(Algorithm::ALL.map(|kind| Shape::new(kind, *rate, None)));
            let burst = [1, 20, AMOUNT_MAX][number % 3];
            shapes.push(Shape::new(Algorithm::TokenBucket, *rate, Some(burst)));
        }
        shapes
    }

    /// The limit.
    pub fn limit(&self) -> Limit {
        let builder = Limit::per(self.amount, Duration::from_micros(self.period));
        let builder = builder.algorithm(self.kind);
        let builder = if self.kind.is_bucket() { builder.burst(self.burst) } else { builder };
        builder.build().expect("the shape is within the bounds of a limit")
    }

    /// A key that was never used, as the specification sees it.
    pub fn oracle(&self) -> Box<dyn Holding> {
        match self.kind {
            Algorithm::FixedWindow => Box::new(FixedWindow::new(self.amount, self.period)),
            Algorithm::SlidingWindowLog => Box::new(SlidingLog::new(self.amount, self.period)),
            Algorithm::SlidingWindowCounter => {
                Box::new(SlidingCounter::new(self.amount, self.period))
            }
            Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                Box::new(Bucket::new(self.amount, self.period, self.burst))
            }
        }
    }
}
