//! What is answered to a call that changes nothing, or of which that is not known: a problem body, with every fault of
//! the rules and its place.
//!
//! Invariant: "nothing has changed" is said where that is known; faults have the form that `ratekeeper validate --json`
//! gives them.

use crate::config::{Fault, Faults};
use crate::problem::Problem;
use crate::reload::Refused;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A call that is refused.
pub(super) enum Refusal {
    Problem(Problem),
    Faults(Faults),
    /// There is too much to do; for this reason it is not done.
    Busy(&'static str),
}

/// How long who is told to come again should wait.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal::Problem(problem)
    }
}

/// The status of a refusal, and what is known, in words.
pub(super) fn told(refused: &Refused) -> (StatusCode, String) {
    match refused {
        Refused::Faults(faults) => (StatusCode::UNPROCESSABLE_ENTITY, faults.lines().join("; ")),
        Refused::Stale(number) => (
            StatusCode::PRECONDITION_FAILED,
            format!(
                "release {number} is live, which is another than `If-Match` names; look at it, and send again"
            ),
        ),
        Refused::Unknown(fault) => (StatusCode::NOT_FOUND, fault.clone()),
        Refused::Away(error) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "the store that the fleet shares cannot be asked: {error}; nothing has changed, try again"
            ),
        ),
        Refused::Unsure(why) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "{why}; the change may have been made or not: look at what is live, and try again"
            ),
        ),
        Refused::Unfinished => (
            StatusCode::ACCEPTED,
            "the change is still being made; `GET /v1/rules` shows when it decides, or its fault"
                .into(),
        ),
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        if let Refused::Faults(faults) = refused {
            return Refusal::Faults(faults);
        }
        let (status, detail) = told(&refused);
        Refusal::Problem(Problem::new(status, detail))
    }
}

impl From<Faults> for Refusal {
    fn from(faults: Faults) -> Refusal {
        Refusal::Faults(faults)
    }
}

/// The problem of rules that make no sense.
#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    errors: &'a [Fault],
    more: usize,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let faults = match self {
            Refusal::Problem(problem) => return problem.into_response(),
            Refusal::Busy(detail) => {
                let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail);
                return ([(header::RETRY_AFTER, RETRY_SECONDS)], problem).into_response();
            }
            Refusal::Faults(faults) => faults,
        };
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let first = faults.listed.first().map(ToString::to_string).unwrap_or_default();
        let more = match faults.listed.len() + faults.more {
            0 | 1 => String::new(),
            all => format!(" (and {} more)", all - 1),
        };
        let body = Body {
            r#type: "about:blank",
            title: "Unprocessable Content",
            status: status.as_u16(),
            detail: format!("{first}{more}"),
            errors: &faults.listed,
            more: faults.more,
        };
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        (status, [(header::CONTENT_TYPE, kind)], body).into_response()
    }
}

/// The releases that the caller has seen, if it says so.
pub(super) fn seen(headers: &HeaderMap) -> Result<impl Fn(u64) -> bool + Send + use<>, Problem> {
    let bad = || {
        let detail =
            "`If-Match` names no release; send the value of the field `ETag`, such as \"7\"";
        Problem::new(StatusCode::BAD_REQUEST, detail)
    };
    let (mut any, mut numbers) = (!headers.contains_key(header::IF_MATCH), Vec::new());
    for value in headers.get_all(header::IF_MATCH) {
        for tag in value.to_str().map_err(|_| bad())?.split(',').map(str::trim) {
            let number = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
            match number.and_then(|number| number.parse::<u64>().ok()) {
                Some(number) => numbers.push(number),
                None if tag == "*" => any = true,
                None => return Err(bad()),
            }
        }
    }
    Ok(move |live| any || numbers.contains(&live))
}

/// A release's number as a field.
pub(super) fn etag(number: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{number}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}
