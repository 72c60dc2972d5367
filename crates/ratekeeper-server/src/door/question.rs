//! What it means: the fields as they were written become questions, or the first fault found.
//!
//! Invariant: a question that exists can be asked. All of a batch are made before any is asked, so a
//! bad item charges nothing.

use super::described::Described;
use super::field::{COST_MAX, Place, bad, bad_field, costs, fields, needed, only, short, text};
use super::written::{ITEMS_MAX, Kind, Text, Written, fault};
use crate::decisions;
use crate::problem::Problem;
use axum::http::StatusCode;
use ratekeeper::limiter::{AskError, Prepared};
use ratekeeper::request::Rejection;
use ratekeeper::{Decisions, Limiter, Rejected};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Most parts of a key. Beyond it: 400.
pub const PARTS_MAX: usize = 16;

/// Longest name of a tier; the longest that a rule file can give one.
const TIER_MAX: usize = 64;

/// A call as an example.
pub(super) const EXAMPLE: &str = r#"{"rule":"token-bucket","key":"alice","cost":1}"#;

/// The fields of a check.
const FIELDS: [&str; 5] = ["rule", "key", "cost", "tier", "request"];

/// One check: may this pass, at this cost? A cost of 0 only looks. A key under one rule, or a request under
/// all rules that apply to it.
pub(super) struct Question<'a> {
    pub(super) prepared: Prepared,
    pub(super) about: About<'a>,
}

/// What a question is about.
pub(super) enum About<'a> {
    /// A key.
    Key(Vec<Text<'a>>),
    /// A request.
    Request(Box<Described<'a>>),
}

impl About<'_> {
    /// Who asked, for those who ask why it was refused.
    pub(super) fn asked(&self, limiter: &Limiter, decisions: &Decisions) -> decisions::Asked {
        match self {
            About::Key(parts) => {
                let key = parts.iter().map(|part| part.0.clone().into_owned()).collect();
                decisions::Asked { key, ..decisions::Asked::default() }
            }
            About::Request(described) => {
                decisions::Asked::about(limiter, &described.request(0), decisions)
            }
        }
    }
}

/// One question, answered by one decision, or several, answered by as many.
pub(super) enum Asked<'a> {
    One(Question<'a>),
    Batch(Vec<Question<'a>>),
}

/// A check as most are: a rule, one key, and perhaps a cost.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain<'a> {
    #[serde(borrow)]
    rule: Cow<'a, str>,
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(default = "one")]
    cost: u64,
}

fn one() -> u64 {
    1
}

/// The question of such a check. Whatever is wrong with it, or different, is left to [`understand`].
pub(super) fn plain<'a>(limiter: &Limiter, text: &'a str) -> Option<Question<'a>> {
    // An array could be read as these fields, too.
    let object = text.trim_ascii_start().starts_with('{');
    let Plain { rule, key, cost } = serde_json::from_str(text).ok().filter(|_| object)?;
    if key.is_empty() || cost > COST_MAX {
        return None;
    }
    let prepared = limiter.prepare_rule(&rule, &[&key], None, cost).ok()?;
    Some(Question { prepared, about: About::Key(vec![Text(key)]) })
}

/// What to check, and in which form to answer.
pub(super) fn understand<'a>(
    limiter: &Limiter,
    written: Written<'a>,
) -> Result<Asked<'a>, Problem> {
    match written {
        Written::Object(found) => Ok(Asked::One(question(limiter, found, Place::default())?)),
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

fn item<'a>(limiter: &Limiter, item: Written<'a>, index: usize) -> Result<Question<'a>, Problem> {
    match item {
        Written::Object(found) => question(limiter, found, Place::item(index)),
        other => {
            let fault = format!("is {}; send an object such as {EXAMPLE}", other.kind());
            Err(bad_field(format_args!("[{index}]"), &fault))
        }
    }
}

fn question<'a>(
    limiter: &Limiter,
    found: Vec<(Text<'a>, &'a RawValue)>,
    at: Place,
) -> Result<Question<'a>, Problem> {
    subject(limiter, fields(found, FIELDS, at)?, at, 0)
}

/// What to reserve: one check, of at least 1.
pub(super) fn reservation<'a>(
    limiter: &Limiter,
    written: Written<'a>,
) -> Result<Question<'a>, Problem> {
    subject(limiter, only(written, FIELDS, EXAMPLE)?, Place::default(), 1)
}

