//! Every figure of every algorithm equals the oracle's, on random traces.
//!
//! Invariant: library and oracle see the same calls at the same times, and meet in nothing else.

use super::account::{Account, MINUTE, SECOND, Shape, TODAY, shapes, small, verdict};
use super::cases;
use super::trace::{Also, Call, Step, share_of, starts, steps};
use proptest::prelude::*;
use ratekeeper::Algorithm;
use ratekeeper::algorithm::Verdict;
use ratekeeper_testing::oracle::{self, Answer, Oracle, Retry};

/// Runs a trace past both and compares each answer; also law 3 on the way: a refusal and a
/// peek leave the state as it was.
fn compare(shape: Shape, start: u64, steps: &[Step]) -> Result<(), TestCaseError> {
    let (mut account, mut oracle, mut now) = (shape.account(), shape.oracle(), start);
    let mut last = account.see(now, 0);
    for (number, step) in steps.iter().enumerate() {
        now = step.time(now, shape.period, &last);
        let (limit, left) = (oracle.limit(), account.remaining(now));
        let (told, expected) = match &step.call {
            Call::Ask(cost) => {
                let cost = cost.units(limit, left);
                let before = account.clone();
                let told = account.ask(now, cost);
                let untouched = cost > 0 && told.allowed() || account.same_state(&before);
                prop_assert!(untouched, "step {number}: a refusal or a peek wrote");
                (told, oracle::ask(&mut *oracle, now, cost))
            }
            Call::Refund(cost) => {
                let units = cost.units(limit, left);
                (account.refund(now, units), oracle::refund(&mut *oracle, now, units))
            }
            Call::Limit(share) => reload(&mut account, &mut *oracle, now, *share, shape.limit()),
        };
        prop_assert_eq!(told, verdict(expected), "step {} at {}: {:?}", number, now, &step.call);
        last = told;
    }
    Ok(())
}

fn reload(
    account: &mut Account,
    oracle: &mut dyn Oracle,
    now: u64,
    share: u16,
    first_limit: u64,
) -> (Verdict, Answer) {
    let limit = share_of(2 * first_limit, share).max(1);
    account.change_limit(limit);
    oracle.change_limit(limit);
    (account.see(now, 0), oracle::ask(oracle, now, 0))
}

proptest! {
    #![proptest_config(cases(16_000))]

    /// Goal: each answer to ordinary traffic is the one of the specification.
    /// Method: random traces of short and of real periods, costs from 0 to above the limit, against
    /// the oracle.
    #[test]
    fn ordinary_traffic_is_answered_as_specified(
        shape in shapes(), start in starts(), steps in steps(40, Also::NOTHING),
    ) {
        compare(shape, start, &steps)?;
    }

    /// Goal: nothing that can happen to a key makes a figure differ from the specification's.
    /// Method: as above, with a clock that goes back, refunds, and limits raised and lowered.
    #[test]
    fn eventful_traffic_is_answered_as_specified(
        shape in shapes(), start in starts(), steps in steps(40, Also::EVERYTHING),
    ) {
        compare(shape, start, &steps)?;
    }

    /// Goal: the same where every tick is an edge or beside one.
    /// Method: periods of a few ticks, and everything that can happen.
    #[test]
    fn short_periods_are_answered_as_specified(
        shape in small(), start in 0..200_u64, steps in steps(40, Also::EVERYTHING),
    ) {
        compare(shape, start, &steps)?;
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    /// Goal: a log that keeps a large cost in several entries answers like one that does not.
    /// Method: amounts up to the largest that a limit allows, far above what one entry holds.
    #[test]
    fn a_log_of_large_costs_is_answered_as_specified(
        amount in 4_000..=10_000_u64, start in starts(), steps in steps(30, Also::EVERYTHING),
    ) {
        compare(Shape::new(Algorithm::SlidingWindowLog, amount, SECOND), start, &steps)?;
    }
}

/// Goal: the oracle itself is not blind: it agrees with figures worked out by hand.
/// Method: three windows of 3 per minute; two units at :10, a third at :40, a fourth refused there.
#[test]
fn the_oracle_gives_the_figures_worked_out_by_hand_for_windows() {
    let expected = [
        // The window ends at :60.
        (Algorithm::FixedWindow, 20, 20),
        // The two units of :10 are out at :70; the newest, of :40, at :100.
        (Algorithm::SlidingWindowLog, 30, 60),
        // In the next window three units weigh 3 × (1 − e): with one more, at most 3 from :80 on.
        (Algorithm::SlidingWindowCounter, 40, 80),
    ];
    for (kind, retry_after, reset_after) in expected {
        let mut key = Shape::new(kind, 3, MINUTE).oracle();
        let mut ask = |second, cost| oracle::ask(&mut *key, TODAY + second * SECOND, cost);

        assert_eq!(ask(10, 2).remaining, 1, "{kind}");
        assert_eq!(ask(40, 1).remaining, 0, "{kind}");
        let refused = ask(40, 1);
        assert_eq!(refused.retry_after, Retry::After(retry_after * SECOND), "{kind}");
        assert_eq!(refused.reset_after, reset_after * SECOND, "{kind}");
        assert_eq!(ask(40, 4).retry_after, Retry::Never, "{kind}");
    }
}

/// Goal: the same for the bucket.
/// Method: 3 per minute is a unit in 20 s; two units at :10 are half a unit at :40, where two more
/// fit and a third does not.
#[test]
fn the_oracle_gives_the_figures_worked_out_by_hand_for_buckets() {
    let mut key = Shape::new(Algorithm::TokenBucket, 3, MINUTE).oracle();
    let mut ask = |second, cost| oracle::ask(&mut *key, TODAY + second * SECOND, cost);

    assert_eq!(ask(10, 2).remaining, 1);
    let third = ask(40, 1);
    assert_eq!((third.remaining, third.reset_after), (1, 30 * SECOND));
    let fourth = ask(40, 1);
    assert_eq!((fourth.remaining, fourth.reset_after), (0, 50 * SECOND));
    assert_eq!(ask(40, 1).retry_after, Retry::After(10 * SECOND));
    assert_eq!(ask(40, 4).retry_after, Retry::Never);
}
