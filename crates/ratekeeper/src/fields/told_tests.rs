//! What answers are told that no limiter in memory gives: shares, shadows, outages and closed routes.
//!
//! Invariant: each answer is put together here as the walk through the rules would.

use super::{Field, Policy, text, write};
use crate::algorithm::{Retry, UNKNOWN, Verdict};
use crate::decision::{Decision, Decisions, Label, RuleResult, Source};
use crate::few::Few;
use crate::limit::Limit;
use crate::rule::FieldForms;
use std::sync::Arc;
use std::time::Duration;

/// Figures of a decision: limit, remaining, ticks to reset, and when to retry.
pub(super) fn decision(
    limit: u64,
    remaining: u64,
    reset_after: u64,
    retry_after: Retry,
) -> Decision {
    let verdict = Verdict { remaining, reset_after, retry_after, more_after: 0 };
    Decision { verdict, limit, ..Decision::UNLIMITED }
}

/// A rule of this name that admits nothing.
pub(super) const CLOSED: fn() -> Decision = || decision(0, 0, UNKNOWN, Retry::NEVER);

/// A rule without a store that refuses then.
pub(super) const OUTAGE: fn() -> Decision = || {
    let refused = decision(u64::MAX, 0, UNKNOWN, Retry::UNKNOWN);
    Decision { source: Source::FailedClosed, ..refused }
};

/// What one rule says.
pub(super) fn rule(name: &str, limits: &[&str], own: &[Decision], shadow: bool) -> RuleResult {
    let limits: Vec<Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    let (id, name): (Arc<str>, Arc<str>) = ("id".into(), name.into());
    let policies = Policy::all(&name, &limits);
    let result = RuleResult::new(&Arc::new(Label { id, name, policies }), own);
    if shadow { result.in_shadow() } else { result }
}

fn told(decisions: &Decisions, forms: FieldForms) -> Vec<(Field, String)> {
    let mut told = Vec::new();
    write(decisions, forms, 0, &mut |field, value| told.push((field, value.to_owned())));
    told
}

/// The value of `RateLimit`.
fn left(limit: Limit, own: Decision) -> String {
    let name: Arc<str> = "p".into();
    let policies = Policy::all(&name, &[limit]);
    let mut text = String::new();
    policies[0].write_left(&mut text, &own);
    text
}

