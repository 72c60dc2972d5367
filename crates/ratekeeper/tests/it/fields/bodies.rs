//! Bodies of refusals, read as JSON.
//!
//! Invariant: the body says what the fields say.

use super::{NONE, ask, ask_one, fields, start};
use crate::one_key::{micros, one_key};
use proptest::prelude::*;
use ratekeeper::fields::{Refusal, wants_text};
use ratekeeper::{Decisions, Limit};
use serde_json::{Value, json};

fn problem(decisions: &Decisions) -> Value {
    let refusal = Refusal::of(decisions).expect("it was refused");
    serde_json::from_str(&refusal.problem(None)).expect("the body is JSON")
}

/// Goal: what was admitted is no refusal.
/// Method: ask for one.
#[test]
fn what_was_admitted_is_no_refusal() {
    assert!(Refusal::of(&ask_one(&one_key("1/minute"), 1)).is_none());
}

/// Goal: a cost that can never be admitted is told so, without a time.
/// Method: eleven of a burst of ten: no `Retry-After`, and null in the body.
#[test]
fn a_cost_that_never_fits_has_no_time_to_retry() {
    let decisions = ask_one(&one_key("100/minute burst 10"), 11);
    assert!(fields(&decisions, NONE, 0).is_empty());
    let body = problem(&decisions);
    assert_eq!(body["status"], json!(429));
    assert_eq!(body["retry_after"], Value::Null);
    assert_eq!(body["violated-policies"], json!(["rule"]));
    assert_eq!(
        body["detail"],
        json!("the cost is above the limit of policy \"rule\", no retry can help")
    );
    assert_eq!(body.get("instance"), None);
}

/// Goal: permits come back when their holders please: a client may try again soon.
/// Method: the third of two permits.
#[test]
fn who_lacks_a_permit_may_try_again_soon() {
    let on = one_key("2 concurrent");
    assert!(ask_one(&on, 2).is_allowed());
    let body = problem(&ask_one(&on, 1));
    assert_eq!(body["retry_after"], Value::Null);
    assert_eq!(body["detail"], json!("quota of policy \"rule\" exceeded, retry in 1 s"));
}

/// Goal: only the policies that refused are violated, and the wait is the longest of theirs, also where
/// permits are among them.
/// Method: three rules of which two refuse, and permits that all are held.
#[test]
fn violated_are_those_that_refused() {
    let builder = start().1.rule("second", "1/second").and_then(|it| it.rule("hour", "9/hour"));
    let builder = builder.and_then(|it| it.rule("day", ["1/day", "5/minute"])).unwrap();
    let limiter = builder.rule("permits", "1 concurrent").unwrap().build();
    assert!(ask(&limiter, &["second", "hour", "day", "permits"], 1).is_allowed());
    let decisions = ask(&limiter, &["second", "hour", "day"], 1);
    let body = problem(&decisions);
    assert_eq!(body["violated-policies"], json!(["second", "day-day"]));
    assert_eq!(body["retry_after"], json!(86_400));
    let policies = "quota of policies \"second\", \"day-day\" exceeded, retry in 86400 s";
    assert_eq!(body["detail"], json!(policies));
    let with_permits = ask(&limiter, &["permits", "day"], 1);
    assert_eq!(fields(&with_permits, NONE, 0)[0].1, "86400");
}

/// Goal: text goes to those who ask for text and not for JSON.
/// Method: what browsers, command lines and libraries send, and what is too long to be looked at.
#[test]
fn text_is_for_those_who_ask_for_text() {
    let wants = |accept: &str| wants_text(Some(accept.as_bytes()));
    for accept in
        ["text/plain", "TEXT/Plain;q=0.5", "text/html, text/plain", "text/plain, */*;q=0.1"]
    {
        assert!(wants(accept), "{accept}");
    }
    for accept in [
        "",
        "*/*",
        "application/json",
        "text/plain, application/json",
        "text/html",
        "text/*",
        "application/problem+json;q=0.2,text/plain",
        "text/plain;q=0",
        "text/plain; q=0.000",
    ] {
        assert!(!wants(accept), "{accept}");
    }
    assert!(wants("text/plain, application/json;q=0"), "JSON is not taken");
    assert!(!wants_text(None));
    let far = format!("{}text/plain", "a/b,".repeat(256));
    assert!(!wants(&far) && wants(&far[4 * 20..]), "only the first bytes are looked at");
}

proptest! {
    /// Goal: the wait in the body is exact, to the microsecond.
    /// Method: a bucket of one unit whose period is any; the second request has to wait for all of it.
    #[test]
    fn the_wait_in_the_body_is_exact(period in 1_000..10_000_000_000_u64) {
        let on = one_key(Limit::per(1, micros(period)));
        prop_assert!(ask_one(&on, 1).is_allowed());
        let refused = ask_one(&on, 1);
        let body = Refusal::of(&refused).unwrap().problem(None);
        let text = body.split_once("\"retry_after\":").unwrap().1.strip_suffix('}').unwrap();
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let read = format!("{whole}{fraction:0<6}").parse::<u64>().unwrap();
        prop_assert_eq!(read, period, "{}", text);
        prop_assert!(fraction == "0" || !fraction.ends_with('0'), "{}", text);
    }
}
