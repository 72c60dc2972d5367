//! Sliding window counter: the count of this window, plus that of the former one weighted by how
//! much of it the sliding window still covers.
//!
//! An estimate that assumes the former window's requests were spread evenly. At worst it lets
//! `2·amount − 1` through in one period; on even traffic it is close. Invariant: `index` never moves
//! back, and the weighted sum after an admission is at most `amount`.
//!
//! | word     | meaning                                                    |
//! |----------|------------------------------------------------------------|
//! | index    | number of the current window since the epoch (k)           |
//! | elapsed  | how much of the current window is over (e)                 |
//! | weighted | `⌈previous · (period − elapsed) / period⌉` (P)             |

use super::{PERIOD_MAX, Retry, UNITS_MAX, Verdict, mul_div, mul_div_up, settled};
use std::num::NonZeroU64;

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingCounter {
    amount: u64,
    period: u64,
}

/// The state of one key: two neighbouring windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Number of the current window.
    pub index: u64,
    /// Units charged in the current window.
    pub current: u64,
    /// Units charged in the one before.
    pub previous: u64,
}

impl SlidingCounter {
    /// `None` beyond [`UNITS_MAX`] or [`PERIOD_MAX`].
    pub fn new(amount: NonZeroU64, period: NonZeroU64) -> Option<SlidingCounter> {
        let (amount, period) = (amount.get(), period.get());
        (amount <= UNITS_MAX && period <= PERIOD_MAX).then_some(SlidingCounter { amount, period })
    }

    /// The length of the window, in ticks.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// Asks for `cost` units of a key that was left at `windows`.
    #[inline]
    pub fn charge(&self, windows: Windows, now: u64, cost: u64) -> (Verdict, Windows) {
        let (verdict, rolled, _) = self.judge(windows, now, cost);
        (verdict, if verdict.allowed() && cost > 0 { rolled } else { windows })
    }

    /// The same, with the time at which there is more.
    #[inline]
    pub fn charge_with_more(&self, windows: Windows, now: u64, cost: u64) -> (Verdict, Windows) {
        let (mut verdict, rolled, elapsed) = self.judge(windows, now, cost);
        if verdict.remaining < self.amount && verdict.retry_after.ticks().is_none() {
            verdict.more_after = self.wait(rolled, elapsed, verdict.remaining + 1);
        }
        (verdict, if verdict.allowed() && cost > 0 { rolled } else { windows })
    }

    /// The verdict, and the windows as it leaves them at `now`, with how much of the current one is over.
    #[inline]
    fn judge(&self, windows: Windows, now: u64, cost: u64) -> (Verdict, Windows, u64) {
        let (mut rolled, elapsed) = self.roll(windows, now);
        let weighted = mul_div_up(rolled.previous, self.period - elapsed, self.period);
        let free = self.amount.saturating_sub(rolled.current).saturating_sub(weighted);
        let allowed = cost == 0 || cost <= free;
        let retry_after =
            Retry::judge(allowed, cost, self.amount, || self.wait(rolled, elapsed, cost));
        if allowed {
            rolled.current += cost;
        }
        let verdict = Verdict {
            remaining: if allowed { free - cost } else { free },
            reset_after: self.reset(rolled, elapsed),
            retry_after,
            more_after: 0,
        };
        (verdict, rolled, elapsed)
    }

    /// Gives `units` back: to the current window first, since what was charged last is what is
    /// usually returned, then to the one before.
    pub fn refund(&self, windows: Windows, now: u64, units: u64) -> (Verdict, Windows) {
        let (mut rolled, _) = self.roll(windows, now);
        let rest = units.saturating_sub(rolled.current);
        rolled.current = rolled.current.saturating_sub(units);
        rolled.previous = rolled.previous.saturating_sub(rest);
        (self.charge(rolled, now, 0).0, rolled)
    }

    /// Settles a charge of `held` units in the window of this `index`, at `actual`. Once that window
    /// is neither the current one nor the one before, nothing happens. A charge of nothing belongs to
    /// the current one.
    pub fn settle(
        &self,
        windows: Windows,
        now: u64,
        index: u64,
        held: u64,
        actual: u64,
    ) -> (Verdict, Windows) {
        let (mut rolled, _) = self.roll(windows, now);
        if rolled.index == index || held == 0 {
            rolled.current = settled(rolled.current, held, actual, self.amount);
        } else if rolled.index == index + 1 {
            rolled.previous = settled(rolled.previous, held, actual, self.amount);
        }
        (self.charge(rolled, now, 0).0, rolled)
    }

    /// The windows as they stand at `now`, and how much of the current one is over.
    pub(crate) fn roll(&self, windows: Windows, now: u64) -> (Windows, u64) {
        let index = now / self.period;
        if index < windows.index {
            return (windows, 0);
        }
        let rolled = match index - windows.index {
            0 => windows,
            1 => Windows { index, current: 0, previous: windows.current },
            _ => Windows { index, current: 0, previous: 0 },
        };
        (rolled, now - index * self.period)
    }

    /// Ticks until a refused `cost`, at most the amount, fits.
    ///
    /// If it would fit beside the current count alone, enough of the former window must slide out,
    /// at the latest by the edge. Else the current window must become the former one first, and
    /// then slide out in part.
    fn wait(&self, at: Windows, elapsed: u64, cost: u64) -> u64 {
        let (period, left) = (self.period, self.period - elapsed);
        match self.amount.checked_sub(at.current).and_then(|free| free.checked_sub(cost)) {
            Some(spare) => left - mul_div(spare, period, at.previous),
            None => left + period - mul_div(self.amount - cost, period, at.current),
        }
    }

    fn reset(&self, at: Windows, elapsed: u64) -> u64 {
        match (at.current, at.previous) {
            (0, 0) => 0,
            (0, _) => self.period - elapsed,
            _ => 2 * self.period - elapsed,
        }
    }
}
