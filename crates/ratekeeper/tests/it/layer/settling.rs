//! What an answer changes about what its request was charged.
//!
//! Invariant: what is left is asked for beside the layer, by a request that costs nothing.

use super::{CALLER, Door, Inner, by, get, limiter, now, rule, set, with};
use crate::one_key::fixed;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use proptest::prelude::*;
use ratekeeper::layer::RateLimitLayer;
use ratekeeper::rule::{CostSpec, Count, KeyKind, RuleSpec};
use ratekeeper::{Limit, Limiter, Request};
use std::convert::Infallible;
use tower::{Layer, Service};

/// What each rule has left for the caller.
fn left(limiter: &Limiter) -> Vec<(String, u64)> {
    let peer = Some(CALLER.parse().unwrap());
    let request = Request { cost: Some(0), peer, ..Request::new("GET", "/") };
    let decisions = now(limiter.check(&request)).unwrap();
    decisions.results().map(|(rule, own)| (rule.to_owned(), own.remaining())).collect()
}

/// A hundred a minute, of which a request takes forty unless it says so, and gives back what the answer
/// says that it did not use.
fn tokens() -> RuleSpec {
    let cost = CostSpec::Header { name: "x-estimate".into(), default: 40, max: 50 };
    RuleSpec {
        cost,
        settle: Some("x-total".into()),
        ..rule("tokens", fixed(Limit::per_minute(100)))
    }
}

/// What is left after one request that was answered with these lines of `X-Total`.
fn after(totals: &[&[u8]]) -> u64 {
    let read = |total: &&[u8]| HeaderValue::from_bytes(total).unwrap();
    let totals: Vec<HeaderValue> = totals.iter().map(read).collect();
    let (limiter, _) = limiter(set([tokens()]));
    let inner = Inner::new(move |_| {
        let mut response = Response::new("done".into());
        for total in &totals {
            response.headers_mut().append("x-total", total.clone());
        }
        response
    });
    let door = Door::before(&RateLimitLayer::new(limiter.clone()), inner);
    assert_eq!(door.ask(get("/")).remaining(), Some(60), "as it was when it was admitted");
    left(&limiter)[0].1
}

/// Goal: a request is settled at what its answer says; less is given back, more is a debt.
/// Method: figures around the estimate, and spaces about them.
#[test]
fn an_answer_settles_its_request() {
    for (total, expected) in [
        (&b"0"[..], 100),
        (b"1", 99),
        (b"39", 61),
        (b"40", 60),
        (b"41", 59),
        (b" 70\t", 30),
        (b"0070", 30),
        (b"100", 0),
        (b"101", 0),
    ] {
        assert_eq!(after(&[total]), expected, "{}", String::from_utf8_lossy(total));
    }
}

/// Goal: an answer that does not say what was used leaves its request charged as it was.
/// Method: no field, and fields that are no whole number.
#[test]
fn an_answer_that_does_not_say_changes_nothing() {
    assert_eq!(after(&[]), 60);
    for total in [
        &b""[..],
        b" ",
        b"-5",
        b"+5",
        b"1e1",
        b"0x10",
        b"12.0",
        b"12 13",
        b"12,13",
        b"NaN",
        b"\xff\xfe",
    ] {
        assert_eq!(after(&[total]), 60, "{}", String::from_utf8_lossy(total));
    }
}

/// Goal: whatever an answer says, however large, the debt is bounded, and it is not free.
/// Method: the largest number there is, one more than it, and thirty digits.
#[test]
fn a_huge_figure_is_a_debt() {
    for total in ["18446744073709551615", "18446744073709551616", "999999999999999999999999999999"]
    {
        assert_eq!(after(&[total.as_bytes()]), 0, "{total}");
    }
}

/// Goal: a debt is of one amount at most, so that it is over after one more window.
/// Method: a huge figure; the window after it is used up by the debt, and the second is whole.
#[test]
fn a_debt_ends() {
    let (limiter, clock) = limiter(set([tokens()]));
    let inner = Inner::new(|_| {
        Response::builder().header("x-total", u64::MAX).body("done".into()).unwrap()
    });
    let door = Door::before(&RateLimitLayer::new(limiter.clone()), inner);
    assert_eq!(door.status(get("/")), 200);
    assert_eq!(door.status(get("/")), 429);
    clock.advance(crate::one_key::secs(120));
    assert_eq!(left(&limiter)[0].1, 100);
}

/// Goal: only the rule that settles is settled, and only by its own field.
/// Method: three rules on one request, one without a field and one with another.
#[test]
fn only_the_rule_that_settles_is_settled() {
    let other =
        RuleSpec { settle: Some("x-other".into()), ..rule("other", fixed(Limit::per_minute(9))) };
    let (limiter, _) = limiter(set([rule("api", fixed(Limit::per_minute(10))), tokens(), other]));
    let inner =
        Inner::new(|_| Response::builder().header("X-Total", "5").body("done".into()).unwrap());
    let door = Door::before(&RateLimitLayer::new(limiter.clone()), inner);
    assert_eq!(door.status(with(get("/"), "x-estimate", "50")), 200);
    let expected = [("api", 9), ("tokens", 95), ("other", 8)];
    assert_eq!(left(&limiter), expected.map(|(rule, left)| (rule.to_owned(), left)));
}

