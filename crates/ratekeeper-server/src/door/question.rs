//! What it means: the fields as they were written become questions, or the first fault found.
//!
//! Invariant: a question that exists can be asked. All of a batch are made before any is asked, so a
//! bad item charges nothing.

use super::field::{Place, bad, bad_field, costs, fields, needed, only, text};
use super::written::{ITEMS_MAX, Kind, Text, Written, fault};
use crate::problem::Problem;
use axum::http::StatusCode;
use ratekeeper::{Key, Limiter, Rule};
use serde_json::value::RawValue;

/// Most parts of a key. Beyond it: 400.
pub const PARTS_MAX: usize = 16;

/// A call as an example.
pub(super) const EXAMPLE: &str = r#"{"rule":"token-bucket","key":"alice","cost":1}"#;

/// The fields of a check.
const FIELDS: [&str; 3] = ["rule", "key", "cost"];

/// One check: may a request of this key and this cost pass under this rule?
pub(super) struct Question<'a> {
    pub(super) rule: Rule,
    pub(super) key: Vec<Part<'a>>,
    /// 0 only looks.
    pub(super) cost: u64,
}

/// One part of who is counted.
pub(super) struct Part<'a>(Text<'a>);

impl Key for Part<'_> {
    fn single(&self) -> Option<&[u8]> {
        Some(self.0.0.as_bytes())
    }

    fn parts<F: FnMut(&[u8])>(&self, each: &mut F) {
        each(self.0.0.as_bytes());
    }
}

/// One question, answered by one decision, or several, answered by as many.
pub(super) enum Asked<'a> {
    One(Question<'a>),
    Batch(Vec<Question<'a>>),
}

/// What to check, and in which form to answer.
pub(super) fn understand<'a>(
    limiter: &Limiter,
    written: Written<'a>,
) -> Result<Asked<'a>, Problem> {
    match written {
        Written::Object(found) => {
            let found = fields(found, FIELDS, Place(None))?;
            Ok(Asked::One(question(limiter, found, Place(None), 0)?))
        }
        Written::Array(items) if items.is_empty() => {
            Err(bad(format!("the batch is empty; send 1 to {ITEMS_MAX} checks")))
        }
        Written::Array(items) if items.len() > ITEMS_MAX => {
            let detail = format!("the batch has more than {ITEMS_MAX} checks; send it in pieces");
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail))
        }
        Written::Array(items) => {
            let numbered = items.into_iter().enumerate();
            let questions = numbered.map(|(index, item)| self::item(limiter, item, index));
            Ok(Asked::Batch(questions.collect::<Result<_, _>>()?))
        }
        Written::Other(kind) => Err(bad(format!(
            "the body is {kind}; send an object such as {EXAMPLE}, or an array of such objects"
        ))),
    }
}

/// What to reserve: one check, of at least 1.
pub(super) fn reservation<'a>(
    limiter: &Limiter,
    written: Written<'a>,
) -> Result<Question<'a>, Problem> {
    question(limiter, only(written, FIELDS, EXAMPLE)?, Place(None), 1)
}

fn item<'a>(limiter: &Limiter, item: Written<'a>, index: usize) -> Result<Question<'a>, Problem> {
    let at = Place(Some(index));
    match item {
        Written::Object(found) => question(limiter, fields(found, FIELDS, at)?, at, 0),
        other => {
            let fault = format!("is {}; send an object such as {EXAMPLE}", other.kind());
            Err(bad_field(&format!("[{index}]"), &fault))
        }
    }
}

fn question<'a>(
    limiter: &Limiter,
    [rule, key, cost]: [Option<&'a RawValue>; 3],
    at: Place,
    least: u64,
) -> Result<Question<'a>, Problem> {
    Ok(Question {
        rule: self::rule(limiter, rule, &at.field("rule"))?,
        key: self::key(key, &at.field("key"))?,
        cost: cost.map_or(Ok(1), |cost| self::cost(cost, &at.field("cost"), least))?,
    })
}

fn rule(limiter: &Limiter, value: Option<&RawValue>, path: &str) -> Result<Rule, Problem> {
    let repair = "send the name of a rule as a string";
    let name = text(needed(value, path, repair)?, path, repair)?;
    limiter.rule(&name.0).map_err(|unknown| {
        Problem::field(StatusCode::NOT_FOUND, path, &format!("is unknown: {unknown}"))
    })
}

fn key<'a>(value: Option<&'a RawValue>, path: &str) -> Result<Vec<Part<'a>>, Problem> {
    let repair = "send who is counted, as a string or an array of strings";
    let value = needed(value, path, repair)?;
    if Kind::of(value) != Kind::Array {
        return Ok(vec![part(value, path, repair)?]);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(|error| {
        bad_field(path, &format!("cannot be read: {}; {repair}", fault(&error)))
    })?;
    if parts.is_empty() || parts.len() > PARTS_MAX {
        let fault = format!("has {} parts; send 1 to {PARTS_MAX}", parts.len());
        return Err(bad_field(path, &fault));
    }
    let numbered = parts.into_iter().enumerate();
    let repair = "send each part as a string";
    numbered.map(|(index, value)| part(value, &format!("{path}[{index}]"), repair)).collect()
}

/// An empty part is a variable that was never set far more often than it is anyone's name; taken, it
/// would count all such callers as one.
fn part<'a>(value: &'a RawValue, path: &str, repair: &str) -> Result<Part<'a>, Problem> {
    let text = text(value, path, repair)?;
    if text.0.is_empty() {
        return Err(bad_field(path, "is empty; send who is counted"));
    }
    Ok(Part(text))
}

/// Who means 1 may leave it out.
fn cost(value: &RawValue, path: &str, least: u64) -> Result<u64, Problem> {
    if Kind::of(value) == Kind::Null {
        let fault = format!("is null; leave it out for 1, or send {}", costs(least));
        return Err(bad_field(path, &fault));
    }
    super::field::cost(value, path, least)
}
