//! Rates to try, and dice to try them with: the same throws from the same seed.
//!
//! Invariant: a shape is within the bounds of a limit.

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

/// Dice that always fall the same way (xorshift64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub fn new(seed: u64) -> Dice {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..8).for_each(|_| {
            dice.below(2);
        });
        dice
    }

    /// One of the numbers below this.
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(most)) >> 64) as u64
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("it is below the length")]
    }

    /// A cost, by what it means to a limit of which so much is left.
    pub fn cost(&mut self, limit: u64, left: u64) -> u64 {
        match self.below(12) {
            0..4 => self.below(4),
            4..7 => self.below(limit + 3),
            7 | 8 => left,
            9 => left + 1,
            10 => limit,
            _ => limit + 1,
        }
    }

    /// How far the clock goes: to edges, to what the last answer promised, and a tick beside.
    pub fn step(&mut self, period: u64, retry: Option<u64>, reset: u64) -> u64 {
        let beside = self.pick(&[-1_i64, 0, 1]);
        match self.below(24) {
            0..7 => 0,
            7..10 => 1 + self.below(2),
            10..13 => (self.below(3) * period).saturating_add_signed(beside),
            13..18 => self.below(2 * period),
            18..23 => retry.unwrap_or(0).saturating_add_signed(beside),
            _ => reset.saturating_add_signed(beside),
        }
    }
}
