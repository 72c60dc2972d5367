//! The rules that decide: shown, replaced as a whole, and one by one.
//!
//! Invariant: what was shown, sent back unchanged, is the same rules.

use super::body;
use super::place::Place;
use super::refusal::{Refusal, etag, seen};
use crate::app::App;
use crate::config::Faults;
use crate::door::answer::json;
use crate::problem::{Problem, quoted};
use crate::reload::{
    Accepted, Author, BODY, Draft, LastFault, Origin, Refused, Release, WHOLE, as_file, fault, id,
    in_rule, moment, tree, with_rule, yaml,
};
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ratekeeper::rule::file::{self, Source};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Who asked, where the door knows.
pub(super) type Who = Option<Extension<Author>>;

/// What a path names.
pub(super) type Named = Result<Path<String>, PathRejection>;

/// The same, if it is text.
pub(super) fn named(path: Named) -> Result<String, Problem> {
    path.map(|Path(name)| name).map_err(|_| {
        let detail = "the path does not name anything; send a name in UTF-8";
        Problem::new(StatusCode::BAD_REQUEST, detail)
    })
}

#[derive(Serialize)]
struct Shown<'a> {
    version: u64,
    source: Origin,
    at: String,
    by: Option<&'a str>,
    change: &'a str,
    /// What the operator's file says that only a start can do.
    restart: Vec<&'static str>,
    /// What was last wrong with a file, or with what is in the store.
    fault: Option<LastFault>,
    /// What it says, as one rule file.
    file: Map<String, Value>,
}

/// Shows the rules: their text where YAML is asked for, else everything in JSON.
pub(super) async fn show(
    place: Place,
    State(app): State<App>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let as_yaml = wants_yaml(&headers);
    place.work(move || shown(&app, as_yaml)).await
}

fn shown(app: &App, as_yaml: bool) -> Result<Response, Refusal> {
    let live = app.rulebook.live();
    let tag = (header::ETAG, etag(live.number));
    if as_yaml {
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
        return Ok(([kind, tag], text(&live)?).into_response());
    }
    let shown = Shown {
        version: live.number,
        source: live.source,
        at: moment(live.at),
        by: live.by.as_deref(),
        change: &live.change,
        restart: app.rulebook.needs_restart(),
        fault: app.rulebook.last_fault(),
        file: tree(&live.sources())?,
    };
    Ok(([tag], json(&shown)?).into_response())
}

fn wants_yaml(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(','));
    // The first that we have is what is liked best, as far as anyone writes it.
    let known = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match &*kind {
            "application/yaml" | "application/x-yaml" | "text/yaml" => Some(true),
            "application/json" | "application/*" | "*/*" => Some(false),
            _ => None,
        }
    };
    kinds.find_map(known).unwrap_or(false)
}

/// One text, as it was written where it is one.
fn text(live: &Release) -> Result<String, Refusal> {
    match &live.files[..] {
        [only] => Ok(only.text.clone()),
        _ => Ok(yaml(&tree(&live.sources())?)),
    }
}

/// Puts a whole rule file in the place of the one that decides.
pub(super) async fn replace(
    place: Place,
    State(app): State<App>,
    who: Who,
    request: Request,
) -> Result<Response, Refusal> {
    let seen = seen(request.headers())?;
    let text = body::read(request, app.body_timeout).await?;
    let sources = vec![Source { name: BODY.into(), text }];
    let draft = move |live: &Release| Ok(called(&who, "rules", sources.clone(), live, false));
    done(&app, place.change(&app, seen, draft).await)
}

/// Puts one rule in the place of the one of its name, or adds it.
pub(super) async fn put_one(
    place: Place,
    State(app): State<App>,
    name: Named,
    who: Who,
    request: Request,
) -> Result<Response, Refusal> {
    let (seen, name) = (seen(request.headers())?, named(name)?);
    let text = body::read(request, app.body_timeout).await?;
    let (name, text) = (Arc::<str>::from(name), Arc::<str>::from(text));
    let (own, sent) = (Arc::clone(&name), Arc::clone(&text));
    let rule = place.work(move || one_rule(&own, &sent)).await?;
    let draft = move |live: &Release| {
        let mut whole = tree(&live.sources()).map_err(Refused::Faults)?;
        with_rule(&mut whole, &name, Some(rule.clone()));
        let sources = vec![Source { name: WHOLE.into(), text: yaml(&whole) }];
        Ok(called(&who, &format!("rule {}", quoted(&name)), sources, live, live.trusted))
    };
    match place.change(&app, seen, draft).await {
        Err(Refused::Faults(faults)) => {
            let faults = place.work(move || Ok(placed(faults, &text))).await?;
            done(&app, Err(Refused::Faults(faults)))
        }
        changed => done(&app, changed),
    }
}

