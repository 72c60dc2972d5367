//! Calls of gRPC: the status is in the fields, and the answer is always 200.
//!
//! Invariant: the details are decoded by the parser of `fields::grpc`, which shares nothing with the
//! writer.

use super::{Door, Told, door, get, limiter, on, rule, set, with};
use crate::fields::grpc::{base64, status};
use crate::one_key::{millis, secs};
use bytes::Bytes;
use http::{Request, Response};
use ratekeeper::layer::RateLimitLayer;
use ratekeeper::rule::{CostSpec, Limits, RuleSpec};

fn call(path: &str) -> Request<()> {
    with(super::from(super::CALLER, "POST", path), "content-type", "application/grpc")
}

fn code(told: &Told) -> Option<&str> {
    assert_eq!((told.status, &told.body[..]), (200, ""));
    assert_eq!(told.field("content-type"), Some("application/grpc"));
    told.field("grpc-status")
}

/// Goal: a refused call is `RESOURCE_EXHAUSTED` with when to retry, and never reaches the service.
/// Method: the third of two a minute, 0.1 s after the first.
#[test]
fn a_refusal_is_resource_exhausted_with_retry_info() {
    let (limiter, clock) = limiter(set([rule("api", "2/minute")]));
    let door = Door::new(&RateLimitLayer::new(limiter));
    assert_eq!([(); 2].map(|()| door.ask(call("/pkg.Service/Method")).body), ["hello"; 2]);
    clock.advance(millis(100));
    let told = door.ask(call("/pkg.Service/Method"));
    assert_eq!((code(&told), door.calls()), (Some("8"), 2));
    let details = status(&base64(told.field("grpc-status-details-bin").unwrap()));
    assert_eq!((details.code, details.retry), (8, Some(millis(29_900))));
    assert_eq!(details.violations, [("api".to_owned(), "refused, retry in 29.9 s".to_owned())]);
    assert_eq!(told.field("grpc-message"), Some(&details.message[..]));
    assert_eq!((told.field("retry-after"), told.remaining()), (Some("30"), Some(0)));
}

/// Goal: who lacks a permit may retry after a second; what is closed is denied; what never fits is an
/// invalid argument; what no rule can be asked about is one, too, and a set-up that is wrong is internal.
/// Method: one call of each.
#[test]
fn other_refusals_have_their_own_codes() {
    let dear = RuleSpec { cost: CostSpec::Fixed(9), ..rule("dear", "8/minute") };
    let door = door([
        on("/seats", rule("seats", "1 concurrent")),
        on("/closed", RuleSpec::new("closed", Limits::Closed)),
        on("/dear", dear),
    ]);
    let held = super::now(tower::ServiceExt::oneshot(door.service.clone(), get("/seats")));
    let told = door.ask(call("/seats"));
    assert_eq!(code(&told), Some("8"));
    let details = status(&base64(told.field("grpc-status-details-bin").unwrap()));
    assert_eq!(details.retry, Some(secs(1)));
    drop(held);
    assert_eq!(code(&door.ask(call("/closed"))), Some("7"));
    assert_eq!(code(&door.ask(call("/dear"))), Some("3"));
    let rejected = door.ask(call("/seats%2F"));
    assert_eq!(code(&rejected), Some("3"));
    assert!(rejected.field("grpc-message").unwrap().starts_with("the path cannot be matched"));
    let mut nobody = call("/seats");
    nobody.extensions_mut().clear();
    assert_eq!(code(&door.ask(nobody)), Some("13"));
}

/// Goal: every kind of content that is gRPC is answered as such, and nothing that only looks like it.
/// Method: kinds with a suffix, parameters and other case, and kinds that are something else.
#[test]
fn kinds_of_content() {
    for (kind, is) in [
        ("application/grpc", true),
        ("application/grpc+proto", true),
        ("application/grpc;charset=utf-8", true),
        ("Application/gRPC+proto", true),
        ("application/grpcish", false),
        ("application/grpc-web+proto", true),
        ("application/json", false),
        ("text/application/grpc", false),
    ] {
        let door = door([RuleSpec::new("closed", Limits::Closed)]);
        let told = door.ask(with(get("/"), "content-type", kind));
        assert_eq!(told.status == 200, is, "{kind}");
        assert_eq!(told.field("grpc-status").is_some(), is, "{kind}");
    }
}

/// Goal: a response of the application's own is also for calls of gRPC.
/// Method: one that says `UNAVAILABLE`.
#[test]
fn a_response_of_ones_own_is_for_calls_too() {
    let layer = RateLimitLayer::new(limiter(set([rule("api", "1/minute")])).0).on_refusal(|_| {
        Response::builder().header("grpc-status", "14").body(Bytes::new()).unwrap()
    });
    let door = Door::new(&layer);
    assert_eq!(door.status(call("/a/b")), 200);
    let told = door.ask(call("/a/b"));
    assert_eq!((told.field("grpc-status"), told.field("retry-after")), (Some("14"), Some("60")));
}
