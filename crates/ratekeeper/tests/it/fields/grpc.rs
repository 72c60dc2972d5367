//! Refusals over gRPC, decoded.
//!
//! Invariant: the decoders were written from the formats, and share nothing with the writer.

use super::{ask, ask_one, start};
use crate::one_key::{fixed, millis, one_key};
use ratekeeper::fields::{Field, Refusal};
use ratekeeper::{Decisions, Limit};
use std::time::Duration;

/// What a call of gRPC is told.
#[derive(Debug, PartialEq)]
pub(crate) struct Status {
    pub(crate) code: u64,
    pub(crate) message: String,
    pub(crate) retry: Option<Duration>,
    pub(crate) violations: Vec<(String, String)>,
}

/// Bytes of base64 without padding.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => unreachable!("{c} in base64"),
    };
    let bits = text.bytes().flat_map(|c| (0..6).rev().map(move |bit| value(c) >> bit & 1));
    let bits: Vec<u8> = bits.collect();
    let rest = bits.chunks_exact(8).remainder();
    assert!(rest.len() < 6 && rest.iter().all(|bit| *bit == 0), "what is left over is empty");
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |sum, bit| sum << 1 | bit)).collect()
}

/// A field of a message: a number, or bytes.
#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Value {
    fn number(&self) -> u64 {
        if let Value::Number(number) = self { *number } else { unreachable!("{self:?}") }
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }

    fn bytes(&self) -> &[u8] {
        if let Value::Bytes(bytes) = self { bytes } else { unreachable!("{self:?}") }
    }
}

/// The fields of a message, in order.
fn message(bytes: &[u8]) -> Vec<(u64, Value)> {
    let mut rest = bytes.iter().copied();
    let mut fields = Vec::new();
    while rest.len() > 0 {
        let tag = varint(&mut rest);
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut rest)),
            2 => {
                let length = usize::try_from(varint(&mut rest)).unwrap();
                assert!(rest.len() >= length);
                Value::Bytes(rest.by_ref().take(length).collect())
            }
            other => unreachable!("wire type {other}"),
        };
        fields.push((tag >> 3, value));
    }
    fields
}

fn varint(bytes: &mut impl Iterator<Item = u8>) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes.next().expect("the number ends");
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return value;
        }
    }
    unreachable!("a number of more than 64 bits");
}

/// The fields of this number.
fn each(fields: &[(u64, Value)], number: u64) -> impl Iterator<Item = &Value> {
    fields.iter().filter(move |(own, _)| *own == number).map(|(_, value)| value)
}

pub(crate) fn status(bytes: &[u8]) -> Status {
    let fields = message(bytes);
    let one = |number| each(&fields, number).next().expect("the field is there");
    let (mut retry, mut violations) = (None, Vec::new());
    for detail in each(&fields, 3) {
        let any = message(detail.bytes());
        let inner = message(each(&any, 2).next().expect("a value").bytes());
        match &each(&any, 1).next().expect("a type").text()[..] {
            "type.googleapis.com/google.rpc.RetryInfo" => {
                let delay = message(each(&inner, 1).next().expect("a delay").bytes());
                let part = |number| each(&delay, number).next().map_or(0, Value::number);
                retry = Some(Duration::from_secs(part(1)) + Duration::from_nanos(part(2)));
            }
            "type.googleapis.com/google.rpc.QuotaFailure" => {
                for violation in each(&inner, 1) {
                    let violation = message(violation.bytes());
                    let text =
                        |number| each(&violation, number).next().expect("it is there").text();
                    violations.push((text(1), text(2)));
                }
            }
            other => unreachable!("{other}"),
        }
    }
    Status { code: one(1).number(), message: one(2).text(), retry, violations }
}

/// What the fields of a refusal say, once it is sure that they agree.
fn told(decisions: &Decisions) -> Status {
    let mut fields = Vec::new();
    let refusal = Refusal::of(decisions).expect("it was refused");
    refusal.grpc(&mut |field, value| fields.push((field, value.to_owned())));
    let [(Field::GrpcStatus, code), (Field::GrpcMessage, text), (Field::GrpcDetails, details)] =
        &fields[..]
    else {
        unreachable!("{fields:?}")
    };
    let status = status(&base64(details));
    assert_eq!((code, text), (&status.code.to_string(), &status.message));
    status
}

/// Goal: a quota that is used up is `RESOURCE_EXHAUSTED`, with when to retry and which quota.
/// Method: a window that is used up 11.4 s before its end.
#[test]
fn a_quota_that_is_used_up_is_told_with_its_name_and_time() {
    let on = one_key(fixed(Limit::per_minute(100)));
    on.wait(millis(48_600));
    assert!(ask_one(&on, 100).is_allowed());
    let expected = Status {
        code: 8,
        message: "quota of policy \"rule\" exceeded, retry in 12 s".into(),
        retry: Some(millis(11_400)),
        violations: vec![("rule".into(), "refused, retry in 11.4 s".into())],
    };
    assert_eq!(told(&ask_one(&on, 1)), expected);
}

/// Goal: a cost that is never admitted is an invalid argument, without a time.
/// Method: eleven of a burst of ten.
#[test]
fn a_cost_that_never_fits_is_an_invalid_argument() {
    let status = told(&ask_one(&one_key("10/minute"), 11));
    assert_eq!((status.code, status.retry, status.violations.len()), (3, None, 1));
}

/// Goal: without a permit, a client may try again after a second.
/// Method: the third of two permits.
#[test]
fn who_lacks_a_permit_may_try_again_after_a_second() {
    let on = one_key("2 concurrent");
    assert!(ask_one(&on, 2).is_allowed());
    let status = told(&ask_one(&on, 1));
    assert_eq!((status.code, status.retry), (8, Some(Duration::from_secs(1))));
    assert_eq!(status.violations[0].1, "refused, all 2 are taken");
}

/// Goal: many quotas that are used up do not make fields that no client takes.
/// Method: forty rules that all refuse.
#[test]
fn many_violations_are_cut_short() {
    let names: Vec<String> = (0..40).map(|nth| format!("rule-{nth}")).collect();
    let mut builder = start().1;
    for name in &names {
        builder = builder.rule(name, "1/minute").unwrap();
    }
    let limiter = builder.build();
    let names: Vec<&str> = names.iter().map(|name| &name[..]).collect();
    assert!(ask(&limiter, &names, 1).is_allowed());
    let status = told(&ask(&limiter, &names, 1));
    assert_eq!(status.violations.len(), 16);
    assert!(status.message.ends_with("\"rule-7\" and 32 more exceeded, retry in 60 s"));
}