/// Goal: settling and permits go together: what is settled is settled at the answer, and the permit is
/// held until the body ends.
/// Method: both rules on one request, whose body is kept.
#[test]
fn settled_at_the_answer_and_held_until_the_end() {
    let seats = by(KeyKind::Global, rule("seats", "2 concurrent"));
    let (limiter, _) = limiter(set([tokens(), seats]));
    let inner =
        Inner::new(|_| Response::builder().header("x-total", "5").body("done".into()).unwrap());
    let door = Door::before(&RateLimitLayer::new(limiter.clone()), inner);
    let kept = now(tower::ServiceExt::oneshot(door.service.clone(), get("/")));
    assert_eq!(left(&limiter).iter().map(|(_, left)| *left).collect::<Vec<_>>(), [95, 1]);
    drop(kept);
    assert_eq!(left(&limiter).iter().map(|(_, left)| *left).collect::<Vec<_>>(), [95, 2]);
}

/// Goal: settling gives back to the window that was charged, and to no other.
/// Method: the window rolls while the service works.
#[test]
fn a_window_that_rolled_is_not_given_back_to() {
    let (limiter, clock) = limiter(set([tokens()]));
    let hand = clock.clone();
    let inner = Inner::new(move |_| {
        hand.advance(crate::one_key::secs(60));
        Response::builder().header("x-total", "0").body("done".into()).unwrap()
    });
    let door = Door::before(&RateLimitLayer::new(limiter.clone()), inner);
    assert_eq!(door.status(get("/")), 200);
    assert_eq!(left(&limiter)[0].1, 100, "the new window has what it has, and not more");
}

fn failures(id: &str) -> RuleSpec {
    RuleSpec { count: Count::Failures, ..rule(id, fixed(Limit::per_minute(10))) }
}

proptest! {
    /// Goal: under a rule that counts failures, answers of 401 and 403 stay charged, and all others are
    /// given back; a rule beside it that counts all is not touched.
    /// Method: any statuses, one after another.
    #[test]
    fn failures_stay_and_others_are_given_back(statuses in prop::collection::vec(
        prop_oneof![Just(401_u16), Just(403), Just(200), Just(404), Just(500), 100_u16..1000], 1..20,
    )) {
        let (limiter, _) = limiter(set([failures("login"), rule("api", fixed(Limit::per_minute(100)))]));
        let inner = Inner::new(|request| {
            let mut response = Response::new("answer".into());
            *response.status_mut() = *request.extensions().get::<StatusCode>().unwrap();
            response
        });
        let door = Door::before(&RateLimitLayer::new(limiter.clone()), inner);
        let (mut failed, mut passed) = (0, 0);
        for status in statuses {
            let mut request = get("/");
            request.extensions_mut().insert(StatusCode::from_u16(status).unwrap());
            let told = door.ask(request);
            prop_assert_eq!(told.status, if failed == 10 { 429 } else { status });
            passed += u64::from(failed < 10);
            failed += u64::from(failed < 10 && matches!(status, 401 | 403));
            let now = [("login".to_owned(), 10 - failed), ("api".to_owned(), 100 - passed)];
            prop_assert_eq!(left(&limiter), now);
        }
    }
}

/// Goal: over gRPC, failures are the codes that mean the same, in the header fields or behind the body.
/// Method: each code in both places; what is left of a rule that counts failures.
#[test]
fn failures_over_grpc_are_codes_of_grpc() {
    for (code, counts) in [("16", true), ("7", true), ("0", false), ("3", false)] {
        for behind in [false, true] {
            let (limiter, _) = limiter(set([failures("login")]));
            let mut service = RateLimitLayer::new(limiter.clone()).layer(tower::service_fn(
                move |_: http::Request<String>| async move {
                    let mut trailers = HeaderMap::new();
                    trailers.insert("grpc-status", HeaderValue::from_str(code).unwrap());
                    let body = Full::new(Bytes::from("answer"));
                    let sent = trailers.clone();
                    let body = body.with_trailers(async move { Some(Ok(sent)) });
                    let mut response = Response::new(body);
                    let kind = HeaderValue::from_static("application/grpc");
                    response.headers_mut().insert("content-type", kind);
                    if !behind {
                        response.headers_mut().extend(trailers);
                    }
                    Ok::<_, Infallible>(response)
                },
            ));
            let request = get("/").map(|_| String::new());
            let response = now(service.call(request)).unwrap();
            now(response.into_body().collect()).unwrap();
            let expected = if counts { 9 } else { 10 };
            assert_eq!(left(&limiter)[0].1, expected, "{code}, behind the body: {behind}");
        }
    }
}

/// Goal: a request without an answer stays charged: whoever makes the service fail gains nothing.
/// Method: a caller who leaves before the service was done.
#[test]
fn without_an_answer_it_stays_charged() {
    let (limiter, _) = limiter(set([failures("login"), tokens()]));
    let door = Door::new(&RateLimitLayer::new(limiter.clone()));
    drop(Service::call(&mut door.service.clone(), get("/")));
    let expected = [("login", 9), ("tokens", 60)];
    assert_eq!(left(&limiter), expected.map(|(rule, left)| (rule.to_owned(), left)));
}
