//! `GET /v1/decisions/{id}` and `GET /v1/decisions`: why somebody was refused, and who was refused last.
//!
//! Invariant: what is told is what was decided then, whatever has changed since.

use crate::app::App;
use crate::decisions::{Asked, Refusal};
use crate::door::{Answer, json, rows};
use crate::problem::Problem;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

/// Refusals that are listed at most.
const LISTED_MAX: usize = 200;

/// A refusal, as it is told.
#[derive(Serialize)]
struct Why<'a> {
    id: &'a str,
    /// Seconds since the epoch.
    at: f64,
    door: &'static str,
    node: &'a str,
    asked: &'a Asked,
    decision: Answer<'a>,
}

impl<'a> Why<'a> {
    fn of(app: &'a App, refusal: &'a Refusal) -> Why<'a> {
        Why {
            id: &refusal.id,
            at: refusal.at.as_micros() as f64 / 1e6,
            door: refusal.door,
            node: &app.node,
            asked: &refusal.asked,
            decision: Answer::new(&refusal.decisions, Some(&refusal.id)),
        }
    }
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
    json(&Why::of(&app, &refusal))
}

#[derive(Serialize)]
struct Listed<'a> {
    node: &'a str,
    /// The newest first.
    refusals: Vec<Why<'a>>,
}

/// The last refusals of this server.
pub(super) async fn list(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let rows = rows(query.as_deref().unwrap_or_default(), LISTED_MAX)?;
    let newest = app.refusals.newest(rows);
    let refusals = newest.iter().map(|refusal| Why::of(&app, refusal)).collect();
    json(&Listed { node: &app.node, refusals })
}