/// Takes one rule out.
pub(super) async fn delete_one(
    place: Place,
    State(app): State<App>,
    name: Named,
    who: Who,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (seen, name) = (seen(&headers)?, named(name)?);
    let draft = move |live: &Release| {
        let mut whole = tree(&live.sources()).map_err(Refused::Faults)?;
        if !with_rule(&mut whole, &name, None) {
            return Err(Refused::Unknown(
                "there is no such rule; name one of `GET /v1/rules`".into(),
            ));
        }
        let sources = vec![Source { name: WHOLE.into(), text: yaml(&whole) }];
        Ok(called(&who, &format!("without rule {}", quoted(&name)), sources, live, live.trusted))
    };
    done(&app, place.change(&app, seen, draft).await)
}

/// What is wrong with a rule is told at its place in the body, as far as it is in there.
fn placed(faults: Faults, text: &str) -> Faults {
    let closed = |_: &str| Err(std::io::ErrorKind::Unsupported.into());
    let Err(own) = file::RuleFile::read(&[as_file(BODY, text)], &closed) else {
        return faults;
    };
    let mut own = in_rule(own.into(), BODY);
    // Alone, it lacks what the rest of the file says.
    own.listed.retain(|one| faults.listed.iter().any(|fault| fault.fault == one.fault));
    if own.listed.is_empty() { faults } else { own }
}

/// One rule, which has the name of the path.
fn one_rule(name: &str, text: &str) -> Result<Value, Refusal> {
    let faults = |text: &str, repair: &str| Refusal::Faults(fault(BODY, text, repair));
    let source = Source { name: BODY.into(), text: text.into() };
    let json = file::json(&source).map_err(|errors| Refusal::Faults(errors.into()))?;
    let Ok(Value::Object(fields)) = serde_json::from_str(&json) else {
        let repair = "send one rule, such as {\"key\":\"ip\",\"limit\":\"10/second\"}";
        return Err(faults("this is not a map of fields", repair));
    };
    let rule = Value::Object(fields);
    match id(&rule) {
        Some(own) if own == name => Ok(rule),
        None if rule.get("id").is_none_or(Value::is_null) => {
            let mut named = Map::from_iter([("id".to_owned(), Value::String(name.to_owned()))]);
            let Value::Object(fields) = rule else { return Ok(rule) };
            named.extend(fields.into_iter().filter(|(field, _)| field != "id"));
            Ok(Value::Object(named))
        }
        _ => Err(faults("`id` is another than the path names", "leave it out, or write the same")),
    }
}

/// A draft that a call asks for.
pub(super) fn called(
    who: &Who,
    change: &str,
    sources: Vec<Source>,
    live: &Release,
    trusted: bool,
) -> Draft {
    Draft {
        source: Origin::Api,
        by: who.as_ref().map(|Extension(Author(name))| name.clone()),
        change: change.to_owned(),
        sources,
        overrides: live.overrides.clone(),
        trusted,
        needs_last: false,
    }
}

#[derive(Serialize)]
struct Done<'a> {
    version: u64,
    source: Origin,
    change: &'a str,
    rules: usize,
    restart: &'a [&'static str],
    /// Rules of overrides that no longer fit.
    left_out: &'a [String],
}

/// The answer to a change.
pub(super) fn done(app: &App, changed: Result<Accepted, Refused>) -> Result<Response, Refusal> {
    let Accepted { release, restart, left_out } = changed.inspect_err(|refused| {
        if matches!(refused, Refused::Faults(_)) {
            app.rulebook.count_failure();
        }
    })?;
    let Release { number, source, change, rules, .. } = &*release;
    let (version, source, rules) = (*number, *source, *rules);
    let answer = Done { version, source, change, rules, restart: &restart, left_out: &left_out };
    Ok(([(header::ETAG, etag(version))], json(&answer)?).into_response())
}

/// A number in a path.
pub(super) fn number(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| {
        let detail = "the path names no release; send its number, as in `/v1/releases/7/restore`";
        Problem::new(StatusCode::NOT_FOUND, detail)
    })
}