/// Goal: rules in shadow, closed rules and answers without figures have no fields.
/// Method: each alone, and beside a rule that has figures.
#[test]
fn what_has_no_figures_has_no_fields() {
    let figures = decision(10, 9, 1_000_000, Retry::NOW);
    let open = Decision { source: Source::FailedOpen, ..Decision::UNLIMITED };
    let hidden = || {
        [
            rule("shadow", &["10/second"], &[figures], true),
            rule("refusing-shadow", &["10/second"], &[decision(10, 0, 9, Retry::after(9))], true),
            rule("open", &["10/second", "9/minute"], &[open, open], false),
            rule("free", &["unlimited"], &[Decision::UNLIMITED], false),
        ]
    };
    for alone in hidden() {
        assert_eq!(told(&Decisions::new(Few::One(alone), 1), FieldForms::default()), []);
    }
    let mut all = hidden().to_vec();
    all.push(rule("seen", &["10/second"], &[figures], false));
    let told = told(&Decisions::new(all.into(), 1), FieldForms::default());
    assert_eq!(told[0], (Field::RateLimitPolicy, r#""seen";q=10;w=1"#.into()));
    assert_eq!(told.len(), 5);
}

/// Goal: a closed rule, and one that refuses without a store, have no figures either.
/// Method: each of them; the first is not told to retry, the second after a second.
#[test]
fn closed_rules_and_outages_show_no_figures() {
    let closed = Decisions::new(Few::One(rule("a", &["10/second"], &[CLOSED()], false)), 1);
    assert_eq!(told(&closed, FieldForms::default()), []);
    let outage = Decisions::new(Few::One(rule("a", &["10/second"], &[OUTAGE()], false)), 1);
    assert_eq!(told(&outage, FieldForms::default()), [(Field::RetryAfter, "1".into())]);
}

/// Goal: a name may be any printable ASCII, and is quoted as a structured field's string.
/// Method: quotes, backslashes and spaces; and what no string can hold.
#[test]
fn names_are_quoted() {
    let figures = decision(10, 9, 1_000_000, Retry::NOW);
    let rule = rule(r#"a "b" \ ~"#, &["10/second"], &[figures], false);
    let told = told(&Decisions::new(Few::One(rule), 1), FieldForms::default());
    assert_eq!(told[0].1, r#""a \"b\" \\ ~";q=10;w=1"#);
    assert_eq!(told[1].1, r#""a \"b\" \\ ~";r=9;t=1"#);
    let mut text = String::new();
    text::quoted(&mut text, "ä\n\u{7f}z");
    assert_eq!(text, r#""???z""#);
}

/// Goal: integers are written as they are, with at most 15 digits.
/// Method: all small ones, those around each power of ten, the largest that fits, and one more.
#[test]
fn numbers_are_cut_to_fifteen_digits() {
    let write = |value| {
        let mut text = String::new();
        text::number(&mut text, value);
        text
    };
    let around = |power| {
        let ten = 10_u64.pow(power);
        [ten - 1, ten, ten + 1, ten * 9 / 7]
    };
    for value in (0..12_345).chain((1..15).flat_map(around)).chain([999_999_999_999_999]) {
        assert_eq!(write(value), value.to_string());
    }
    assert_eq!(write(1_000_000_000_000_000), "999999999999999");
    assert_eq!(write(u64::MAX), "999999999999999");
}

/// Goal: a server's own share of a limit is told with times that are late enough.
/// Method: a fifth of 10 per second: two units, of which one takes half a second. With nothing left and
/// nothing refused the next unit is at most that far away, and less than all but one of the units tell.
#[test]
fn a_share_of_a_limit_is_told_late_enough() {
    let limit = Limit::per_second(10).build().unwrap();
    assert_eq!(left(limit, decision(2, 1, 500_000, Retry::NOW)), r#""p";r=1;t=1"#);
    let slow = Limit::per_minute(10).build().unwrap();
    assert_eq!(left(slow, decision(2, 0, 60_000_000, Retry::NOW)), r#""p";r=0;t=60"#);
    assert_eq!(left(slow, decision(5, 0, 60_000_000, Retry::NOW)), r#""p";r=0;t=15"#);
    assert_eq!(left(slow, decision(1, 0, 59_000_001, Retry::NOW)), r#""p";r=0;t=60"#);
    let refused = decision(2, 0, 60_000_000, Retry::after(29_000_001));
    assert_eq!(left(slow, refused), r#""p";r=0;t=30"#, "a wait that was told is known");
}

/// Goal: a line that is too long to wait in is open again once it is shorter.
/// Method: ten per second with waits of two seconds at most, of which three are ahead.
#[test]
fn a_line_that_is_too_long_is_open_once_it_is_shorter() {
    let line = Limit::per_second(10).burst(1_000).shaping().max_wait(Duration::from_secs(2));
    let own = decision(1_000, 0, 3_000_000, Retry::NOW);
    assert_eq!(left(line.build().unwrap(), own), r#""p";r=0;t=1"#);
    let own = decision(1_000, 0, 3_000_001, Retry::NOW);
    assert_eq!(left(line.build().unwrap(), own), r#""p";r=0;t=2"#);
}

/// Goal: where the store cannot tell when, no time is made up.
/// Method: the answer about a key that holds something else.
#[test]
fn what_nobody_knows_is_left_out() {
    let unknown = decision(10, 0, UNKNOWN, Retry::UNKNOWN);
    assert_eq!(left(Limit::per_second(10).build().unwrap(), unknown), r#""p";r=0"#);
    let rule = rule("p", &["10/second"], &[unknown], false);
    let forms = FieldForms { ietf: false, x_ratelimit: true, draft_07: true, draft_06: true };
    let told = told(&Decisions::new(Few::One(rule), 1), forms);
    let names: Vec<&str> = told.iter().map(|(field, _)| field.name()).collect();
    assert!(!names.contains(&"x-ratelimit-reset") && !names.contains(&"ratelimit-reset"));
    assert_eq!(told[0].1, "1");
    assert!(told.contains(&(Field::RateLimit, "limit=10, remaining=0".into())));
}
