//! Health, metrics and the document of the API: what whoever runs the server asks.
//!
//! Invariant: nothing here names a key, a secret or an address; `/livez` says nothing but that the process
//! answers, and `/readyz` has made a decision where all others are made.

use crate::app::App;
use crate::life::Phase;
use crate::observe::METRICS_TYPE;
use crate::problem::Problem;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ratekeeper::limiter::Health;
use std::time::Duration;
use tokio::time::timeout;

/// Whether the process answers.
pub(super) const LIVE_PATH: &str = "/livez";

/// Whether requests should be sent here.
pub(super) const READY_PATH: &str = "/readyz";

/// The metrics.
pub(super) const METRICS_PATH: &str = "/metrics";

/// The document of the API.
pub(super) const DOCUMENT_PATH: &str = "/openapi.json";

/// How long the canary may take. Beyond it: 503.
const READY_WITHIN: Duration = Duration::from_secs(1);

/// The document, as it is in the repository.
pub(super) const DOCUMENT: &str = include_str!("health/openapi.json");

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(LIVE_PATH, get(async || "ok"))
        .route(READY_PATH, get(ready))
        .route(METRICS_PATH, get(metrics))
        .route(DOCUMENT_PATH, get(document))
}

async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    readiness(&app).await.map_err(|not| Problem::new(StatusCode::SERVICE_UNAVAILABLE, not))
}

/// Whether requests should be sent here, and why not.
pub(super) async fn readiness(app: &App) -> Result<&'static str, &'static str> {
    let not = Err;
    if app.life.phase() > Phase::Serving {
        return not("the server is about to stop; send requests to another");
    }
    match timeout(READY_WITHIN, app.limiter.canary()).await {
        Ok(Health::Well) => Ok("ready"),
        Ok(Health::Degraded) => {
            Ok("ready, degraded: the store is away, and rules admit without it")
        }
        Ok(Health::Refusing) => {
            not("the store is away, and a rule refuses until it is back; see to the store")
        }
        Err(_) => {
            not("a decision takes too long; see to the store, or to the load of this machine")
        }
    }
}

async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    let Some(text) = app.observe.metrics(&app.limiter, app.rulebook.reload_failures()).await else {
        let detail = "the metrics cannot be written; this is a fault of ours";
        return Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail));
    };
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static(METRICS_TYPE))], text).into_response())
}

async fn document() -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], DOCUMENT).into_response()
}
