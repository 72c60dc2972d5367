//! Rule R10: units given back, up to what is recorded and never above full; always allowed.
//!
//! Invariant: a refund of what was just charged leaves no trace in any answer.

use super::account::shapes;
use super::cases;
use super::trace::{Also, share_of, starts, steps, worn};
use proptest::prelude::*;
use ratekeeper::Algorithm;
use ratekeeper::algorithm::Retry;

proptest! {
    #![proptest_config(cases(2_000))]

    /// Goal: giving back what was just taken undoes it.
    /// Method: wear a key, charge it and refund the same; every answer is as it was before.
    #[test]
    fn a_refund_of_the_last_charge_undoes_it(
        shape in shapes(), start in starts(), steps in steps(20, Also::NOTHING),
        share in any::<u16>(), asked in 0..30_u64,
    ) {
        let (mut account, now) = worn(shape, start, &steps);
        let before = account.see(now, asked);
        let cost = share_of(account.remaining(now), share);
        prop_assert!(account.ask(now, cost).allowed());
        prop_assert!(account.refund(now, cost).allowed());
        prop_assert_eq!(account.see(now, asked), before);
    }

    /// Goal: a refund gives back just its units, and never more than was used.
    /// Method: wear a key, refund a random number, and compare what is left. A counter gives back
    /// to the former window too, where a unit weighs less than one.
    #[test]
    fn a_refund_gives_back_its_units_and_never_more_than_was_used(
        shape in shapes(), start in starts(), steps in steps(20, Also::NOTHING),
        units in 0..40_u64,
    ) {
        let (mut account, now) = worn(shape, start, &steps);
        let whole = (account.remaining(now) + units).min(shape.limit());
        let told = account.refund(now, units);
        prop_assert_eq!(told.retry_after, Retry::NOW);
        prop_assert_eq!(told.remaining, account.remaining(now));
        if shape.kind == Algorithm::SlidingWindowCounter {
            prop_assert!(told.remaining <= whole);
        } else {
            prop_assert_eq!(told.remaining, whole);
        }
    }

    /// Goal: everything given back is a whole key, whatever happened before.
    /// Method: wear a key with everything that can happen, and refund the largest number.
    #[test]
    fn a_refund_of_everything_makes_the_key_whole(
        shape in shapes(), start in starts(), steps in steps(20, Also::EVERYTHING),
    ) {
        let (mut account, now) = worn(shape, start, &steps);
        let told = account.refund(now, u64::MAX);
        prop_assert_eq!(told.remaining, account.shape.limit());
        prop_assert!(account.admits(now, account.shape.limit()));
        if shape.kind != Algorithm::FixedWindow {
            prop_assert_eq!(told.reset_after, 0);
        }
    }
}
