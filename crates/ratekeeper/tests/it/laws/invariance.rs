//! Law 8: what time it is does not matter, nor in which unit it is told.
//!
//! Invariant: both runs of a law make the same calls; only the times are shifted or scaled.

use super::account::{Account, shapes};
use super::cases;
use super::trace::{Also, Call, steps};
use proptest::prelude::*;
use ratekeeper::algorithm::{NOW_MAX, Retry, Verdict};

/// One call on an account, the same whatever the time.
fn call(account: &mut Account, now: u64, call: &Call) -> Verdict {
    let (limit, left) = (account.shape.limit(), account.remaining(now));
    match call {
        Call::Ask(cost) => account.ask(now, cost.units(limit, left)),
        Call::Refund(cost) => account.refund(now, cost.units(limit, left)),
        Call::Limit(_) => account.see(now, 0),
    }
}

/// A wait in a unit `scale` times as long, rounded up.
fn coarser(ticks: u64, scale: u64) -> u64 {
    ticks.div_ceil(scale)
}

const FORWARD: Also = Also { clock_back: false, refunds: true, reloads: false };

proptest! {
    #![proptest_config(cases(2_000))]

    /// Goal: the same calls get the same answers on another day.
    /// Method: a random trace, and the same a whole number of periods later.
    #[test]
    fn a_shift_by_whole_periods_changes_nothing(
        shape in shapes(), start in 0..100_000_u64, periods in 1..1_000_u64,
        steps in steps(30, FORWARD),
    ) {
        let shift = periods * shape.period;
        let (mut here, mut there, mut now) = (shape.account(), shape.account(), start);
        let mut last = here.see(now, 0);
        for step in &steps {
            now = step.time(now, shape.period, &last);
            last = call(&mut here, now, &step.call);
            prop_assert_eq!(last, call(&mut there, now + shift, &step.call));
        }
    }

    /// Goal: the unit of time does not matter.
    /// Method: a random trace, and the same with the period and all times multiplied: the same
    /// decisions and units left, and waits that are the same when rounded up to the longer unit.
    #[test]
    fn a_longer_unit_of_time_changes_nothing(
        shape in shapes(), start in 0..100_000_u64, scale in 2..1_000_u64,
        steps in steps(30, FORWARD),
    ) {
        let mut scaled = shape;
        scaled.period *= scale;
        let (mut coarse, mut fine, mut now) = (shape.account(), scaled.account(), start);
        let mut last = coarse.see(now, 0);
        for step in &steps {
            now = step.time(now, shape.period, &last).min(NOW_MAX / scale);
            last = call(&mut coarse, now, &step.call);
            let other = call(&mut fine, now * scale, &step.call);
            prop_assert_eq!(last.remaining, other.remaining);
            prop_assert_eq!(last.reset_after, coarser(other.reset_after, scale));
            let wait = other.retry_after.ticks().map(|ticks| Retry::after(coarser(ticks, scale)));
            prop_assert_eq!(last.retry_after, wait.unwrap_or(other.retry_after));
        }
    }
}
