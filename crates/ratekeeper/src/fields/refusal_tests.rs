//! Refusals that no limiter in memory gives: closed routes, outages, odd names; and rejected calls.
//!
//! Invariant: bodies are read by a parser of JSON that shares nothing with the writer.

use super::told_tests::{CLOSED, OUTAGE, decision, rule};
use super::{Field, Refusal, rejected_problem};
use crate::algorithm::Retry;
use crate::decision::{Decision, Decisions};
use crate::few::Few;
use crate::request::Rejected;
use proptest::prelude::*;
use serde_json::{Value, json};

const USED_UP: fn() -> Decision = || decision(10, 0, 1_000_000, Retry::after(11_400_000));
const NEVER: fn() -> Decision = || decision(10, 10, 0, Retry::NEVER);

/// The answer of rules of one limit each.
fn answer(rules: &[(&str, Decision)]) -> Decisions {
    let rules = rules.iter().map(|(name, own)| rule(name, &["10/second"], &[*own], false));
    Decisions::new(rules.collect(), 1)
}

fn body(decisions: &Decisions) -> Value {
    serde_json::from_str(&Refusal::of(decisions).unwrap().problem(Some("01J"))).unwrap()
}

/// Status over HTTP and over gRPC, and seconds to retry.
fn told(rules: &[(&str, Decision)]) -> (u16, u64, Option<u64>) {
    let decisions = answer(rules);
    let refusal = Refusal::of(&decisions).unwrap();
    (refusal.status(), refusal.grpc_status(), refusal.retry_seconds())
}

/// Goal: each kind of refusal has its status, and of several the gravest speaks.
/// Method: every kind alone, and beside others in both orders.
#[test]
fn each_kind_of_refusal_has_its_status() {
    let (used_up, never, outage, closed) = (USED_UP(), NEVER(), OUTAGE(), CLOSED());
    assert_eq!(told(&[("a", used_up)]), (429, 8, Some(12)));
    assert_eq!(told(&[("a", never)]), (429, 3, None));
    assert_eq!(told(&[("a", outage)]), (503, 14, Some(1)));
    assert_eq!(told(&[("a", closed)]), (403, 7, None));
    for (lesser, graver, expected) in [
        (used_up, outage, (503, 14, Some(12))),
        (used_up, never, (429, 3, None)),
        (outage, never, (429, 3, None)),
        (never, closed, (403, 7, None)),
    ] {
        assert_eq!(told(&[("a", lesser), ("b", graver)]), expected);
        assert_eq!(told(&[("b", graver), ("a", lesser)]), expected);
    }
}

/// Goal: a rule that refuses in shadow refuses nothing.
/// Method: one in shadow that is closed, beside one that refuses.
#[test]
fn a_shadow_is_no_refusal() {
    let shadow = rule("a", &["10/second"], &[CLOSED()], true);
    assert!(Refusal::of(&Decisions::new(Few::One(shadow.clone()), 1)).is_none());
    let refused = rule("b", &["10/second"], &[USED_UP()], false);
    let decisions = Decisions::new(vec![shadow, refused].into(), 1);
    assert_eq!(body(&decisions)["violated-policies"], json!(["b"]));
    assert_eq!(Refusal::of(&decisions).unwrap().status(), 429);
}

/// Goal: a closed route is forbidden, by name, and without a time.
/// Method: a closed rule beside one that refuses for its quota.
#[test]
fn a_closed_route_is_forbidden() {
    let expected = json!({
        "type": "about:blank", "title": "Forbidden", "status": 403,
        "detail": "closed by rule \"gone\"", "instance": "01J",
    });
    assert_eq!(body(&answer(&[("gone", CLOSED()), ("api", USED_UP())])), expected);
}

/// Goal: an outage is told as one, without a time in the body that nobody knows.
/// Method: a rule that refuses without a store.
#[test]
fn an_outage_is_reduced_capacity() {
    let expected = json!({
        "type": "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
        "title": "Temporary Reduced Capacity", "status": 503,
        "detail": "policy \"login\" cannot be checked for now, retry in 1 s",
        "violated-policies": ["login"], "retry_after": null, "instance": "01J",
    });
    assert_eq!(body(&answer(&[("login", OUTAGE())])), expected);
}

/// Goal: a call that no rule can be asked about has a body that says why, and whose fault it is.
/// Method: one of each kind, with a text that has to be escaped.
#[test]
fn rejected_calls_say_why() {
    let read = |rejected: &Rejected| -> Value {
        serde_json::from_str(&rejected_problem(rejected)).unwrap()
    };
    let malformed = Rejected::malformed("`X-Cost` is \"x\"; write a number");
    let expected = json!({
        "type": "about:blank", "title": "Bad Request", "status": 400,
        "detail": "`X-Cost` is \"x\"; write a number",
    });
    assert_eq!(read(&malformed), expected);
    let unknown = read(&Rejected::unknown("no address"));
    assert_eq!(unknown["title"], json!("Internal Server Error"));
    assert_eq!(unknown["status"], json!(500));
}

proptest! {
    /// Goal: whatever a rule is named, bodies are JSON that names it, and fields are printable ASCII.
    /// Method: any names and instances.
    #[test]
    fn any_name_makes_a_body_and_fields(name in any::<String>(), instance in any::<String>()) {
        let decisions = answer(&[(&name, USED_UP())]);
        let refusal = Refusal::of(&decisions).unwrap();
        let body: Value = serde_json::from_str(&refusal.problem(Some(&instance))).unwrap();
        prop_assert_eq!(&body["violated-policies"], &json!([&name]));
        prop_assert_eq!(&body["instance"], &json!(&instance));
        let detail = format!("quota of policy \"{name}\" exceeded, retry in 12 s");
        prop_assert_eq!(&body["detail"], &json!(&detail));
        let mut message = String::new();
        refusal.grpc(&mut |field, value| {
            assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{field:?}: {value}");
            if field == Field::GrpcMessage {
                value.clone_into(&mut message);
            }
        });
        prop_assert_eq!(decoded(&message), detail.as_bytes());
    }
}

/// What a message that was percent-encoded says.
fn decoded(message: &str) -> Vec<u8> {
    let mut parts = message.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(code, 16).unwrap());
        bytes.extend(rest.bytes());
    }
    bytes
}
