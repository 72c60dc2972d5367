//! Live figures as they happen: what each rule did in the last second, how long it took, and how the store is.
//!
//! One task counts for all who listen, so that another listener costs next to nothing. Invariants: a stream has a
//! bound on its listeners, and ends with the server, or when its listener has not read for long; who begins to listen
//! is told the last quarter of an hour first, and misses no second after that.

use crate::app::App;
use crate::life::Phase;
use crate::observe::{Columns, Counted, LISTENERS_MAX, Moment};
use crate::problem::Problem;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_body_util::channel::{Channel, Sender};
use ratekeeper::layer::Peer;
use ratekeeper::limiter::Health;
use serde::Serialize;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, broadcast};
use tokio::time::{MissedTickBehavior, interval};

/// The figures as they happen.
pub(super) const STREAM_PATH: &str = "/v1/stream";

/// How often a stream tells what has happened; with nothing to tell it says so, as a sign of life.
const EVERY: Duration = Duration::from_secs(1);

/// Events on their way to a listener that does not read them.
const EVENTS_MAX: usize = 4;

/// Switches that an event tells of; `GET /v1/switches` has all.
const SWITCHES_TOLD: usize = 20;

pub(super) fn routes() -> Router<App> {
    Router::new().route(STREAM_PATH, get(stream))
}

/// What has happened since the event before.
#[derive(Serialize)]
struct Event<'a> {
    /// Seconds since the epoch.
    at: u64,
    seconds: f64,
    node: &'a str,
    version: u64,
    allowed: u64,
    refused: u64,
    delayed: u64,
    shadow_refused: u64,
    /// Those that decided anything.
    rules: &'a [Counted],
    /// Upper ends of buckets, and how many times were in each.
    decision_seconds: Vec<(Option<f64>, u64)>,
    store_seconds: Vec<(Option<f64>, u64)>,
    store: Store,
    memory: Memory,
    switches: Vec<Switched>,
    /// What was last wrong with rules that were offered.
    fault: Option<String>,
}

#[derive(Serialize)]
struct Store {
    kind: &'static str,
    degraded: bool,
    breaker_open: bool,
    memory_bytes: Option<u64>,
    evicted_keys: Option<u64>,
}

/// This process's; the last three since the event before.
#[derive(Serialize)]
struct Memory {
    keys: u64,
    keys_max: u64,
    bytes: u64,
    created: u64,
    expired: u64,
    evicted: u64,
}

#[derive(Serialize)]
struct Switched {
    rule: String,
    rollout: String,
}

/// What happened before.
#[derive(Serialize)]
struct Past<'a> {
    node: &'a str,
    #[serde(flatten)]
    columns: Columns,
}

/// Who listens: its header fields, and its address.
type Listener = (HeaderMap, Option<IpAddr>);

async fn stream(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let Ok(place) = Arc::clone(&app.observe.listeners).try_acquire_owned() else {
        let detail = format!("there are {LISTENERS_MAX} listeners already; end one of them");
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
    };
    keep_time(&app);
    let peer = request.extensions().get::<Peer>().map(|Peer(peer)| *peer);
    let who = (request.headers().clone(), peer);
    let (sender, body) = Channel::<Bytes, Infallible>::new(EVENTS_MAX);
    // Listens before it looks back, so that no second is between.
    let events = app.observe.events.subscribe();
    tokio::spawn(tell(app, who, sender, events, place));
    let fields = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((fields, Body::new(body)).into_response())
}

/// Passes events on until nobody listens, or the server stops.
async fn tell(
    app: App,
    who: Listener,
    mut sender: Sender<Bytes>,
    mut events: broadcast::Receiver<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let past = Past { node: &app.node, columns: app.observe.history.columns() };
    let past = serde_json::to_string(&past).unwrap_or_default();
    let mut next = Bytes::from(format!("event: history\ndata: {past}\n\n"));
    drop(past);
    // A token that is gone, or a cookie that is over, ends what was begun with it.
    while app.admin.may_look(&who.0, who.1, &app) {
        // A listener that does not read holds up nobody but itself.
        tokio::select! {
            () = app.life.reaches(Phase::Leaving) => return,
            sent = sender.send_data(next) => if sent.is_err() { return },
        }
        next = tokio::select! {
            () = app.life.reaches(Phase::Leaving) => return,
            // Who missed one listens anew, and is told all of it.
            event = events.recv() => match event { Ok(event) => event, Err(_) => return },
        };
    }
}

/// Counts seconds until the server stops; begun once.
pub(crate) fn keep_time(app: &App) {
    if app.observe.begins() {
        // What happens from here on is told.
        let first = app.observe.moment(&app.limiter);
        tokio::spawn(beat(app.clone(), first));
    }
}

async fn beat(app: App, mut last: Moment) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick is now.
    ticks.tick().await;
    let mut at = 0;
    loop {
        tokio::select! {
            () = app.life.reaches(Phase::Leaving) => return,
            _ = ticks.tick() => {}
        }
        let now = app.observe.moment(&app.limiter);
        let counted = now.since(&last);
        // Ticks are not the clock's: each is a second of its own, so that none is told twice.
        at = (at + 1).max(app.limiter.now() / 1_000_000);
        app.observe.history.push(at, &counted);
        app.observe.renew_shadows(&app.limiter);
        if app.observe.events.receiver_count() > 0 {
            let event = event(&app, at, &counted, &now, &last).await;
            let text = serde_json::to_string(&event).unwrap_or_default();
            let _ = app.observe.events.send(format!("event: figures\ndata: {text}\n\n").into());
        }
        last = now;
    }
}

async fn event<'a>(
    app: &'a App,
    at: u64,
    rules: &'a [Counted],
    now: &Moment,
    last: &Moment,
) -> Event<'a> {
    let sum = |of: fn(&Counted) -> u64| rules.iter().map(of).sum();
    let usage = app.observe.usage(&app.limiter).await;
    let (degraded, breaker_open) = app.observe.is_degraded(&app.limiter);
    // A store that nobody needs just now may be away, too.
    let degraded = degraded || (app.is_shared && app.limiter.canary().await != Health::Well);
    let (stats, before) = (&now.memory, &last.memory);
    let mut switches = app.limiter.switches();
    switches.sort_by(|(one, _), (other, _)| one.cmp(other));
    let switched = |(rule, own): &(Arc<str>, ratekeeper::limiter::Switch)| Switched {
        rule: rule.to_string(),
        rollout: own.rollout.to_string(),
    };
    Event {
        at,
        seconds: now.up.saturating_sub(last.up).as_secs_f64(),
        node: &app.node,
        version: app.limiter.version(),
        allowed: sum(|own| own.allowed),
        refused: sum(|own| own.refused),
        delayed: sum(|own| own.delayed),
        shadow_refused: sum(|own| own.shadow_refused),
        rules,
        decision_seconds: now.decisions.since(&last.decisions),
        store_seconds: now.store.since(&last.store),
        store: Store {
            kind: app.store_kind(),
            degraded,
            breaker_open,
            memory_bytes: usage.map(|usage| usage.memory_bytes),
            evicted_keys: usage.map(|usage| usage.evicted_keys),
        },
        memory: Memory {
            keys: stats.keys,
            keys_max: stats.most,
            bytes: stats.bytes,
            created: stats.created.saturating_sub(before.created),
            expired: stats.expired.saturating_sub(before.expired),
            evicted: stats.evicted.saturating_sub(before.evicted),
        },
        switches: switches.iter().take(SWITCHES_TOLD).map(switched).collect(),
        fault: app.rulebook.last_fault().and_then(|fault| fault.first()),
    }
}
