//! Laws 1, 2, 3 and 5 on the library alone: figures are exact on both sides of their boundary, time
//! only helps, asking costs nothing, and a cost is as good as its units one by one.
//!
//! Invariant: no oracle here; each figure is held against what the same library then admits.

use super::account::{Account, Shape, shapes, small};
use super::cases;
use super::trace::{Also, Step, share_of, starts, steps, worn};
use proptest::prelude::*;
use ratekeeper::Algorithm;
use ratekeeper::algorithm::Retry;

/// A clock that only goes forward, and anything else.
const FORWARD: Also = Also { clock_back: false, refunds: true, reloads: false };

/// A worn key that is not whole: it is charged a unit if it is.
fn in_use(shape: Shape, start: u64, steps: &[Step]) -> (Account, u64) {
    let (mut account, now) = worn(shape, start, steps);
    if account.remaining(now) == account.shape.limit() {
        assert!(account.ask(now, 1).allowed());
    }
    (account, now)
}

proptest! {
    #![proptest_config(cases(6_000))]

    /// Goal: `remaining` is the largest cost that is admitted at this instant, and no estimate.
    /// Method: wear a key with a random trace, then ask for just that and for one more.
    #[test]
    fn what_remains_is_admitted_and_one_more_is_not(
        shape in shapes(), start in starts(), steps in steps(20, Also::EVERYTHING),
    ) {
        let (account, now) = worn(shape, start, &steps);
        let left = account.remaining(now);
        prop_assert!(left <= account.shape.limit());
        prop_assert!(account.admits(now, left));
        prop_assert!(!account.admits(now, left + 1));
    }

    /// Goal: `retry_after` is the first instant that works.
    /// Method: wear a key, have a cost above what is left refused, and ask one tick before the
    /// promise and at it.
    #[test]
    fn a_refused_cost_is_admitted_when_promised_and_not_a_tick_earlier(
        shape in shapes(), start in starts(), steps in steps(20, FORWARD), more in any::<u16>(),
    ) {
        let (account, now) = in_use(shape, start, &steps);
        let (left, limit) = (account.remaining(now), account.shape.limit());
        let cost = left + 1 + share_of(limit - left - 1, more);
        let wait = account.see(now, cost).retry_after.ticks().expect("the cost is refused");
        prop_assert!(wait >= 1);
        prop_assert!(!account.admits(now + wait - 1, cost));
        prop_assert!(account.admits(now + wait, cost));
    }

    /// Goal: `reset_after` is the first instant at which the whole limit is there.
    /// Method: wear a key, look one tick before the promise and at it. A fixed window promises its
    /// edge, where all is whole, though it may be so before.
    #[test]
    fn all_is_whole_when_promised_and_not_a_tick_earlier(
        shape in shapes(), start in starts(), steps in steps(20, FORWARD),
    ) {
        let (account, now) = worn(shape, start, &steps);
        let (wait, limit) = (account.see(now, 0).reset_after, account.shape.limit());
        prop_assert_eq!(account.remaining(now + wait), limit);
        if shape.kind == Algorithm::FixedWindow {
            prop_assert_eq!((now + wait) % shape.period, 0);
            prop_assert!((1..=shape.period).contains(&wait));
        } else if wait > 0 {
            prop_assert!(account.remaining(now + wait - 1) < limit);
        }
    }

    /// Goal: what is admissible stays admissible while nothing else arrives.
    /// Method: wear a key of a short period, and try each cost at each tick of the next three
    /// periods: once admitted, always admitted, and first when promised.
    #[test]
    fn time_alone_never_takes_anything_away(
        shape in small(), start in 0..200_u64, steps in steps(20, FORWARD),
    ) {
        let (account, now) = worn(shape, start, &steps);
        let horizon = 3 * shape.period + shape.burst * shape.period / shape.amount + 1;
        for cost in 1..=account.shape.limit() {
            let admitted: Vec<bool> =
                (0..=horizon).map(|wait| account.admits(now + wait, cost)).collect();
            prop_assert!(admitted.is_sorted(), "cost {cost}: {admitted:?}");
            let first = admitted.iter().position(|admitted| *admitted).map(|wait| wait as u64);
            let promised = account.see(now, cost).retry_after;
            prop_assert_eq!(first, Some(promised.ticks().unwrap_or(0)), "cost {}", cost);
        }
    }

    /// Goal: a node that was told to wait may refuse by itself until then, without error.
    /// Method: have a cost refused, let other requests of the key come in meanwhile, and ask for
    /// the same cost and larger ones at each tick before the promise.
    #[test]
    fn traffic_never_brings_a_promised_instant_forward(
        shape in small(), start in 0..200_u64, steps in steps(20, FORWARD),
        others in proptest::collection::vec((0..30_u64, 1..5_u64), 0..10),
    ) {
        let (mut account, now) = in_use(shape, start, &steps);
        let cost = account.remaining(now) + 1;
        let wait = account.see(now, cost).retry_after.ticks().expect("the cost is refused");
        for tick in 0..wait {
            for (_, other) in others.iter().filter(|(at, _)| *at == tick) {
                let _ = account.ask(now + tick, *other);
            }
            prop_assert!(!account.admits(now + tick, cost));
            prop_assert!(!account.admits(now + tick, cost + 1));
        }
    }

    /// Goal: a cost is admitted whole exactly if its units are, one by one, at the same tick.
    /// Method: wear a key, then charge a copy at once and another copy in units.
    #[test]
    fn a_cost_is_as_good_as_its_units_one_by_one(
        shape in shapes(), start in starts(), steps in steps(20, Also::EVERYTHING),
        cost in 1..40_u64,
    ) {
        let (mut whole, now) = worn(shape, start, &steps);
        let mut units = whole.clone();
        let at_once = whole.ask(now, cost);
        let mut one_by_one = (0..cost).map(|_| units.ask(now, 1));
        prop_assert_eq!(at_once.allowed(), one_by_one.all(|unit| unit.allowed()));
        if at_once.allowed() {
            prop_assert_eq!(whole.see(now, 0), units.see(now, 0));
        }
    }

    /// Goal: a cost above the limit is refused for good, without a time to come back.
    /// Method: wear a key, ask for one more than the limit and for the largest number.
    #[test]
    fn a_cost_above_the_limit_never_fits(
        shape in shapes(), start in starts(), steps in steps(20, Also::EVERYTHING),
    ) {
        let (mut account, now) = worn(shape, start, &steps);
        let (before, limit) = (account.clone(), account.shape.limit());
        for cost in [limit + 1, u64::MAX] {
            let verdict = account.ask(now, cost);
            prop_assert_eq!(verdict.retry_after, Retry::NEVER);
            prop_assert_eq!(verdict.retry_after.ticks(), None);
            prop_assert_eq!(verdict.remaining, before.remaining(now));
            prop_assert!(account.same_state(&before));
        }
    }

    /// Goal: dropping what no longer counts changes no answer.
    /// Method: wear a key, prune a copy of it, and compare what both say now and later.
    #[test]
    fn pruning_changes_no_answer(
        shape in shapes(), start in starts(), steps in steps(20, Also::EVERYTHING),
        cost in 0..20_u64, later in any::<u16>(),
    ) {
        let (account, now) = worn(shape, start, &steps);
        let mut pruned = account.clone();
        pruned.prune(now);
        let later = now + share_of(2 * shape.period, later);
        prop_assert_eq!(account.see(now, cost), pruned.see(now, cost));
        prop_assert_eq!(account.see(later, cost), pruned.see(later, cost));
    }
}
