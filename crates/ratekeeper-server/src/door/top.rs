//! Live figures: which rules decide what, and which keys ask most. For the admin alone, since keys can be
//! personal.
//!
//! Invariants: an answer has a bound on its rows; a stream has a bound on its listeners, and ends with the
//! server, or when its listener does not read.

use super::answer::json;
use crate::app::App;
use crate::life::Phase;
use crate::observe::{Counted, ENTRIES_MAX, Frequent, LISTENERS_MAX, RULES_MAX};
use crate::problem::Problem;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_body_util::channel::{Channel, Sender};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{MissedTickBehavior, interval};

/// The rules and keys that are asked most.
pub(super) const TOP_PATH: &str = "/v1/top";

/// The same as it happens.
pub(super) const STREAM_PATH: &str = "/v1/stream";

/// Rows of each list unless said, and at most.
const ROWS: usize = 20;
const ROWS_MAX: usize = if ENTRIES_MAX > RULES_MAX { RULES_MAX } else { ENTRIES_MAX };

/// How often a stream tells what has happened; with nothing to tell it says so, as a sign of life.
const EVERY: Duration = Duration::from_secs(1);

/// Events on their way to a listener that does not read them.
const EVENTS_MAX: usize = 4;

pub(crate) fn admin_routes() -> Router<App> {
    Router::new().route(TOP_PATH, get(top)).route(STREAM_PATH, get(stream))
}

#[derive(Serialize)]
struct Top {
    /// Seconds since the server started, which is what is counted.
    seconds: f64,
    version: u64,
    rules: Vec<Counted>,
    keys: Vec<Frequent>,
    refused: Vec<Frequent>,
}

async fn top(State(app): State<App>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let rows = rows(query.as_deref().unwrap_or_default())?;
    let mut rules = app.observe.counted();
    rules.sort_by_key(|own| Reverse(own.allowed + own.refused));
    rules.truncate(rows);
    let (keys, refused) = app.observe.frequent(rows);
    let seconds = app.observe.up().as_secs_f64();
    json(&Top { seconds, version: app.limiter.version(), rules, keys, refused })
}

/// The rows that are asked for.
fn rows(query: &str) -> Result<usize, Problem> {
    let bad = |fault: &str| {
        let repair = format!("send `limit` once, a whole number from 1 to {ROWS_MAX}, or nothing");
        Err(Problem::field(StatusCode::BAD_REQUEST, "limit", &format!("{fault}; {repair}")))
    };
    let mut rows = None;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let Some(("limit", value)) = part.split_once('=') else {
            return bad("is the only parameter");
        };
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        let value = value.parse().ok().filter(|rows| digits && (1..=ROWS_MAX).contains(rows));
        if value.is_none() || rows.is_some() {
            return bad("is not a number of rows");
        }
        rows = value;
    }
    Ok(rows.unwrap_or(ROWS))
}

/// What has happened since the event before.
#[derive(Serialize)]
struct Event {
    seconds: f64,
    version: u64,
    allowed: u64,
    refused: u64,
    /// Those that decided anything.
    rules: Vec<Counted>,
}

async fn stream(State(app): State<App>) -> Result<Response, Problem> {
    let Ok(place) = Arc::clone(&app.observe.listeners).try_acquire_owned() else {
        let detail = format!("there are {LISTENERS_MAX} listeners already; end one of them");
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
    };
    let (sender, body) = Channel::<Bytes, Infallible>::new(EVENTS_MAX);
    tokio::spawn(tell(app, sender, place));
    let fields = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((fields, Body::new(body)).into_response())
}

/// Sends an event a second until nobody listens, or the server stops.
async fn tell(app: App, mut sender: Sender<Bytes>, _place: OwnedSemaphorePermit) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut before, mut since) = (HashMap::new(), app.observe.up());
    note(app.observe.counted(), &mut before);
    loop {
        tokio::select! {
            () = app.life.reaches(Phase::Leaving) => return,
            _ = ticks.tick() => {}
        }
        let up = app.observe.up();
        let seconds = up.saturating_sub(since).as_secs_f64();
        since = up;
        let rules = note(app.observe.counted(), &mut before);
        let allowed = rules.iter().map(|own| own.allowed).sum();
        let refused = rules.iter().map(|own| own.refused).sum();
        let event = Event { seconds, version: app.limiter.version(), allowed, refused, rules };
        let Ok(event) = serde_json::to_string(&event) else { return };
        let event = Bytes::from(format!("event: figures\ndata: {event}\n\n"));
        // A listener that does not read holds up nobody but itself.
        tokio::select! {
            () = app.life.reaches(Phase::Leaving) => return,
            sent = sender.send_data(event) => if sent.is_err() { return },
        }
    }
}

/// What has changed since before, which is now.
fn note(counted: Vec<Counted>, before: &mut HashMap<Arc<str>, Counted>) -> Vec<Counted> {
    let mut changed = Vec::new();
    for own in counted {
        let rule = Arc::clone(&own.rule);
        let last = before.insert(Arc::clone(&rule), own.clone());
        let last = last.unwrap_or(Counted { rule: Arc::clone(&rule), ..Counted::default() });
        let since = Counted {
            rule,
            allowed: own.allowed - last.allowed,
            refused: own.refused - last.refused,
            near_limit: own.near_limit - last.near_limit,
            shadow_refused: own.shadow_refused - last.shadow_refused,
        };
        if since.allowed + since.refused + since.shadow_refused > 0 {
            changed.push(since);
        }
    }
    changed
}
