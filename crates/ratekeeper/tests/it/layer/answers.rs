//! The bytes of answers: status, every field, and the body.
//!
//! Invariant: what is expected is written down as a client would see it.

use super::{CALLER, Door, Inner, by, door, from, get, limiter, on, rule, set, with};
use crate::one_key::millis;
use http::{Response, StatusCode};
use proptest::prelude::*;
use ratekeeper::layer::RateLimitLayer;
use ratekeeper::rule::{CostSpec, FieldForms, KeyKind, Limits, RuleSet, RuleSpec};

/// Goal: an answer of the service keeps all that it has, and carries the fields of the rules.
/// Method: one request under a hundred a minute, which come back every 0.6 s.
#[test]
fn an_admitted_answer_has_the_fields() {
    let (limiter, _) = limiter(set([rule("api", "100/minute")]));
    let inner = Inner::new(|_| {
        let made = Response::builder().status(StatusCode::CREATED).header("etag", "\"7\"");
        made.body("made".into()).unwrap()
    });
    let told = Door::before(&RateLimitLayer::new(limiter), inner).ask(get("/"));
    assert_eq!((told.status, &told.body[..]), (201, "made"));
    let expected = [
        "etag: \"7\"",
        "ratelimit: \"api\";r=99;t=60",
        "ratelimit-policy: \"api\";q=100;w=60",
        "x-ratelimit-limit: 100",
        "x-ratelimit-remaining: 99",
        "x-ratelimit-reset: 1767225601",
    ];
    assert_eq!(told.lines(), expected);
}

/// Goal: a refusal is 429 with when to come back, the fields, and a problem as its body.
/// Method: the third of two a minute, after 0.1 s.
#[test]
fn a_refusal_is_a_problem_with_all_fields() {
    let (limiter, clock) = limiter(set([rule("api", "2/minute")]));
    let door = Door::new(&RateLimitLayer::new(limiter));
    assert_eq!([(), ()].map(|()| door.status(get("/"))), [200, 200]);
    clock.advance(millis(100));
    let told = door.ask(get("/"));
    assert_eq!((told.status, door.calls()), (429, 2));
    let expected = [
        "cache-control: no-store",
        "content-type: application/problem+json",
        "ratelimit: \"api\";r=0;t=30",
        "ratelimit-policy: \"api\";q=2;w=60",
        "retry-after: 30",
        "x-ratelimit-limit: 2",
        "x-ratelimit-remaining: 0",
        "x-ratelimit-reset: 1767225660",
    ];
    assert_eq!(told.lines(), expected);
    let body = concat!(
        r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","#,
        r#""title":"Quota Exceeded","status":429,"#,
        r#""detail":"quota of policy \"api\" exceeded, retry in 30 s","#,
        r#""violated-policies":["api"],"retry_after":29.9}"#,
    );
    assert_eq!(told.body, body);
}

/// Goal: of several rules all are listed, and the older fields are of the one that decides.
/// Method: a rule with two limits beside one with a name of its own, in the order of the file.
#[test]
fn several_rules_are_listed_in_their_order() {
    let named = RuleSpec { name: Some("public".into()), ..rule("secret", "1/second") };
    let door = door([rule("api", ["3/minute", "50/day"]), named]);
    let told = door.ask(get("/"));
    let policy = r#""api-minute";q=3;w=60, "api-day";q=50;w=86400, "public";q=1;w=1"#;
    assert_eq!(told.field("ratelimit-policy"), Some(policy));
    assert_eq!(told.remaining(), Some(0));
    let refused = door.ask(get("/"));
    assert_eq!(refused.status, 429);
    let body: serde_json::Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!(body["violated-policies"], serde_json::json!(["public"]));
    assert!(!refused.lines().join("\n").contains("secret") && !refused.body.contains("secret"));
    let left = r#""api-minute";r=2;t=40, "api-day";r=49;t=84672, "public";r=0;t=1"#;
    assert_eq!(refused.field("ratelimit"), Some(left), "a refusal charges nothing");
}

/// Goal: a closed rule is 403 without a time to come back, whatever else there is.
/// Method: a closed path beside an open rule, which is not charged.
#[test]
fn a_closed_rule_is_forbidden() {
    let closed = on("/closed/**", RuleSpec::new("closed", Limits::Closed));
    let door = door([rule("api", "2/minute"), closed]);
    let told = door.ask(get("/closed/x"));
    let expected = ["cache-control: no-store", "content-type: application/problem+json"];
    assert_eq!((told.status, told.lines()), (403, expected.map(String::from).to_vec()));
    let body = concat!(
        r#"{"type":"about:blank","title":"Forbidden","status":403,"#,
        r#""detail":"closed by rule \"closed\""}"#,
    );
    assert_eq!((told.body.as_str(), door.calls()), (body, 0));
    assert_eq!(door.ask(get("/open")).remaining(), Some(1));
}

/// Goal: a cost above the limit is refused without a time to come back.
/// Method: eleven of ten.
#[test]
fn a_cost_that_never_fits_has_no_time() {
    let door = door([RuleSpec { cost: CostSpec::Fixed(11), ..rule("api", "10/minute") }]);
    let told = door.ask(get("/"));
    assert_eq!((told.status, told.field("retry-after"), door.calls()), (429, None, 0));
    let body: serde_json::Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!(body["retry_after"], serde_json::Value::Null);
    assert_eq!(told.remaining(), Some(10));
}

