//! What it means: the fields as they were written become questions, or the first fault found.
//!
//! Invariant: a question that exists can be asked. All of a batch are made before any is asked, so a
//! bad item charges nothing.

use super::written::{EXAMPLE, ITEMS_MAX, Kind, Text, Written, fault};
use crate::problem::{Problem, quoted};
use axum::http::StatusCode;
use ratekeeper::{Key, Limiter, Rule};
use serde_json::value::RawValue;
use std::fmt;

/// Largest cost of one call. Beyond it: 400.
pub const COST_MAX: u64 = 1 << 32;

/// Most parts of a key. Beyond it: 400.
pub const PARTS_MAX: usize = 16;

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

pub(super) fn understand<'a>(
    limiter: &Limiter,
    written: Written<'a>,
) -> Result<Asked<'a>, Problem> {
    match written {
        Written::Array(items) if items.is_empty() => {
            Err(bad(format!("the batch is empty; send 1 to {ITEMS_MAX} checks")))
        }
        Written::Array(items) if items.len() > ITEMS_MAX => {
            let detail = format!("the batch has more than {ITEMS_MAX} checks; send it in pieces");
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail))
        }
        Written::Array(items) => {
            let numbered = items.into_iter().enumerate();
            let questions =
                numbered.map(|(index, item)| question(limiter, item, Place(Some(index))));
            Ok(Asked::Batch(questions.collect::<Result<_, _>>()?))
        }
        one => Ok(Asked::One(question(limiter, one, Place(None))?)),
    }
}

/// Where a check is in the body: all of it, or an item of the batch.
#[derive(Clone, Copy)]
struct Place(Option<usize>);

impl Place {
    fn field(self, name: impl fmt::Display) -> String {
        self.0.map_or_else(|| name.to_string(), |index| format!("[{index}].{name}"))
    }
}

fn question<'a>(limiter: &Limiter, item: Written<'a>, at: Place) -> Result<Question<'a>, Problem> {
    let fields = match (item, at.0) {
        (Written::Object(fields), _) => fields,
        (other, None) => {
            let kind = other.kind();
            return Err(bad(format!(
                "the body is {kind}; send an object such as {EXAMPLE}, or an array of such objects"
            )));
        }
        (other, Some(index)) => {
            let fault = format!("is {}; send an object such as {EXAMPLE}", other.kind());
            return Err(bad_field(&format!("[{index}]"), &fault));
        }
    };
    let (mut rule, mut key, mut cost) = (None, None, None);
    for (field, value) in fields {
        let known = match &*field.0 {
            "rule" => &mut rule,
            "key" => &mut key,
            "cost" => &mut cost,
            unknown => {
                let path = at.field(quoted(unknown));
                return Err(bad_field(&path, "is not a field; the fields are rule, key and cost"));
            }
        };
        if known.replace(value).is_some() {
            return Err(bad_field(&at.field(field.0), "is there twice; send it once"));
        }
    }
    Ok(Question {
        rule: self::rule(limiter, rule, &at.field("rule"))?,
        key: self::key(key, &at.field("key"))?,
        cost: cost.map_or(Ok(1), |cost| self::cost(cost, &at.field("cost")))?,
    })
}

fn rule(limiter: &Limiter, value: Option<&RawValue>, path: &str) -> Result<Rule, Problem> {
    let repair = "send the name of a rule as a string";
    let Some(value) = value else {
        return Err(bad_field(path, &format!("is missing; {repair}")));
    };
    let name = text(value, path, repair)?;
    limiter.rule(&name.0).map_err(|unknown| {
        Problem::field(StatusCode::NOT_FOUND, path, &format!("is unknown: {unknown}"))
    })
}

fn key<'a>(value: Option<&'a RawValue>, path: &str) -> Result<Vec<Part<'a>>, Problem> {
    let repair = "send who is counted, as a string or an array of strings";
    let Some(value) = value else {
        return Err(bad_field(path, &format!("is missing; {repair}")));
    };
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

fn text<'a>(value: &'a RawValue, path: &str, repair: &str) -> Result<Text<'a>, Problem> {
    if Kind::of(value) != Kind::Text {
        return Err(bad_field(path, &format!("is {}; {repair}", Kind::of(value))));
    }
    serde_json::from_str(value.get())
        .map_err(|error| bad_field(path, &format!("cannot be read: {}; {repair}", fault(&error))))
}

fn cost(value: &RawValue, path: &str) -> Result<u64, Problem> {
    let written = value.get();
    let fault = match Kind::of(value) {
        Kind::Null => "is null; leave it out for 1, or send".into(),
        Kind::Number if written.starts_with('-') => "is negative; send".into(),
        Kind::Number if written.contains(['.', 'e', 'E']) => {
            "is not written in digits alone; send".into()
        }
        Kind::Number => match written.parse() {
            Ok(cost) if cost <= COST_MAX => return Ok(cost),
            _ => "is too large; send".into(),
        },
        other => format!("is {other}; send"),
    };
    Err(bad_field(path, &format!("{fault} a whole number from 0 to {COST_MAX}")))
}

fn bad(detail: String) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail)
}

fn bad_field(path: &str, fault: &str) -> Problem {
    Problem::field(StatusCode::BAD_REQUEST, path, fault)
}
