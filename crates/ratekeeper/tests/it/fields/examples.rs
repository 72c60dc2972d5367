//! The bytes of the specification's examples.
//!
//! Invariant: what is expected is copied from there, but for the case of names.

use super::{DRAFT_06, DRAFT_07, IETF, NONE, X, ask, lines, start};
use crate::one_key::{fixed, log, millis, secs};
use ratekeeper::fields::{Refusal, write};
use ratekeeper::rule::FieldForms;
use ratekeeper::{Decisions, Limit, Limiter};

/// Goal: one policy that admits.
/// Method: the first of a hundred requests.
#[test]
fn one_policy_admits() {
    let limiter = start().1.rule("default", "100/minute").unwrap().build();
    let told = lines(&ask(&limiter, &["default"], 1), IETF);
    let expected =
        [r#"ratelimit-policy: "default";q=100;w=60"#, r#"ratelimit: "default";r=99;t=60"#];
    assert_eq!(told, expected);
}

/// A window of 100 per minute, 11.4 s before its end, after a request that it refused.
fn refused() -> Decisions {
    let (clock, builder) = start();
    let limiter = builder.rule("default", fixed(Limit::per_minute(100))).unwrap().build();
    clock.advance(millis(48_600));
    assert!(ask(&limiter, &["default"], 100).is_allowed());
    ask(&limiter, &["default"], 1)
}

/// Goal: one policy that refuses, fields and body.
/// Method: a window that is used up 11.4 s before its end.
#[test]
fn one_policy_refuses() {
    let decisions = refused();
    let expected = [
        "retry-after: 12",
        r#"ratelimit-policy: "default";q=100;w=60"#,
        r#"ratelimit: "default";r=0;t=12"#,
    ];
    assert_eq!(lines(&decisions, IETF), expected);
    assert_eq!(lines(&decisions, NONE), ["retry-after: 12"]);
    let refusal = Refusal::of(&decisions).unwrap();
    assert_eq!(refusal.status(), 429);
    assert_eq!(
        refusal.problem(Some("01J")),
        concat!(
            r##"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","##,
            r##""title":"Quota Exceeded","status":429,"##,
            r##""detail":"quota of policy \"default\" exceeded, retry in 12 s","##,
            r##""violated-policies":["default"],"retry_after":11.4,"instance":"01J"}"##,
        )
    );
    assert_eq!(refusal.plain(), "quota of policy \"default\" exceeded, retry in 12 s\n");
}

/// A log of 90 per minute that has nothing left, beside a day of 2500 of which 431 are left.
fn burst_and_daily() -> Decisions {
    let (clock, builder) = start();
    let limiter = builder
        .rule("burst", log(Limit::per_minute(90)))
        .and_then(|builder| builder.rule("daily", fixed(Limit::per_day(2_500))))
        .unwrap()
        .build();
    clock.advance(secs(86_400 - 40_213 - 48));
    assert!(ask(&limiter, &["burst"], 90).is_allowed());
    assert!(ask(&limiter, &["daily"], 2_500 - 431).is_allowed());
    clock.advance(secs(48));
    ask(&limiter, &["burst", "daily"], 1)
}

/// Goal: several policies, of which one refuses: all are told of, in order.
/// Method: a minute that is used up beside a day that is not; then the older forms of the same, which
/// tell of the one that refused.
#[test]
fn one_of_several_policies_refuses() {
    let decisions = burst_and_daily();
    let expected = [
        "retry-after: 12",
        r#"ratelimit-policy: "burst";q=90;w=60, "daily";q=2500;w=86400"#,
        r#"ratelimit: "burst";r=0;t=12, "daily";r=431;t=40213"#,
    ];
    assert_eq!(lines(&decisions, IETF), expected);
    let draft_06 = [
        "retry-after: 12",
        "ratelimit-policy: 90;w=60, 2500;w=86400",
        "ratelimit-limit: 90",
        "ratelimit-remaining: 0",
        "ratelimit-reset: 12",
    ];
    assert_eq!(lines(&decisions, DRAFT_06), draft_06);
}

/// Goal: a burst that is not the amount, and permits.
/// Method: the policies of the specification, the permits with 17 of 20 held.
#[test]
fn bursts_and_permits_have_their_parameters() {
    let builder = start().1.rule("api", "600/minute burst 20").unwrap();
    let limiter = builder.rule("inflight", "20 concurrent").unwrap().build();
    let api = lines(&ask(&limiter, &["api"], 1), IETF);
    assert_eq!(api[0], r#"ratelimit-policy: "api";q=600;w=60;ratekeeper-burst=20"#);
    assert_eq!(api[1], r#"ratelimit: "api";r=19;t=2"#);
    let expected = [
        r#"ratelimit-policy: "inflight";q=20;qu="concurrent-requests""#,
        r#"ratelimit: "inflight";r=3"#,
    ];
    assert_eq!(lines(&ask(&limiter, &["inflight"], 17), IETF), expected);
    let refused = ask(&limiter, &["inflight"], 4);
    assert_eq!(lines(&refused, NONE), ["retry-after: 1"], "nobody knows when");
    let older = ["retry-after: 1", "x-ratelimit-limit: 20", "x-ratelimit-remaining: 3"];
    assert_eq!(lines(&refused, X), older, "nobody knows when all are there");
}

/// Goal: the older forms, and those of vendors.
/// Method: the refusal of the specification in each; the reset of the last is a time of day.
#[test]
fn older_forms_tell_of_the_decisive_policy() {
    let decisions = refused();
    let draft_06 = [
        "retry-after: 12",
        "ratelimit-policy: 100;w=60",
        "ratelimit-limit: 100",
        "ratelimit-remaining: 0",
        "ratelimit-reset: 12",
    ];
    assert_eq!(lines(&decisions, DRAFT_06), draft_06);
    let draft_07 = [
        "retry-after: 12",
        "ratelimit-policy: 100;w=60",
        "ratelimit: limit=100, remaining=0, reset=12",
    ];
    assert_eq!(lines(&decisions, DRAFT_07), draft_07);
    let mut told = Vec::new();
    write(&decisions, X, 1_767_225_648_600_000, &mut |_, value| told.push(value.to_owned()));
    assert_eq!(told, ["12", "100", "0", "1767225660"]);
    write(&decisions, X, 1_767_225_648_600_001, &mut |_, value| told.push(value.to_owned()));
    assert_eq!(told[7], "1767225661", "a tick beyond the second is rounded up");
}

/// Goal: where forms share a name, the newest is written, and each name once.
/// Method: every set of forms; no name is there twice, and the lists are of the newest form that is on.
#[test]
fn forms_that_share_a_name_do_not_collide() {
    let decisions = refused();
    for bits in 0..16_u8 {
        let on = |bit: u8| bits & 1 << bit != 0;
        let forms =
            FieldForms { ietf: on(0), x_ratelimit: on(1), draft_07: on(2), draft_06: on(3) };
        let told = super::fields(&decisions, forms, 0);
        let mut names: Vec<&str> = told.iter().map(|(field, _)| field.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), told.len(), "{forms:?}");
        let value = |name: &str| {
            told.iter().find(|(field, _)| field.name() == name).map(|(_, value)| &value[..1])
        };
        let [policy, left] = match (forms.ietf, forms.draft_07, forms.draft_06) {
            (true, ..) => [Some("\""), Some("\"")],
            (false, true, _) => [Some("1"), Some("l")],
            (false, false, older) => [older.then_some("1"), None],
        };
        assert_eq!((value("ratelimit-policy"), value("ratelimit")), (policy, left), "{forms:?}");
        assert_eq!(value("x-ratelimit-limit").is_some(), forms.x_ratelimit);
        assert_eq!(value("ratelimit-limit").is_some(), forms.draft_06);
    }
}

/// Goal: what is not limited has no fields.
/// Method: an unlimited rule, alone and beside another, and no rule at all.
#[test]
fn what_is_not_limited_has_no_fields() {
    let builder = start().1.rule("free", "unlimited").unwrap();
    let limiter: Limiter = builder.rule("api", "10/second").unwrap().build();
    assert!(lines(&ask(&limiter, &["free"], 1), FieldForms::default()).is_empty());
    assert!(lines(&ask(&limiter, &[], 1), FieldForms::default()).is_empty());
    let both = lines(&ask(&limiter, &["free", "api"], 1), IETF);
    assert_eq!(both[0], r#"ratelimit-policy: "api";q=10;w=1"#);
}
