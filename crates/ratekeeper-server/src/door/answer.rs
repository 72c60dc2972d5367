//! Answers as JSON, above all decisions.
//!
//! Invariant: times are seconds, exact to the microsecond; members that have no meaning for an answer are
//! null.

mod write;

use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use ratekeeper::decision::UNLIMITED;
use ratekeeper::{Decision, Decisions, HoldId};
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use write::{Json, put};

/// Bytes of an answer of one rule, and some.
const USUAL: usize = 384;

/// The answer to one question. `permit` and `hold`, which most callers never meet, are left out where there
/// are none, and `atomic` where it is true: all was decided in one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    decisions: &'a Decisions,
    id: Option<&'a str>,
    hold: Option<HoldId>,
}

impl<'a> Answer<'a> {
    /// The answer of all rules that apply; if none does, the request passes. A refusal has a name.
    pub(crate) fn new(decisions: &'a Decisions, id: Option<&'a str>) -> Answer<'a> {
        Answer { decisions, id, hold: None }
    }

    /// The same, with the name by which to settle it, if it has one.
    pub(super) fn held(self, hold: Option<HoldId>) -> Answer<'a> {
        Answer { hold, ..self }
    }

    /// The whole answer to one question.
    pub(super) fn response(self) -> Response {
        let mut out = Vec::with_capacity(USUAL);
        self.write(&mut out);
        written(out)
    }

    /// The answer to several questions.
    pub(super) fn responses(answers: impl Iterator<Item = Answer<'a>>) -> Response {
        let mut out = Vec::new();
        for answer in answers {
            out.push(if out.is_empty() { b'[' } else { b',' });
            answer.write(&mut out);
        }
        out.push(b']');
        written(out)
    }
}

impl Json for Answer<'_> {
    fn write(self, out: &mut Vec<u8>) {
        let decision: &Decision = self.decisions;
        put(out, r#"{"allowed":"#, decision.is_allowed());
        put(out, r#","rule":"#, self.decisions.rule());
        Figures(decision).write(out);
        put(out, r#","source":"#, decision.source().name());
        put(out, r#","id":"#, self.id);
        put(out, r#","version":"#, self.decisions.version());
        if !decision.is_atomic() {
            put(out, r#","atomic":"#, false);
        }
        if let Some(permit) = decision.permit() {
            put(out, r#","permit":"#, &*permit.to_string());
        }
        if let Some(hold) = self.hold {
            put(out, r#","hold":"#, &*hold.to_string());
        }
        out.extend_from_slice(br#","results":["#);
        for (index, result) in self.decisions.rules().iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            Outcome::new(result.rule(), result, result.is_shadow()).write(out);
        }
        out.extend_from_slice(b"]}");
    }
}

/// Within another answer.
impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = Vec::with_capacity(USUAL);
        self.write(&mut out);
        let text = String::from_utf8(out).map_err(S::Error::custom)?;
        RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// What one rule said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome<'a> {
    rule: &'a str,
    decision: &'a Decision,
    shadow: bool,
}

impl<'a> Outcome<'a> {
    pub(crate) fn new(rule: &'a str, decision: &'a Decision, shadow: bool) -> Outcome<'a> {
        Outcome { rule, decision, shadow }
    }
}

impl Json for Outcome<'_> {
    fn write(self, out: &mut Vec<u8>) {
        put(out, r#"{"rule":"#, self.rule);
        put(out, r#","allowed":"#, self.decision.is_allowed());
        Figures(self.decision).write(out);
        put(out, r#","shadow":"#, self.shadow);
        out.push(b'}');
    }
}

impl Outcome<'_> {
    /// Its members, to be told among others.
    pub(crate) fn members(self) -> Map<String, Value> {
        let mut out = Vec::with_capacity(USUAL);
        self.write(&mut out);
        serde_json::from_slice(&out).unwrap_or_default()
    }
}

/// What a decision says beyond yes or no. Without a store there is nothing to tell but the answer.
#[derive(Clone, Copy)]
struct Figures<'a>(&'a Decision);

impl Json for Figures<'_> {
    fn write(self, out: &mut Vec<u8>) {
        let decision = self.0;
        let limited = decision.limit() != UNLIMITED && !decision.is_without_figures();
        put(out, r#","limit":"#, limited.then_some(decision.limit()));
        put(out, r#","remaining":"#, limited.then_some(decision.remaining()));
        put(out, r#","retry_after":"#, decision.retry_after());
        put(out, r#","reset_after":"#, decision.reset_after());
        put(out, r#","delay":"#, decision.delay());
        put(out, r#","never":"#, decision.is_never());
    }
}

/// An answer with status 200.
pub(crate) fn json(answer: &impl Serialize) -> Result<Response, Problem> {
    serde_json::to_vec(answer).map(written).map_err(|error| {
        let detail = format!("the answer cannot be written: {error}; this is a fault of ours");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    })
}

/// An answer with status 200 of these bytes.
fn written(json: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(json));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
