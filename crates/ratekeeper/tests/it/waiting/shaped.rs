//! Shaping limits to try: rates that divide, that do not, and of two words.
//!
//! Invariant: a line of any of them is short enough to work out by hand.

use crate::laws::{MINUTE, SECOND};
use crate::one_key::micros;
use proptest::prelude::*;
use proptest::sample::select;
use ratekeeper::{Limit, LimitBuilder};
use ratekeeper_testing::oracle::Queue;

/// A shaping limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shaped {
    pub(crate) amount: u64,
    pub(crate) period: u64,
    pub(crate) burst: u64,
    pub(crate) max_wait: Option<u64>,
}

impl Shaped {
    pub(crate) fn limit(&self) -> LimitBuilder {
        let limit = Limit::per(self.amount, micros(self.period)).burst(self.burst).shaping();
        self.max_wait.map_or(limit, |ticks| limit.max_wait(micros(ticks)))
    }

    pub(crate) fn oracle(&self) -> Queue {
        Queue::new(self.amount, self.period, self.burst, self.max_wait)
    }

    /// Ticks until so many units have drained, rounded up.
    pub(crate) fn drained(&self, units: u64) -> u64 {
        (units * self.period).div_ceil(self.amount)
    }

    /// Ticks that so many 65536th parts of a full queue take.
    pub(crate) fn share(&self, share: u16) -> u64 {
        let full = u128::from(self.burst * self.period / self.amount);
        (full * u128::from(share) / 65_536) as u64
    }
}

/// Rates that divide, that do not, and whose parts of a tick take a word of their own.
pub(crate) fn shaped() -> impl Strategy<Value = Shaped> {
    let rates = [
        (3, SECOND),
        (10, SECOND),
        (7, MINUTE),
        (10_007, MINUTE),
        (8_179, SECOND),
        (1, SECOND),
        (7, 1_000),
    ];
    let longest =
        prop_oneof![3 => Just(None), 1 => Just(Some(0)), 2 => any::<u16>().prop_map(Some)];
    (select(rates.to_vec()), 1..=12_u64, longest).prop_map(|((amount, period), burst, longest)| {
        let shaped = Shaped { amount, period, burst, max_wait: None };
        // A rule's longest wait is nothing, or a millisecond at least.
        let ticks = |share| if share == 0 { 0 } else { shaped.share(share).max(1_000) };
        Shaped { max_wait: longest.map(ticks), ..shaped }
    })
}
