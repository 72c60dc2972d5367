//! Concurrency: as many units at a time, each held until it is given back.
//!
//! The state is the number of units that are held. Time plays no part, so nobody can say when the
//! next unit is free. Invariant: an admission leaves at most `amount` held; if the amount was
//! lowered below what is held, nothing is taken away, and nothing is admitted until enough of it was
//! given back.

use super::{Retry, UNITS_MAX, UNKNOWN, Verdict};
use std::num::NonZeroU64;

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    amount: u64,
}

impl Concurrency {
    /// `None` beyond [`UNITS_MAX`].
    pub fn new(amount: NonZeroU64) -> Option<Concurrency> {
        (amount.get() <= UNITS_MAX).then_some(Concurrency { amount: amount.get() })
    }

    /// Asks for `cost` units of a key of which `held` are held.
    #[inline]
    pub fn acquire(&self, held: u64, cost: u64) -> (Verdict, u64) {
        let free = self.amount.saturating_sub(held);
        let allowed = cost == 0 || cost <= free;
        let retry_after = match allowed {
            true => Retry::NOW,
            false if cost > self.amount => Retry::NEVER,
            false => Retry::UNKNOWN,
        };
        let taken = if allowed { cost } else { 0 };
        let remaining = free - taken;
        let verdict = Verdict { remaining, reset_after: UNKNOWN, retry_after, more_after: 0 };
        (verdict, held + taken)
    }

    /// Gives `units` back, at most what is held.
    #[inline]
    pub fn release(&self, held: u64, units: u64) -> (Verdict, u64) {
        let held = held.saturating_sub(units);
        (self.acquire(held, 0).0, held)
    }
}
