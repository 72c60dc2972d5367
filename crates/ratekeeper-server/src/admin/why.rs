//! `GET /v1/decisions/{id}`: why somebody was refused.
//!
//! Invariant: what is told is what was decided then, whatever has changed since.

use crate::app::App;
use crate::decisions::Asked;
use crate::door::{Answer, json};
use crate::problem::Problem;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

/// A refusal, as it is told.
#[derive(Serialize)]
struct Why<'a> {
    id: &'a str,
    /// Seconds since the epoch.
    at: f64,
    door: &'static str,
    asked: &'a Asked,
    decision: Answer<'a>,
}

pub(super) async fn why(
    State(app): State<App>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let found = id.ok().and_then(|Path(id)| app.refusals.find(&id));
    let Some(refusal) = found else {
        let detail = "there is no such refusal among the last of this server; ask the one that refused, \
                      and soon";
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    };
    json(&Why {
        id: &refusal.id,
        at: refusal.at.as_micros() as f64 / 1e6,
        door: refusal.door,
        asked: &refusal.asked,
        decision: Answer::new(&refusal.decisions, Some(&refusal.id)),
    })
}
