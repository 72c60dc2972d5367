//! Law 9: clocks that step. No panic, at most one full quota too many, no wait longer than a key
//! takes to be whole.
//!
//! Invariant: `span` is the longest that a key takes to be whole: a period, two for the sliding
//! counter, the time of a full bucket. A key is whole that long after the latest time it has seen.
//! A clock that went back has to come that far first, since a refusal writes nothing.

use super::account::{KINDS, SECOND, Shape, TODAY, shapes};
use super::bounds::most_within;
use super::cases;
use super::trace::{Also, Step, share_of, steps, worn};
use proptest::prelude::*;
use ratekeeper::Algorithm;
use ratekeeper::algorithm::{NOW_MAX, Verdict};

fn span(shape: &Shape) -> u64 {
    match shape.kind {
        Algorithm::SlidingWindowCounter => 2 * shape.period,
        Algorithm::FixedWindow | Algorithm::SlidingWindowLog => shape.period,
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            // Twice what fills it: a clock that went back may find the debt of a settled reservation.
            (2 * shape.burst * shape.period).div_ceil(shape.amount)
        }
    }
}

fn waits_are_within(shape: &Shape, told: &Verdict) -> bool {
    told.reset_after <= span(shape)
        && told.retry_after.ticks().is_none_or(|wait| (1..=span(shape)).contains(&wait))
}

/// What a client that takes all it can get has got, by true time, if its limiter's clock steps by
/// `offset` before the step numbered `at`.
fn greedy_over_a_step(shape: Shape, steps: &[Step], at: usize, offset: i64) -> Vec<(u64, u64)> {
    let (mut account, mut time, mut got) = (shape.account(), TODAY, Vec::new());
    let mut last = account.see(time, 0);
    for (number, step) in steps.iter().enumerate() {
        time = step.time(time, shape.period, &last);
        let now = if number >= at { time.saturating_add_signed(offset) } else { time };
        let left = account.remaining(now);
        last = account.ask(now, left);
        assert!(last.allowed(), "what remained was refused");
        got.push((time, left));
        last = account.see(now, 1);
    }
    got
}

proptest! {
    #![proptest_config(cases(4_000))]

    /// Goal: no clock makes an algorithm panic or tell an absurd wait.
    /// Method: calls at times from all of the range, in no order, with any cost.
    #[test]
    fn times_in_no_order_are_answered_within_bounds(
        shape in shapes(),
        calls in proptest::collection::vec((0..=NOW_MAX, 0..40_u64, any::<bool>()), 1..40),
    ) {
        let mut account = shape.account();
        for (now, cost, refund) in calls {
            let told = if refund { account.refund(now, cost) } else { account.ask(now, cost) };
            prop_assert!(told.remaining <= shape.limit());
            prop_assert!(waits_are_within(&shape, &told), "{told:?}");
        }
    }

    /// Goal: a clock that went back locks nobody out for longer than it takes to come back and for
    /// the key to become whole.
    /// Method: wear a key, step the clock back, hammer while it comes back, and look when it has
    /// and the key's span has passed.
    #[test]
    fn a_clock_that_went_back_locks_nobody_out_for_good(
        shape in shapes(), steps in steps(20, Also::NOTHING), back in 1..5 * SECOND,
        hammering in proptest::collection::vec((any::<u16>(), any::<u16>()), 0..20),
    ) {
        let (mut account, now) = worn(shape, TODAY, &steps);
        for (time, cost) in hammering {
            let during = now - back + share_of(back, time);
            let cost = share_of(shape.limit(), cost);
            let told = account.ask(during, cost);
            prop_assert!(waits_are_within(&shape, &told), "{told:?}");
        }
        prop_assert_eq!(account.remaining(now + span(&shape)), shape.limit());
    }

    /// Goal: one step of the clock, forward or back, gives away at most one full quota.
    /// Method: a greedy client, counted by true time over each period: the bound of law 4 and one
    /// limit more. For a fixed window the step is a whole number of periods: another one also
    /// moves the edge, around which two quotas pass.
    #[test]
    fn one_step_of_the_clock_gives_away_at_most_one_quota(
        shape in shapes(), steps in steps(40, Also::NOTHING), at in 0..40_usize,
        periods in -3_i64..=3, fine in -9_999_i64..=9_999,
    ) {
        let period = shape.period as i64;
        let fine = if shape.kind == Algorithm::FixedWindow { 0 } else { period * fine / 10_000 };
        let offset = periods * period + fine;
        let got = greedy_over_a_step(shape, &steps, at, offset);
        let most = most_within(&got, shape.period);
        match shape.kind {
            Algorithm::FixedWindow => prop_assert!(most <= 3 * shape.amount),
            Algorithm::SlidingWindowLog => prop_assert!(most <= 2 * shape.amount),
            Algorithm::SlidingWindowCounter => prop_assert!(most < 3 * shape.amount),
            Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                for (first, (from, _)) in got.iter().enumerate() {
                    let mut sum = 0;
                    for (to, cost) in &got[first..] {
                        sum += u128::from(*cost);
                        let flow = u128::from(to - from) * u128::from(shape.amount);
                        let flow = flow / u128::from(shape.period);
                        prop_assert!(sum <= 2 * u128::from(shape.burst) + flow);
                    }
                }
            }
        }
    }
}

/// Goal: a clock that goes back and returns has changed nothing.
/// Method: use up a key, look at it from before, return, and compare with a key that stayed.
#[test]
fn a_clock_that_goes_back_and_returns_has_changed_nothing() {
    for kind in KINDS {
        let mut account = Shape::new(kind, 10, SECOND).account();
        assert!(account.ask(TODAY, 10).allowed(), "{kind}");
        let stayed = account.clone();
        for back in [1, SECOND / 2, SECOND, 10 * SECOND, TODAY] {
            assert!(!account.ask(TODAY - back, 1).allowed(), "{kind}: {back} ticks back");
        }
        assert!(account.same_state(&stayed), "{kind}");
    }
}
