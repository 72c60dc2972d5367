//! Answers as JSON, above all decisions.
//!
//! Invariant: times are seconds, exact to the microsecond. A double holds every number of
//! microseconds that a decision can have, and the shortest text that reads back as that double is
//! the decimal itself, since it has no more than 15 digits.

use crate::problem::Problem;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ratekeeper::decision::UNLIMITED;
use ratekeeper::{Decision, Decisions, HoldId};
use serde::Serialize;
use std::time::Duration;

/// The answer to one question. Members that have no meaning for it are null; `permit` and `hold`,
/// which most callers never meet, are left out then.
#[derive(Debug, Serialize)]
pub(crate) struct Answer<'a> {
    allowed: bool,
    rule: Option<&'a str>,
    limit: Option<u64>,
    remaining: Option<u64>,
    retry_after: Option<f64>,
    reset_after: Option<f64>,
    delay: Option<f64>,
    never: bool,
    source: &'static str,
    id: Option<&'a str>,
    version: u64,
    /// Left out where it is true: all was decided in one step.
    #[serde(skip_serializing_if = "Clone::clone")]
    atomic: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    permit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<String>,
    results: Vec<Outcome<'a>>,
}

/// What one rule said.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Outcome<'a> {
    rule: &'a str,
    allowed: bool,
    limit: Option<u64>,
    remaining: Option<u64>,
    retry_after: Option<f64>,
    reset_after: Option<f64>,
    delay: Option<f64>,
    never: bool,
    shadow: bool,
}

impl<'a> Outcome<'a> {
    pub(crate) fn new(rule: &'a str, decision: &Decision, shadow: bool) -> Outcome<'a> {
        // Without a store there is nothing to tell but the answer.
        let limited = decision.limit() != UNLIMITED && !decision.is_without_figures();
        Outcome {
            rule,
            allowed: decision.is_allowed(),
            limit: limited.then_some(decision.limit()),
            remaining: limited.then_some(decision.remaining()),
            retry_after: decision.retry_after().map(seconds),
            reset_after: decision.reset_after().map(seconds),
            delay: decision.delay().map(seconds),
            never: decision.is_never(),
            shadow,
        }
    }
}

impl<'a> Answer<'a> {
    /// The answer of all rules that apply; if none does, the request passes. A refusal has a name.
    pub(crate) fn new(decisions: &'a Decisions, id: Option<&'a str>) -> Answer<'a> {
        let (rule, version) = (decisions.rule(), decisions.version());
        let decision: &Decision = decisions;
        let each = decisions.rules().iter();
        let each = each.map(|result| Outcome::new(result.rule(), result, result.is_shadow()));
        let results = each.collect();
        let Outcome { allowed, limit, remaining, retry_after, reset_after, delay, never, .. } =
            Outcome::new("", decision, false);
        Answer {
            allowed,
            rule,
            limit,
            remaining,
            retry_after,
            reset_after,
            delay,
            never,
            source: decision.source().name(),
            id,
            version,
            atomic: decision.is_atomic(),
            permit: decision.permit().map(|permit| permit.to_string()),
            hold: None,
            results,
        }
    }

    /// The same, with the name by which to settle it, if it has one.
    pub(super) fn held(self, hold: Option<HoldId>) -> Answer<'a> {
        Answer { hold: hold.map(|hold| hold.to_string()), ..self }
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}

/// An answer with status 200.
pub(crate) fn json(answer: &impl Serialize) -> Result<Response, Problem> {
    let body = serde_json::to_vec(answer).map_err(|error| {
        let detail = format!("the answer cannot be written: {error}; this is a fault of ours");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    })?;
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a time in JSON is the decimal itself, with no digit of the double behind it.
    /// Method: compare with digits set by hand, at ends, at awkward values and over a long stride.
    #[test]
    fn times_are_exact_to_the_microsecond() {
        let twenty_years = 2 * 10 * 365 * 24 * 3600 * 1_000_000_u64;
        let strided = (0..twenty_years).step_by(6_007_000_000_039);
        for micros in
            [0, 1, 9, 10, 12_400_000, 999_999, 1_000_001, twenty_years].into_iter().chain(strided)
        {
            let json = serde_json::to_string(&seconds(Duration::from_micros(micros))).unwrap();
            let digits = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
            let digits = digits.trim_end_matches('0');
            let plain =
                if digits.ends_with('.') { format!("{digits}0") } else { digits.to_owned() };
            let tiny = format!("{micros}e-6");
            assert_eq!(json, if (1..10).contains(&micros) { tiny } else { plain });
        }
    }
}