/// Goal: who lacks a permit may come back after a second, and is not told of a time to reset.
/// Method: the second of one.
#[test]
fn who_lacks_a_permit_may_come_back_after_a_second() {
    let door = door([by(KeyKind::Global, rule("seats", "1 concurrent"))]);
    let held = super::now(tower::ServiceExt::oneshot(door.service.clone(), get("/")));
    let told = door.ask(get("/"));
    assert_eq!((told.status, told.field("retry-after")), (429, Some("1")));
    assert_eq!(told.field("ratelimit"), Some("\"seats\";r=0"));
    assert_eq!(told.field("x-ratelimit-reset"), None);
    drop(held);
    assert_eq!(door.status(get("/")), 200);
}

/// Goal: a request that no rule can be asked about is answered here, charges nothing, and is told why.
/// Method: a path that servers read differently, a cost that is none, an address that nobody gave.
#[test]
fn a_rejected_request_is_told_why() {
    let cost = CostSpec::Header { name: "x-cost".into(), default: 1, max: 9 };
    let door = door([on("/a/**", RuleSpec { cost, ..rule("api", "2/minute") })]);
    let mut nobody = get("/a/b");
    nobody.extensions_mut().clear();
    for (request, status, why) in [
        (get("/a%2Fb"), 400, "the path cannot be matched"),
        (with(get("/a/b"), "x-cost", "0"), 400, "`x-cost` is not a cost; write it once"),
        (nobody, 500, "connect_info"),
    ] {
        let told = door.ask(request);
        assert_eq!(
            (told.status, told.field("content-type")),
            (status, Some("application/problem+json"))
        );
        let body: serde_json::Value = serde_json::from_str(&told.body).unwrap();
        assert_eq!((&body["status"], &body["type"]), (&status.into(), &"about:blank".into()));
        assert!(body["detail"].as_str().unwrap().contains(why), "{told:?}");
    }
    assert_eq!(door.calls(), 0);
    assert_eq!(door.ask(get("/a/b")).remaining(), Some(1));
}

/// Goal: a rule for `GET` is for `HEAD`, and a refusal of it has the same fields.
/// Method: one of each, and the third of either.
#[test]
fn head_is_counted_as_get() {
    let mut only_get = rule("api", "2/minute");
    only_get.matches.methods.push("GET".into());
    let door = door([only_get]);
    assert_eq!(door.status(get("/")), 200);
    assert_eq!(door.status(from(CALLER, "HEAD", "/")), 200);
    let [head, get] = [door.ask(from(CALLER, "HEAD", "/")), door.ask(get("/"))];
    assert_eq!((head.status, head.lines()), (429, get.lines()));
    assert_eq!(door.status(from(CALLER, "POST", "/")), 200);
}

/// Goal: answers carry the forms that are asked for, and a refusal says when to come back in any case.
/// Method: no form at all, and draft 06.
#[test]
fn only_the_forms_that_are_asked_for() {
    let none = FieldForms { ietf: false, x_ratelimit: false, draft_07: false, draft_06: false };
    let old = FieldForms { draft_06: true, ..none };
    let told = |fields| {
        let rules = RuleSet { fields, ..set([rule("api", "1/minute")]) };
        let door = Door::new(&RateLimitLayer::new(limiter(rules).0));
        [door.ask(get("/")).lines(), door.ask(get("/")).lines()]
    };
    let refused = ["cache-control: no-store", "content-type: application/problem+json"];
    let [first, second] = told(none);
    assert_eq!(
        (first.len(), &second[..2], &second[2..]),
        (0, &refused.map(String::from)[..], &["retry-after: 60".to_owned()][..])
    );
    let fields = [
        "ratelimit-limit: 1",
        "ratelimit-policy: 1;w=60",
        "ratelimit-remaining: 0",
        "ratelimit-reset: 60",
    ];
    assert_eq!(told(old)[0], fields);
}

/// Goal: what no rule is for passes as it is.
/// Method: no rule, a rule for another path, one without a limit, and one in shadow.
#[test]
fn what_no_rule_is_for_passes_as_it_is() {
    let shadow = RuleSpec { rollout: ratekeeper::rule::Rollout::Shadow, ..rule("api", "1/minute") };
    for rules in [
        vec![],
        vec![on("/other", rule("api", "1/minute"))],
        vec![rule("api", "unlimited")],
        vec![shadow],
    ] {
        let door = door(rules);
        for _ in 0..3 {
            let told = door.ask(get("/"));
            assert_eq!((told.status, told.lines().len(), &told.body[..]), (200, 0, "hello"));
        }
    }
}

proptest! {
    /// Goal: as many requests reach the service as the limit has, and the rest are refused.
    /// Method: any limit, any number of requests of several callers in any order.
    #[test]
    fn who_is_refused_reaches_nothing(limit in 1_u64..6, callers in prop::collection::vec(0_u8..4, 0..40)) {
        let door = door([rule("api", ratekeeper::Limit::per_minute(limit))]);
        let mut passed = [0; 4];
        for caller in callers {
            let status = door.status(from(&format!("192.0.2.{caller}"), "GET", "/"));
            let own = &mut passed[usize::from(caller)];
            prop_assert_eq!(status, if *own < limit { 200 } else { 429 });
            *own += u64::from(status == 200);
        }
        prop_assert_eq!(door.calls() as u64, passed.iter().sum::<u64>());
    }
}
