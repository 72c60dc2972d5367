//! Switches: listed, turned, and turned back.
//!
//! Invariant: a switch that is turned is in effect before the answer.

use super::refusal::Refusal;
use super::rules::{Named, Who, named};
use crate::app::App;
use crate::door::answer::json;
use crate::door::body;
use crate::door::field::{bad_field, only};
use crate::door::written;
use crate::problem::{Problem, quoted};
use crate::reload::{Author, Turned, read_switch};
use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json as value};

const EXAMPLE: &str = r#"{"rollout":"shadow","for":"1h","reason":"incident 42"}"#;

/// Lists those that are turned.
pub(super) async fn list(State(app): State<App>) -> Result<Response, Problem> {
    app.rulebook.list_switches(|switches| json(&value!({ "switches": switches })))
}

/// Turns one, or, with null, turns it back.
pub(super) async fn turn(
    State(app): State<App>,
    rule: Named,
    who: Who,
    request: Request,
) -> Result<Response, Refusal> {
    let rule = named(rule)?;
    let text = body::read(request, app.body_timeout).await?;
    let turned = read(&text, app.limiter.now() / 1_000_000)?;
    let by = who.map(|Extension(Author(name))| name);
    let turned = turned.map(|turned| Turned { by, ..turned });
    if rule.len() > NAME_MAX {
        let detail = "there is no such rule; name one, or `*` for all";
        return Err(Problem::new(StatusCode::NOT_FOUND, detail).into());
    }
    let rollout = turned.as_ref().map(|turned| turned.rollout.clone());
    let until = turned.as_ref().and_then(|turned| turned.until).map(crate::reload::moment);
    app.rulebook.turn(rule.clone(), turned).await?;
    Ok(json(&value!({ "rule": quoted(&rule), "rollout": rollout, "until": until }))?)
}

/// What is to be turned; none to turn back.
fn read(text: &str, now: u64) -> Result<Option<Turned>, Problem> {
    if text.trim_ascii() == "null" {
        return Ok(None);
    }
    // Read twice: once so that unknown and double fields are told by name.
    let fields = ["rollout", "for", "until", "reason"];
    let [_, others @ ..] = only(written::parse(text, EXAMPLE)?, fields, EXAMPLE)?;
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    if body.get("rollout").is_some_and(Value::is_null) {
        let other = fields[1..].iter().zip(others).find(|(_, written)| written.is_some());
        return match other {
            Some((field, _)) => {
                Err(bad_field(field, "says nothing of a switch that is turned back; leave it out"))
            }
            None => Ok(None),
        };
    }
    let turned = read_switch(&body, now).map_err(|(field, fault, repair)| {
        let repair = repair.replacen("write", "send", 1);
        bad_field(field, &format!("{fault}; {repair}"))
    })?;
    match turned.until.is_some_and(|until| until <= now) {
        true => Err(bad_field("until", "is over already; send a later time")),
        false => Ok(Some(turned)),
    }
}

/// Longest name of a rule.
const NAME_MAX: usize = 64;