/// Either a rule with a key, or a request.
fn subject<'a>(
    limiter: &Limiter,
    [rule, key, cost, tier, request]: [Option<&'a RawValue>; 5],
    at: Place,
    least: u64,
) -> Result<Question<'a>, Problem> {
    let cost = || cost.map_or(Ok(1), |cost| self::cost(cost, at.field("cost"), least));
    let Some(request) = request else {
        return rule_and_key(limiter, [rule, key, tier], at, cost);
    };
    for (name, value) in [("rule", rule), ("key", key), ("tier", tier)] {
        if value.is_some() {
            let fault = "is beside `request`, which says who is counted; send one of them";
            return Err(bad_field(at.field(name), fault));
        }
    }
    let described = Described::read(request, at)?;
    let prepared = limiter.prepare(&described.request(cost()?));
    let prepared = prepared.map_err(|fault| rejected(&fault, at))?;
    Ok(Question { prepared, about: About::Request(Box::new(described)) })
}

fn rule_and_key<'a>(
    limiter: &Limiter,
    [rule, key, tier]: [Option<&'a RawValue>; 3],
    at: Place,
    cost: impl FnOnce() -> Result<u64, Problem>,
) -> Result<Question<'a>, Problem> {
    let (rule_path, key_path) = (at.field("rule"), at.field("key"));
    let repair = "send the name of a rule as a string";
    let rule = needed(rule, rule_path, format_args!("{repair}, or a `request`"))?;
    let name = text(rule, rule_path, repair)?;
    let texts = self::key(key, key_path)?;
    let parts: Vec<&str> = texts.iter().map(|part| &*part.0).collect();
    let repair = "send the name of a tier, or leave it out";
    let tier = tier.map(|tier| short(tier, at.field("tier"), TIER_MAX, repair)).transpose()?;
    let tier = tier.as_ref().map(|tier| &*tier.0);
    let cost = cost()?;
    let prepared =
        limiter.prepare_rule(&name.0, &parts, tier, cost).map_err(|error| match error {
            AskError::Unknown(unknown) => {
                let fault = format!("is unknown: {unknown}");
                Problem::field(StatusCode::NOT_FOUND, &rule_path.to_string(), &fault)
            }
            AskError::Closed => bad_field(rule_path, &format!("cannot be asked: {error}")),
            AskError::Parts { .. } | AskError::Kind(_) => {
                bad_field(key_path, &format!("does not fit: {error}"))
            }
        })?;
    Ok(Question { prepared, about: About::Key(texts) })
}

fn key<'a>(value: Option<&'a RawValue>, path: impl fmt::Display) -> Result<Vec<Text<'a>>, Problem> {
    let repair = "send who is counted, as a string or an array of strings";
    let value = needed(value, &path, repair)?;
    if Kind::of(value) != Kind::Array {
        return Ok(vec![part(value, path, repair)?]);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(|error| {
        bad_field(&path, &format!("cannot be read: {}; {repair}", fault(&error)))
    })?;
    if parts.is_empty() || parts.len() > PARTS_MAX {
        let fault = format!("has {} parts; send 1 to {PARTS_MAX}", parts.len());
        return Err(bad_field(path, &fault));
    }
    let numbered = parts.into_iter().enumerate();
    let repair = "send each part as a string";
    numbered.map(|(index, value)| part(value, format_args!("{path}[{index}]"), repair)).collect()
}

/// An empty part is a variable that was never set far more often than it is anyone's name; taken, it
/// would count all such callers as one.
fn part<'a>(
    value: &'a RawValue,
    path: impl fmt::Display,
    repair: &str,
) -> Result<Text<'a>, Problem> {
    let text = text(value, &path, repair)?;
    if text.0.is_empty() {
        return Err(bad_field(path, "is empty; send who is counted"));
    }
    Ok(text)
}

/// Who means 1 may leave it out.
fn cost(value: &RawValue, path: impl fmt::Display, least: u64) -> Result<u64, Problem> {
    if Kind::of(value) == Kind::Null {
        let fault = format!("is null; leave it out for 1, or send {}", costs(least));
        return Err(bad_field(path, &fault));
    }
    super::field::cost(value, path, least)
}

/// A request that no rule can be asked about.
pub(super) fn rejected(rejected: &Rejected, at: Place) -> Problem {
    match rejected.kind() {
        Rejection::Unknown => {
            let fault = "is missing, and a rule counts by it; send the address of who is connected";
            bad_field(at.within("request").field("ip"), fault)
        }
        Rejection::Malformed => {
            bad_field(at.field("request"), &format!("cannot be decided: {rejected}"))
        }
    }
}
