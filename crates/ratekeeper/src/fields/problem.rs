//! Bodies of answers as `application/problem+json` (RFC 9457).
//!
//! Invariant: whatever the texts hold, what is written is one object of JSON.

use super::refusal::{Refusal, Why};
use super::text::{SECOND, decimal, number};
use crate::request::{Rejected, Rejection};

/// What the draft calls a quota that is used up.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// What the draft calls a service that cannot do all that it usually can.
const REDUCED_CAPACITY: &str =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// Bytes of a usual body.
const BODY_USUAL: usize = 384;

/// What says no more than the status.
const BLANK: &str = "about:blank";

impl Refusal<'_> {
    /// The body that says why; `instance` is the name of the decision.
    pub fn problem(&self, instance: Option<&str>) -> String {
        self.problem_of(self.status(), instance)
    }

    /// The same for an answer whose status somebody else chooses, such as 429.
    pub fn problem_of(&self, status: u16, instance: Option<&str>) -> String {
        let (kind, title) = match self.why {
            Why::Quota | Why::Never => (QUOTA_EXCEEDED, "Quota Exceeded"),
            Why::Outage => (REDUCED_CAPACITY, "Temporary Reduced Capacity"),
            Why::Closed if status == 429 => (BLANK, "Too Many Requests"),
            Why::Closed => (BLANK, "Forbidden"),
        };
        let mut body = problem(kind, title, status, &self.detail());
        if self.why != Why::Closed {
            body.push_str(r#","violated-policies":["#);
            for (nth, name) in self.violated().into_iter().enumerate() {
                if nth > 0 {
                    body.push(',');
                }
                string(&mut body, name);
            }
            body.push_str(r#"],"retry_after":"#);
            match self.decisions.verdict.retry_after.ticks() {
                Some(ticks) => decimal(&mut body, ticks, SECOND),
                None => body.push_str("null"),
            }
        }
        if let Some(instance) = instance {
            body.push_str(r#","instance":"#);
            string(&mut body, instance);
        }
        body.push('}');
        body
    }
}

/// The body for a call that no rule can be asked about.
pub fn rejected_problem(rejected: &Rejected) -> String {
    let title = match rejected.kind() {
        Rejection::Malformed => "Bad Request",
        Rejection::Unknown => "Internal Server Error",
    };
    problem(BLANK, title, rejected.status(), &rejected.to_string()) + "}"
}

/// The members that every problem has, without the last brace.
fn problem(kind: &str, title: &str, status: u16, detail: &str) -> String {
    let mut body = String::with_capacity(BODY_USUAL);
    body.push_str(r#"{"type":"#);
    string(&mut body, kind);
    body.push_str(r#","title":"#);
    string(&mut body, title);
    body.push_str(r#","status":"#);
    number(&mut body, status.into());
    body.push_str(r#","detail":"#);
    string(&mut body, detail);
    body
}

/// A string of JSON.
fn string(body: &mut String, text: &str) {
    let needs_escape = |c: char| matches!(c, '"' | '\\' | '\0'..='\x1f');
    body.push('"');
    let mut rest = text;
    while let Some((plain, c)) = rest.find(needs_escape).map(|at| rest.split_at(at)) {
        body.push_str(plain);
        let mut chars = c.chars();
        escape(body, chars.next().unwrap_or_default());
        rest = chars.as_str();
    }
    body.push_str(rest);
    body.push('"');
}

fn escape(body: &mut String, c: char) {
    if matches!(c, '"' | '\\') {
        return body.extend(['\\', c]);
    }
    let digit = |value| char::from_digit(value, 16).unwrap_or('0');
    body.push_str("\\u00");
    body.extend([digit(u32::from(c) >> 4), digit(u32::from(c) & 15)]);
}
