//! Fixed window: one counter per window of the clock, aligned to the epoch.
//!
//! Admits at most `amount` in each window `[start, start + period)`, hence up to twice that within
//! a period that straddles an edge. Invariant: `count` belongs to the window that began at `start`,
//! and `start` never moves back, whatever the clock does.

use super::{PERIOD_MAX, Retry, UNITS_MAX, Verdict, settled};
use std::num::NonZeroU64;

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindow {
    amount: u64,
    period: u64,
}

/// The state of one key: its latest window and what was charged in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// When the window began, in ticks.
    pub start: u64,
    /// Units charged in it.
    pub count: u64,
}

impl FixedWindow {
    /// `None` beyond [`UNITS_MAX`] or [`PERIOD_MAX`].
    pub fn new(amount: NonZeroU64, period: NonZeroU64) -> Option<FixedWindow> {
        let (amount, period) = (amount.get(), period.get());
        (amount <= UNITS_MAX && period <= PERIOD_MAX).then_some(FixedWindow { amount, period })
    }

    /// The length of the window, in ticks.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// Asks for `cost` units of a key that was left at `window`.
    #[inline]
    pub fn charge(&self, window: Window, now: u64, cost: u64) -> (Verdict, Window) {
        let mut current = self.roll(window, now);
        let allowed = cost == 0 || cost <= self.amount.saturating_sub(current.count);
        if allowed {
            current.count += cost;
        }
        let verdict = self.verdict(current, now, allowed, cost);
        (verdict, if allowed && cost > 0 { current } else { window })
    }

    /// Gives `units` back, as far as the present window holds them.
    pub fn refund(&self, window: Window, now: u64, units: u64) -> (Verdict, Window) {
        let mut current = self.roll(window, now);
        current.count = current.count.saturating_sub(units);
        (self.verdict(current, now, true, 0), current)
    }

    /// Settles a charge of `held` units in the window that began at `start`, at `actual`. Once that
    /// window is over, nothing happens. A charge of nothing belongs to the present window.
    pub fn settle(
        &self,
        window: Window,
        now: u64,
        start: u64,
        held: u64,
        actual: u64,
    ) -> (Verdict, Window) {
        let mut current = self.roll(window, now);
        if current.start == start || held == 0 {
            current.count = settled(current.count, held, actual, self.amount);
        }
        (self.verdict(current, now, true, 0), current)
    }

    /// The window as it stands at `now`.
    pub(crate) fn roll(&self, window: Window, now: u64) -> Window {
        let start = now - now % self.period;
        if start > window.start { Window { start, count: 0 } } else { window }
    }

    fn verdict(&self, current: Window, now: u64, allowed: bool, cost: u64) -> Verdict {
        // A clock that went back stands at the window's start: the wait is at most one period.
        let edge = current.start + self.period - now.max(current.start);
        Verdict {
            remaining: self.amount.saturating_sub(current.count),
            reset_after: edge,
            retry_after: Retry::judge(allowed, cost, self.amount, || edge),
            more_after: 0,
        }
    }
}
