//! When there is more: the `t` of a policy.
//!
//! With nothing left, it is the time to the next unit. Else, of a fixed window, the time to its edge; of
//! a bucket, the time in which what is left would come in, so that both together say the rate; of a
//! sliding window, the time until there is more than what is left, or all of it if nothing is used.
//! Invariant: whole seconds, rounded up, at least one.

use super::text::SECOND;
use crate::algorithm::{Algorithm, UNKNOWN};
use crate::decision::Decision;
use crate::limit::{Limit, Mode, Rate, Shape};

/// How units come back to a limit.
#[derive(Debug)]
pub(super) enum Refill {
    /// All at the edge of the window.
    Edge,
    /// As they leave the window, which is so long.
    Slide { period: u64 },
    /// One by one.
    Even(Even),
    /// When their holders please.
    Given,
}

/// An even refill, in ticks.
#[derive(Debug)]
pub(super) struct Even {
    burst: u64,
    /// What the whole bucket takes, rounded up.
    whole: u64,
    /// What all units but one take, rounded down.
    all_but_one: u64,
    /// The longest wait of a shaping limit.
    max_wait: u64,
}

impl Refill {
    /// `None` for what is unlimited.
    pub(super) fn of(limit: &Limit) -> Option<Refill> {
        match limit.shape() {
            Shape::Unlimited => None,
            Shape::Concurrent(_) => Some(Refill::Given),
            Shape::Rate(rate) => Some(match rate.algorithm {
                Algorithm::FixedWindow => Refill::Edge,
                Algorithm::SlidingWindowLog | Algorithm::SlidingWindowCounter => {
                    Refill::Slide { period: rate.period.get() }
                }
                Algorithm::TokenBucket | Algorithm::LeakyBucket => Refill::Even(Even::of(&rate)),
            }),
        }
    }

    /// Seconds until there is more; `None` if nobody can tell.
    #[inline]
    pub(super) fn seconds(&self, decision: &Decision) -> Option<u64> {
        let verdict = &decision.verdict;
        if verdict.reset_after == UNKNOWN {
            return None;
        }
        let ticks = match self {
            Refill::Given => return None,
            Refill::Edge => verdict.reset_after,
            Refill::Slide { period } => match (verdict.retry_after.ticks(), verdict.more_after) {
                (Some(wait), _) => wait,
                (None, 0) => *period,
                (None, more) => more,
            },
            Refill::Even(even) => even.more_after(decision),
        };
        Some(ticks.div_ceil(SECOND).max(1))
    }
}

impl Even {
    fn of(rate: &Rate) -> Even {
        let (amount, period) = (u128::from(rate.amount.get()), u128::from(rate.period.get()));
        let burst = rate.burst.get();
        let ticks = |ticks: u128| u64::try_from(ticks).unwrap_or(u64::MAX);
        let max_wait = match rate.mode {
            Mode::Policing => None,
            Mode::Shaping { max_wait } => max_wait,
        };
        Even {
            burst,
            whole: ticks((u128::from(burst) * period).div_ceil(amount)),
            all_but_one: ticks(u128::from(burst - 1) * period / amount),
            max_wait: max_wait.unwrap_or(u64::MAX),
        }
    }

    fn more_after(&self, decision: &Decision) -> u64 {
        let (reset, limit) = (decision.verdict.reset_after, decision.limit());
        if decision.remaining() > 0 {
            return self.whole.saturating_sub(reset);
        }
        let one = if limit == self.burst {
            reset.saturating_sub(self.all_but_one)
        } else {
            // A server's own share, which is as slow as it is small: all but one of its units take
            // less than the time to reset, so this is at least what one takes.
            reset.div_ceil(limit.saturating_sub(1).max(1))
        };
        // A line that is too long is open again once it is shorter.
        let one = one.max(reset.saturating_sub(self.max_wait));
        decision.verdict.retry_after.ticks().map_or(one, |wait| wait.min(one))
    }
}
