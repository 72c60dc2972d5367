//! What Envoy is told.
//!
//! Envoy drops what is less than a second, and can name the units of a calendar alone. Invariants: times are whole
//! seconds, rounded up; there is a status for each descriptor, in their order, with a limit wherever there is one; what
//! a unit cannot say is in our header fields.

use super::proto::RateLimitResponse;
use super::proto::rate_limit_response::rate_limit::Unit;
use super::proto::rate_limit_response::{Code, DescriptorStatus, RateLimit};
use super::unary::{self, Reply};
use crate::door::seconds;
use axum::http::Response;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use prost_types::Duration as ProtoDuration;
use ratekeeper::Decision;
use ratekeeper::decision::{RuleResult, UNLIMITED};
use ratekeeper::fields::{self, Field, PROBLEM_TYPE, Refusal};
use ratekeeper::limiter::Described;
use std::time::Duration;

/// What Envoy answers a refusal with, unless its `rate_limited_status` says otherwise.
const STATUS: u16 = 429;

/// Every unit that a limit can have, with its seconds.
const UNITS: [(Unit, u64); 7] = [
    (Unit::Second, 1),
    (Unit::Minute, 60),
    (Unit::Hour, 3_600),
    (Unit::Day, 86_400),
    (Unit::Week, 604_800),
    (Unit::Month, 2_592_000),
    (Unit::Year, 31_536_000),
];

/// The whole answer; a refusal has a name.
///
/// Statuses are written by what was generated. Texts, of which there are many, go into the message as they are:
/// made into its own types first, they would cost more than the decision.
pub(super) fn of(described: &Described, id: Option<&str>, now: u64) -> Response<Reply> {
    let mut message = unary::begin();
    let decisions = described.decisions();
    let codes = RateLimitResponse {
        overall_code: code(decisions.is_allowed()).into(),
        statuses: described.parts().map(status).collect(),
        ..RateLimitResponse::default()
    };
    codes.encode_raw(&mut message);
    let add = &mut |name: &str, value: &str| header(&mut message, name, value);
    fields::write(decisions, described.forms(), now, &mut |field, text| add(field.name(), text));
    if let Some(refusal) = Refusal::of(decisions) {
        add("content-type", PROBLEM_TYPE);
        add("cache-control", "no-store");
        id.into_iter().for_each(|id| add(Field::Decision.name(), id));
        part(&mut message, BODY, refusal.problem_of(STATUS, id).as_bytes());
    }
    metadata(described, id, &mut message);
    unary::answer(message)
}

fn code(allowed: bool) -> Code {
    if allowed { Code::Ok } else { Code::OverLimit }
}

/// What is told of one descriptor: of all limits that apply to it, the tightest.
fn status(results: &[RuleResult]) -> DescriptorStatus {
    let enforced = || results.iter().filter(|result| !result.is_shadow());
    let allowed = enforced().all(|result| result.is_allowed());
    let all = || enforced().flat_map(RuleResult::quotas);
    let quotas = || all().filter(|(_, _, own)| !own.is_without_figures());
    let decisive = Decision::decisive(quotas().map(|(_, _, own)| own));
    let Some((name, limit, own)) = decisive.and_then(|(nth, _)| quotas().nth(nth)) else {
        let unlimited = allowed && enforced().any(|own| own.limit() == UNLIMITED);
        let limit_remaining = if unlimited { u32::MAX } else { 0 };
        return DescriptorStatus {
            code: code(allowed).into(),
            limit_remaining,
            ..DescriptorStatus::default()
        };
    };
    let reset = own.reset_after().map(|time| ProtoDuration { seconds: seconds(time), nanos: 0 });
    DescriptorStatus {
        code: code(allowed).into(),
        current_limit: Some(RateLimit {
            requests_per_unit: narrow(limit.amount().unwrap_or(0)),
            unit: limit.period().map_or(Unit::Unknown, unit).into(),
            name: name.to_owned(),
        }),
        limit_remaining: narrow(own.remaining()),
        duration_until_reset: reset,
    }
}

/// The unit of a period, or the nearest: that which it is the fewest times, or which is the fewest times it.
fn unit(period: Duration) -> Unit {
    let times = |seconds: u64| {
        let (own, unit) = (period.as_micros(), u128::from(seconds) * 1_000_000);
        // As a fraction of whole numbers, of which only the order counts.
        own.max(unit) * 1_000_000 / own.min(unit).max(1)
    };
    let nearest = UNITS.into_iter().min_by_key(|(_, seconds)| times(*seconds));
    nearest.map_or(Unit::Unknown, |(unit, _)| unit)
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The numbers of `response_headers_to_add`, `raw_body` and `dynamic_metadata`.
const HEADERS: u32 = 3;
const BODY: u32 = 5;
const METADATA: u32 = 6;

/// A header field for the answer of Envoy's client.
fn header(out: &mut Vec<u8>, name: &str, value: &str) {
    begin(out, HEADERS, length(name.len()) + length(value.len()));
    part(out, 1, name.as_bytes());
    part(out, 2, value.as_bytes());
}

/// Which rule decided, of which release, and where; for logs and later filters of Envoy.
fn metadata(described: &Described, id: Option<&str>, out: &mut Vec<u8>) {
    let decisions = described.decisions();
    let mut fields = Vec::with_capacity(128);
    match decisions.rule() {
        Some(rule) => text(&mut fields, "rule", rule),
        // `null_value: NULL_VALUE`
        None => field(&mut fields, "rule", &[0x08, 0x00]),
    }
    let mut number = [0x11; 9];
    number[1..].copy_from_slice(&(decisions.version() as f64).to_le_bytes());
    field(&mut fields, "version", &number);
    text(&mut fields, "source", decisions.source().name());
    id.into_iter().for_each(|id| text(&mut fields, "decision", id));
    part(out, METADATA, &fields);
}

/// An entry of `Struct.fields` whose value is a text.
fn text(out: &mut Vec<u8>, name: &str, value: &str) {
    begin(out, 1, length(name.len()) + length(length(value.len())));
    part(out, 1, name.as_bytes());
    begin(out, 2, length(value.len()));
    part(out, 3, value.as_bytes());
}

/// An entry of `Struct.fields`: a name, and the bytes of a `Value`.
fn field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    begin(out, 1, length(name.len()) + length(value.len()));
    part(out, 1, name.as_bytes());
    part(out, 2, value);
}

/// A field that is bytes with their length before them.
fn part(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    begin(out, number, bytes.len());
    out.extend_from_slice(bytes);
}

/// What is before the bytes of a field.
fn begin(out: &mut Vec<u8>, number: u32, length: usize) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(length as u64, out);
}

/// Bytes of a field of one of the first fifteen numbers, with what is before them.
fn length(bytes: usize) -> usize {
    1 + encoded_len_varint(bytes as u64) + bytes
}
