//! A layer behind a layer, each with a limiter of its own.
//!
//! Invariant: a caller is told of both, and of the stricter where there is room for one.

use super::{Inner, ask, by, get, limiter, now, rule, set};
use http::Response;
use proptest::prelude::*;
use ratekeeper::Limit;
use ratekeeper::layer::{RateLimit, RateLimitLayer};
use ratekeeper::rule::{FieldForms, KeyKind, RuleSet, RuleSpec};
use tower::{Layer, ServiceExt};

type Nested = RateLimit<RateLimit<Inner>>;

/// One layer for each of two sets, the first outside.
fn layers([outside, inside]: [RuleSet; 2]) -> Nested {
    let layer = |set| RateLimitLayer::new(limiter(set).0);
    layer(outside).layer(layer(inside).layer(Inner::new(|_| Response::new("hello".into()))))
}

fn nested(rules: [RuleSpec; 2]) -> Nested {
    layers(rules.map(|rule| set([rule])))
}

fn lines(service: &Nested, name: &str) -> Vec<String> {
    let told = ask(service, get("/"));
    told.headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
}

/// Goal: lists have the policies of both.
/// Method: an answer that both admit.
#[test]
fn lists_have_both() {
    let service = nested([rule("edge", "9/second"), rule("api", "5/minute")]);
    assert_eq!(lines(&service, "ratelimit-policy"), [r#""api";q=5;w=60"#, r#""edge";q=9;w=1"#]);
    assert_eq!(lines(&service, "ratelimit"), [r#""api";r=3;t=36"#, r#""edge";r=7;t=1"#]);
}

/// Goal: what the inner layer refuses is told as it refused it, with the outer policy beside it; what
/// the outer layer refuses never asks the inner one.
/// Method: the stricter inside, then outside.
#[test]
fn either_may_refuse() {
    let service = nested([rule("edge", "9/minute"), rule("api", "1/minute")]);
    assert_eq!(ask(&service, get("/")).status, 200);
    let told = ask(&service, get("/"));
    assert_eq!(
        (told.status, told.field("retry-after"), told.remaining()),
        (429, Some("60"), Some(0))
    );
    assert_eq!(told.headers.get_all("ratelimit").iter().count(), 2);
    assert_eq!(told.field("x-ratelimit-limit"), Some("1"));

    let service = nested([rule("edge", "1/minute"), rule("api", "9/minute")]);
    assert_eq!(ask(&service, get("/")).status, 200);
    let told = ask(&service, get("/"));
    assert_eq!((told.status, told.field("ratelimit")), (429, Some("\"edge\";r=0;t=60")));
    assert_eq!(told.field("x-ratelimit-limit"), Some("1"));
}

/// Goal: the older fields are of one limit, all of them.
/// Method: a limit without a time to reset outside, which is the stricter, and one with a time inside;
/// and the same in the forms of draft 06.
#[test]
fn older_fields_are_of_one_limit() {
    let seats = by(KeyKind::Global, rule("seats", "2 concurrent"));
    let told = ask(&nested([seats.clone(), rule("api", "9/minute")]), get("/"));
    assert_eq!((told.field("x-ratelimit-limit"), told.remaining()), (Some("2"), Some(1)));
    assert_eq!(told.field("x-ratelimit-reset"), None, "permits have no time to reset");

    let forms = FieldForms { ietf: false, x_ratelimit: false, draft_07: false, draft_06: true };
    let old = |rule| RuleSet { fields: forms, ..set([rule]) };
    let stricter = |outside, inside| {
        let told = ask(&layers([old(outside), old(inside)]), get("/"));
        [("ratelimit-limit"), ("ratelimit-remaining")]
            .map(|name| told.field(name).unwrap().to_owned())
    };
    assert_eq!(stricter(rule("edge", "9/minute"), rule("api", "3/minute")), ["3", "2"]);
    assert_eq!(stricter(rule("edge", "3/minute"), rule("api", "9/minute")), ["3", "2"]);
    let told = ask(&layers([old(seats), old(rule("api", "9/minute"))]), get("/"));
    assert_eq!((told.field("ratelimit-limit"), told.field("ratelimit-reset")), (Some("2"), None));
}

/// Goal: permits of both are held until the body ends.
/// Method: hold one answer under one permit inside, and two outside.
#[test]
fn permits_of_both_are_held() {
    let seats = |id: &str, most| by(KeyKind::Global, rule(id, Limit::concurrent(most)));
    let service = nested([seats("outer", 2), seats("inner", 1)]);
    let held = now(service.clone().oneshot(get("/"))).unwrap();
    let told = ask(&service, get("/"));
    assert_eq!((told.status, told.remaining()), (429, Some(0)));
    let again = ask(&service, get("/"));
    assert_eq!(again.status, 429, "the refusals hold nothing of the outer ones");
    drop(held);
    assert_eq!(ask(&service, get("/")).status, 200);
}

proptest! {
    /// Goal: the older fields never promise more than either layer has left.
    /// Method: any two limits, and as many requests as the smaller has.
    #[test]
    fn the_stricter_is_told(outside in 1_u64..9, inside in 1_u64..9) {
        let service = nested([rule("edge", Limit::per_minute(outside)), rule("api", Limit::per_minute(inside))]);
        for sent in 1..=outside.min(inside) {
            let told = ask(&service, get("/"));
            prop_assert_eq!((told.status, told.remaining()), (200, Some(outside.min(inside) - sent)));
        }
        prop_assert_eq!(ask(&service, get("/")).status, 429);
    }
}
