//! Answers that the layer makes by itself, and the header fields that it adds to others'.
//!
//! Invariant: a caller is told the same figures whether it is refused here or answered by the service.

use super::Setup;
use super::seen::Seen;
use crate::fields::{self, Field, Refusal};
use crate::limiter::Admission;
use crate::request::Rejected;
use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use std::mem;

/// Most fields that an answer has.
const FIELDS_MAX: usize = 9;

/// Bytes that hold the values of all fields in the usual case.
const TEXTS_USUAL: usize = 160;

const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The answer to a request that rules refuse, by the name of the decision if it has one.
pub(super) fn refused(
    setup: &Setup,
    seen: &Seen<'_>,
    admission: &Admission,
    id: Option<&str>,
) -> Response<Bytes> {
    let Some(refusal) = Refusal::of(admission.decisions()) else { return Response::default() };
    let mut response = match &setup.refuses {
        Some(own) => own(admission.decisions()),
        None if is_grpc(seen.headers()) => grpc(&refusal),
        None if wants_text(seen) => answer(refusal.status(), TEXT, refusal.plain()),
        None => answer(refusal.status(), PROBLEM, refusal.problem(id)),
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, NO_STORE);
    add_fields(headers, admission, setup);
    if let Some(id) = id {
        insert(headers, Field::Decision, id);
    }
    response
}

/// The answer to a request that no rule can be asked about.
pub(super) fn rejected(seen: &Seen<'_>, rejected: &Rejected) -> Response<Bytes> {
    if is_grpc(seen.headers()) {
        let mut response = Response::default();
        let put = &mut |field, text: &str| insert(response.headers_mut(), field, text);
        fields::grpc_rejected(rejected, put);
        response.headers_mut().insert(CONTENT_TYPE, GRPC);
        return response;
    }
    answer(rejected.status(), PROBLEM, fields::rejected_problem(rejected))
}

/// Adds what callers are told. Where an inner layer has told something already, lists have both, and the
/// older fields are of whichever has less left.
pub(super) fn add_fields(headers: &mut HeaderMap, admission: &Admission, setup: &Setup) {
    // Most answers have none of these fields yet.
    let fresh = !headers.keys().any(is_of_limits);
    let stricter = |remaining: Field| {
        if fresh {
            return false;
        }
        let told = headers.get(name(remaining)).and_then(|told| told.to_str().ok()?.parse().ok());
        told.is_some_and(|other: u64| other <= admission.remaining())
    };
    let (x_stays, older_stays) = (stricter(Field::XRemaining), stricter(Field::Remaining));
    let told = Told::new(admission, setup.limiter.now());
    headers.reserve(told.count);
    for (field, value) in told.fields() {
        match field {
            Field::RateLimitPolicy | Field::RateLimit if !fresh => {
                headers.append(name(field), value);
                continue;
            }
            Field::XLimit | Field::XRemaining | Field::XReset if x_stays => continue,
            Field::Limit | Field::Remaining | Field::Reset if older_stays => continue,
            // The first of three figures of one limit; not every limit has the last.
            Field::XLimit if !fresh => drop(headers.remove(name(Field::XReset))),
            Field::Limit if !fresh => drop(headers.remove(name(Field::Reset))),
            _ => {}
        }
        headers.insert(name(field), value);
    }
}

/// Whether a field is one of those that tell of limits.
fn is_of_limits(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.strip_prefix("x-").unwrap_or(name).starts_with("ratelimit")
}

/// What callers are told, all of it in one piece of memory.
struct Told {
    texts: Bytes,
    /// Each field, and where its value ends.
    ends: [(Field, usize); FIELDS_MAX],
    count: usize,
}

impl Told {
    fn new(admission: &Admission, now: u64) -> Told {
        let mut texts = Vec::with_capacity(TEXTS_USUAL);
        let mut ends = [(Field::RetryAfter, 0); FIELDS_MAX];
        let mut count = 0;
        fields::write(admission.decisions(), admission.forms(), now, &mut |field, text| {
            texts.extend_from_slice(text.as_bytes());
            if let Some(end) = ends.get_mut(count) {
                *end = (field, texts.len());
                count += 1;
            }
        });
        Told { texts: texts.into(), ends, count }
    }

    fn fields(&self) -> impl Iterator<Item = (Field, HeaderValue)> {
        let mut start = 0;
        self.ends[..self.count].iter().filter_map(move |(field, end)| {
            let text = self.texts.slice(mem::replace(&mut start, *end)..*end);
            Some((*field, HeaderValue::from_maybe_shared(text).ok()?))
        })
    }
}

fn insert(headers: &mut HeaderMap, field: Field, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name(field), value);
    }
}

/// Names made beforehand: making one takes as long as putting a field in.
fn name(field: Field) -> HeaderName {
    const fn of(field: Field) -> HeaderName {
        HeaderName::from_static(field.name())
    }
    const POLICY: HeaderName = of(Field::RateLimitPolicy);
    const RATELIMIT: HeaderName = of(Field::RateLimit);
    const X_LIMIT: HeaderName = of(Field::XLimit);
    const X_REMAINING: HeaderName = of(Field::XRemaining);
    const X_RESET: HeaderName = of(Field::XReset);
    const REMAINING: HeaderName = of(Field::Remaining);
    match field {
        Field::RateLimitPolicy => POLICY,
        Field::RateLimit => RATELIMIT,
        Field::XLimit => X_LIMIT,
        Field::XRemaining => X_REMAINING,
        Field::XReset => X_RESET,
        Field::Remaining => REMAINING,
        other => of(other),
    }
}

fn answer(status: u16, kind: HeaderValue, text: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(text));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A call over gRPC is answered with a status of its own, in the header fields alone.
fn grpc(refusal: &Refusal<'_>) -> Response<Bytes> {
    let mut response = Response::default();
    refusal.grpc(&mut |field, text| insert(response.headers_mut(), field, text));
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response
}

pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let Some((start, rest)) = kind.split_at_checked(GRPC.len()) else { return false };
    let ends = matches!(rest.first(), None | Some(b'+' | b'-' | b';' | b' ' | b'\t'));
    ends && start.eq_ignore_ascii_case(GRPC.as_bytes())
}

fn wants_text(seen: &Seen<'_>) -> bool {
    fields::wants_text(seen.headers().get(ACCEPT).map(HeaderValue::as_bytes))
}
