//! Limits of single keys, set while the server runs.
//!
//! Invariant: an override means what it means in a rule file, and stands above those that are there.

use super::place::Place;
use super::refusal::{Refusal, seen};
use super::rules::{Who, called, done};
use crate::admin;
use crate::app::App;
use crate::door::answer::json;
use crate::door::body;
use crate::door::field::{bad_field, needed, only, text};
use crate::door::written;
use crate::problem::{Problem, quoted};
use crate::reload::{BODY, Draft, OVERRIDES_MAX, Refused, Release, fault, tree, with_override};
use axum::extract::{Request, State};
use axum::response::Response;
use ratekeeper::rule::KeyKind;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json as value};

const EXAMPLE: &str = r#"{"rule":"api","key":["acme"],"limit":"5000/minute","until":"2027-01-01"}"#;

const FIELDS: [&str; 5] = ["rule", "key", "limit", "until", "reason"];

/// Lists those that were set by calls, and those of the release.
pub(super) async fn list(place: Place, State(app): State<App>) -> Result<Response, Refusal> {
    place.work(move || listed(&app.rulebook.live())).await
}

fn listed(live: &Release) -> Result<Response, Refusal> {
    let whole = tree(&live.sources())?;
    let written = whole.get("overrides").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let told = |from: &'static str| {
        move |own: &Value| {
            let mut fields = own.as_object().cloned().unwrap_or_default();
            fields.insert("from".into(), from.into());
            fields
        }
    };
    let all: Vec<Map<String, Value>> =
        live.overrides.iter().map(told("api")).chain(written.iter().map(told("release"))).collect();
    Ok(json(&value!({ "version": live.number, "overrides": all }))?)
}

/// Sets one, changes it, or, with a limit of null, takes it back.
pub(super) async fn put(
    place: Place,
    State(app): State<App>,
    who: Who,
    request: Request,
) -> Result<Response, Refusal> {
    let seen = seen(request.headers())?;
    let body = body::read(request, app.body_timeout).await?;
    let own = read(&body)?;
    let guess = note(&app, &own);
    let draft = move |live: &Release| {
        let rule = own.get("rule").and_then(Value::as_str).map(quoted).unwrap_or_default();
        let (overrides, changed) = with_override(&live.overrides, &own, &guess);
        let sets = own.get("limit").is_some_and(|limit| !limit.is_null());
        if !changed && !sets {
            let detail = "no call has set an override of this rule and this key; look at `GET /v1/overrides`";
            return Err(Refused::Unknown(detail.into()));
        }
        if overrides.len() > OVERRIDES_MAX {
            let text = format!("there would be more than {OVERRIDES_MAX} overrides");
            return Err(Refused::Faults(fault(BODY, &text, "take some back, or use tiers")));
        }
        let words = if sets { "override of" } else { "no override of" };
        let draft = called(&who, &format!("{words} {rule}"), live.sources(), live, live.trusted);
        Ok(Draft { overrides, needs_last: sets, ..draft })
    };
    done(&app, place.change(&app, seen, draft).await)
}

/// Says in the log what it is about; what each part of its key is if nobody says it.
fn note(app: &App, own: &Value) -> Vec<String> {
    let key = &own["key"];
    let parts = key.as_array().map_or(std::slice::from_ref(key), Vec::as_slice);
    let said = |part: &'_ Value| match part {
        Value::Object(own) => {
            let (kind, value) = own.iter().next()?;
            Some((kind.parse().ok(), value.as_str()?.to_owned()))
        }
        _ => Some((None, part.as_str()?.to_owned())),
    };
    let parts: Vec<(Option<KeyKind>, String)> = parts.iter().filter_map(said).collect();
    let parts: Vec<_> = parts.iter().map(|(kind, value)| (kind.clone(), &**value)).collect();
    let rule = own["rule"].as_str().unwrap_or_default();
    admin::about(&app.limiter, rule, &parts);
    let values: Vec<&str> = parts.iter().map(|(_, value)| *value).collect();
    let meanings = app.limiter.meanings(rule, &values).unwrap_or_default();
    meanings
        .into_iter()
        .next()
        .unwrap_or_default()
        .iter()
        .map(|part| part.kind.to_string())
        .collect()
}

/// The fields; what they mean, rule files say.
fn read(body: &str) -> Result<Value, Problem> {
    let found = only(written::parse(body, EXAMPLE)?, FIELDS, EXAMPLE)?;
    let [rule, key, limit, ..] = found;
    let name =
        text(needed(rule, "rule", "send the id of a rule")?, "rule", "send the id of a rule")?;
    needed(key, "key", "send who is counted, as a string or an array")?;
    needed(
        limit,
        "limit",
        "send a limit such as `5000/minute`, or null to take the override back",
    )?;
    let mut own = Map::new();
    own.insert("rule".into(), name.0.into());
    for (field, written) in FIELDS.into_iter().zip(found).skip(1) {
        let Some(written) = written else { continue };
        let parsed: Value = parse(field, written)?;
        // What is null is left out, but for the limit, by which an override is taken back.
        if field == "limit" || !parsed.is_null() {
            own.insert(field.into(), parsed);
        }
    }
    Ok(Value::Object(own))
}

fn parse(field: &str, written: &RawValue) -> Result<Value, Problem> {
    serde_json::from_str(written.get()).map_err(|error| {
        bad_field(field, &format!("cannot be read: {}; send JSON", written::fault(&error)))
    })
}
