//! The lists of policies, read back.
//!
//! Invariant: both lists name the same policies in the same order, each name once within a rule.

use super::structured::{Bare, Item, list};
use super::{IETF, ask, ask_one, fields, start};
use crate::limiter::{limit_of, shapes};
use crate::one_key::{micros, millis, one_key, secs};
use proptest::prelude::*;
use ratekeeper::fields::Field;
use ratekeeper::{Decisions, Limit};

/// The items of a field.
fn read(decisions: &Decisions, field: Field) -> Vec<Item> {
    let told = fields(decisions, IETF, 0);
    let found = told.iter().find(|(own, _)| *own == field);
    list(&found.expect("the field is there").1)
}

fn names(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| &item.name[..]).collect()
}

/// Goal: each limit of a rule has a name of its own, that of its period.
/// Method: limits of every form of a period, two of the same one, and permits.
#[test]
fn limits_of_a_rule_are_named_by_their_periods() {
    let limits: Vec<Limit> = [
        "5/second",
        "9/minute",
        "9/1h30m",
        "80/minute burst 7",
        "unlimited",
        "90/day",
        "3 concurrent",
        "100/minute",
        "90/500ms",
    ]
    .map(|text| text.parse().unwrap())
    .to_vec();
    let decisions = ask_one(&one_key(limits), 1);
    let policies = read(&decisions, Field::RateLimitPolicy);
    let expected = [
        "rule-second",
        "rule-minute",
        "rule-1h30m",
        "rule-minute-2",
        "rule-day",
        "rule-concurrent",
        "rule-minute-3",
        "rule-500ms",
    ];
    assert_eq!(names(&policies), expected);
    assert_eq!(names(&read(&decisions, Field::RateLimit)), expected);
    assert_eq!(policies[3].integer("ratekeeper-burst"), Some(7));
    assert_eq!(policies[5].get("qu"), Some(&Bare::Text("concurrent-requests".into())));
}

/// Goal: a limit beside one that limits nothing has the rule's name.
/// Method: the two in one rule.
#[test]
fn the_only_limit_that_limits_has_the_name_of_the_rule() {
    let decisions = ask_one(&one_key(["unlimited", "9/minute"]), 1);
    assert_eq!(names(&read(&decisions, Field::RateLimitPolicy)), ["rule"]);
}

/// Goal: windows that are no whole seconds are told in milliseconds, exactly.
/// Method: a microsecond more and less than a second, and the shortest period.
#[test]
fn windows_of_no_whole_seconds_are_told_in_milliseconds() {
    let told = |period| {
        let on = one_key(Limit::per(9, period));
        let item = read(&ask_one(&on, 1), Field::RateLimitPolicy).remove(0);
        (item.integer("w"), item.get("ratekeeper-window-ms").cloned())
    };
    assert_eq!(told(secs(1)), (Some(1), None));
    assert_eq!(told(secs(1) + micros(1)), (None, Some(Bare::Decimal(1_000_001))));
    assert_eq!(told(secs(1) - micros(1)), (None, Some(Bare::Decimal(999_999))));
    assert_eq!(told(secs(1) + micros(10)), (None, Some(Bare::Decimal(1_000_010))));
    assert_eq!(told(millis(1)), (None, Some(Bare::Integer(1))));
    assert_eq!(told(millis(1_500)), (None, Some(Bare::Integer(1_500))));
}

/// Goal: the order of the policies is that in which the rules were asked.
/// Method: three rules in two orders.
#[test]
fn policies_are_in_the_order_of_the_rules() {
    let (_, mut builder) = start();
    for name in ["a", "b", "c"] {
        builder = builder.rule(name, "9/minute").unwrap();
    }
    let limiter = builder.build();
    for order in [["a", "b", "c"], ["c", "a", "b"]] {
        let decisions = ask(&limiter, &order, 1);
        assert_eq!(names(&read(&decisions, Field::RateLimitPolicy)), order);
        assert_eq!(names(&read(&decisions, Field::RateLimit)), order);
    }
}

proptest! {
    /// Goal: whatever the limit, what is written can be read, and says what the decision says.
    /// Method: limits of any size, down to the bounds, under random costs.
    #[test]
    fn what_is_written_is_what_was_decided(shape in shapes(), costs in prop::collection::vec(0..50_u64, 1..8)) {
        let on = one_key(limit_of(&shape));
        for cost in costs {
            let decisions = ask_one(&on, cost);
            let policy = read(&decisions, Field::RateLimitPolicy).remove(0);
            prop_assert_eq!(policy.integer("q"), Some(shape.amount));
            let own_burst = shape.kind.is_bucket() && shape.burst != shape.amount;
            let own_burst = own_burst.then_some(shape.burst);
            prop_assert_eq!(policy.integer("ratekeeper-burst"), own_burst);
            let whole = shape.period.is_multiple_of(1_000_000);
            prop_assert_eq!(policy.integer("w"), whole.then_some(shape.period / 1_000_000));
            prop_assert_eq!(policy.get("ratekeeper-window-ms").is_none(), whole);
            let left = read(&decisions, Field::RateLimit).remove(0);
            prop_assert_eq!(left.integer("r"), Some(decisions.remaining()));
            prop_assert!(left.integer("t") > Some(0));
        }
    }
}
