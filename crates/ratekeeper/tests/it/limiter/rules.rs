//! Rules by name: what a limiter can be built of, and what it says of names it does not know.
//!
//! Invariant: everything that can be wrong with a rule is found when it is added.

use ratekeeper::limiter::Builder;
use ratekeeper::{Limit, Limiter, ManualClock};

fn with_rules(count: usize) -> Limiter {
    let add = |builder: Builder, number| builder.rule(&format!("r{number}"), "1/second").unwrap();
    (1..=count).fold(Limiter::memory(), add).build()
}

/// Goal: rules are kept by name, in the order in which they were added.
/// Method: three rules, listed and looked up.
#[test]
fn rules_are_listed_in_the_order_in_which_they_were_added() {
    let limiter = Limiter::memory()
        .rule("user", "5/second")
        .unwrap()
        .rule("api.v2", Limit::per_minute(100))
        .unwrap()
        .rule("A-b_c.9", Limit::unlimited())
        .unwrap()
        .build();
    let rules = limiter.rules();
    let names: Vec<&str> = rules.iter().map(ratekeeper::Rule::name).collect();
    assert_eq!(names, ["user", "api.v2", "A-b_c.9"]);
    for name in ["user", "api.v2", "A-b_c.9"] {
        assert_eq!(limiter.rule(name).unwrap().name(), name);
    }
}

/// Goal: a name is given once.
/// Method: the same name twice; another in between does not matter.
#[test]
fn a_name_is_given_once() {
    let two = Limiter::memory().rule("api", "1/second").unwrap().rule("web", "1/second").unwrap();
    let error = two.rule("api", "2/second").unwrap_err();
    assert_eq!(error.to_string(), "rule `api`: is there already; give each rule a name of its own");
}

/// Goal: a name can stand in a header field: plain characters, and not too many.
/// Method: bad names, each with its message; the longest that is taken.
#[test]
fn a_bad_name_is_refused() {
    let fault = "is not a name; write 1 to 64 letters, digits, `-`, `_` or `.`";
    let long = "x".repeat(65);
    let names = [
        ("", ""),
        ("two words", "two words"),
        ("a/b", "a/b"),
        ("naïve", "naïve"),
        ("line\nbreak", "line\\nbreak"),
        (&long, &long[..64]),
    ];
    for (name, shown) in names {
        let error = Limiter::memory().rule(name, "1/second").unwrap_err();
        assert_eq!(error.to_string(), format!("rule `{shown}`: {fault}"));
    }
    assert!(Limiter::memory().rule(&long[..64], "1/second").is_ok());
}

/// Goal: a rule has limits, and each makes sense.
/// Method: no limit at all, a bad text, and a bad one among good ones, with their messages.
#[test]
fn a_rule_without_sense_is_refused() {
    let none: [&str; 0] = [];
    let error = Limiter::memory().rule("api", none).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rule `api`: has no limit; write one such as `100/minute`, or `unlimited`"
    );
    let error = Limiter::memory().rule("api", "100/min").unwrap_err();
    assert_eq!(
        error.to_string(),
        "rule `api`: `100/min`: `min` is not a period; write `100/minute`"
    );
    let error = Limiter::memory().rule("api", ["1/second", "0/day"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rule `api`: `0/day`: a limit of 0 admits nothing; write `deny: true` to close a route"
    );
    let error = Limiter::memory().rule("api", Limit::per_second(5).burst(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rule `api`: a burst of 0 admits nothing; write at least `burst 1`"
    );
}

/// Goal: an unknown name is answered with the known ones.
/// Method: a limiter without rules, one with two, and a name with a line break in it.
#[test]
fn an_unknown_rule_is_answered_with_the_known_ones() {
    let error = Limiter::memory().build().rule("api").unwrap_err();
    assert_eq!(error.to_string(), "no rule is named `api`; there are no rules");

    let limiter = with_rules(2);
    let error = limiter.rule("api").unwrap_err();
    assert_eq!(error.to_string(), "no rule is named `api`; the rules are r1, r2");
    let error = limiter.check_all([("r1", "alice"), ("a\nb", "alice")]).unwrap_err();
    assert_eq!(error.to_string(), "no rule is named `a\\nb`; the rules are r1, r2");
}

/// Goal: of many rules some are shown, and it is said that there are more, if there are.
/// Method: limiters of 16 rules, which are all shown, and of 17.
#[test]
fn of_many_rules_an_unknown_name_is_answered_with_some() {
    let shown: Vec<String> = (1..=16).map(|number| format!("r{number}")).collect();
    let message = format!("no rule is named `api`; the rules are {}", shown.join(", "));
    assert_eq!(with_rules(17).rule("api").unwrap_err().to_string(), format!("{message}, …"));
    assert_eq!(with_rules(16).rule("api").unwrap_err().to_string(), message);
}

/// Goal: rules do not share what a key has used; handles of one limiter do; limiters do not.
/// Method: use up a key under one rule, and ask by every other way.
#[test]
fn rules_count_apart_and_handles_together() {
    let build = || {
        let builder = Limiter::memory().clock(&ManualClock::new());
        builder.rule("a", "1/hour").unwrap().rule("b", "1/hour").unwrap().build()
    };
    let limiter = build();
    let ask = |limiter: &Limiter, rule: &str| {
        limiter.rule(rule).unwrap().try_check("alice").unwrap().is_allowed()
    };
    assert!(ask(&limiter, "a"));
    assert!(!ask(&limiter, "a"));
    assert!(!ask(&limiter.clone(), "a"));
    assert!(ask(&limiter, "b"));
    assert!(ask(&build(), "a"));
}
