//! Many keys under one rule, in one call.
//!
//! Invariant: the answers are those of one call after the other at the same instant, in the order of
//! the keys.

use super::block_on;
use crate::laws::cases;
use crate::one_key::{millis, one_key};
use proptest::prelude::*;
use ratekeeper::limiter::IntoLimits;
use ratekeeper::{Algorithm, Decision, Limit};

/// The limits that many keys are asked under: each algorithm, and several limits at once.
fn limits(which: usize) -> Vec<Limit> {
    let limits = match which {
        5 => vec!["3/second", "5/minute"].into_limits(),
        _ => Limit::per_second(3).algorithm(Algorithm::ALL[which]).into_limits(),
    };
    limits.expect("the limits make sense")
}

proptest! {
    #![proptest_config(cases(600))]

    /// Goal: many keys at once are answered like one after the other.
    /// Method: two limiters on the same times; one is asked for lists of keys, with duplicates and
    /// of any length, the other for each key in turn.
    #[test]
    fn many_keys_are_answered_like_one_by_one(
        which in 0..6_usize,
        calls in proptest::collection::vec(
            (0..900_u64, proptest::collection::vec(0..30_u8, 0..50), 0..5_u64), 1..8,
        ),
    ) {
        let (many, single) = (one_key(limits(which)), one_key(limits(which)));
        for (wait, keys, cost) in calls {
            many.wait(millis(wait));
            single.wait(millis(wait));
            let keys: Vec<String> = keys.iter().map(|key| format!("key {key}")).collect();
            let together = many.rule.check_many(&keys).cost(cost).try_now().unwrap();
            let one_by_one: Vec<_> = keys
                .iter()
                .map(|key| single.rule.check(key).cost(cost).try_now().unwrap())
                .collect();
            prop_assert_eq!(together, one_by_one);
        }
    }
}

/// Goal: the answers are in the order of the keys, and duplicates are charged each.
/// Method: a list in which some keys are used up and one appears too often.
#[test]
fn the_answers_are_in_the_order_of_the_keys() {
    let rule = one_key("2/hour").rule;
    assert!(rule.check("spent").cost(2).try_now().unwrap().is_allowed());
    let keys = ["a", "spent", "b", "a", "a", "spent", "b"];
    let answers = block_on(rule.check_many(&keys));
    let allowed: Vec<bool> = answers.iter().map(Decision::is_allowed).collect();
    assert_eq!(allowed, [true, false, true, true, false, false, true]);
    let left: Vec<u64> = answers.iter().map(Decision::remaining).collect();
    assert_eq!(left, [1, 0, 1, 0, 0, 0, 0]);
}

/// Goal: a list may be empty, and the rule unlimited.
/// Method: both.
#[test]
fn no_keys_and_no_limit() {
    let none: [&str; 0] = [];
    assert!(one_key("2/hour").rule.check_many(&none).try_now().unwrap().is_empty());
    let open = one_key(Limit::unlimited());
    let answers = open.rule.check_many(&["a", "b"]).cost(9).try_now().unwrap();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(Decision::is_allowed));
}
