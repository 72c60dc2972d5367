//! `POST /v1/reserve`, `/v1/settle`, `/v1/cancel` and `/v1/release`: what is taken by one call and
//! given back by another.
//!
//! Invariant: a hold is settled or cancelled once, and a permit released once; who comes later, or too
//! late, is told `false`. A call that is answered by a problem changed nothing.

use super::answer::{Answer, json};
use super::check::DOOR;
use super::field::{bad_field, cost, costs, needed, only, text};
use super::question::{EXAMPLE, Question, reservation};
use super::{body, written};
use crate::app::App;
use crate::observe::{Door, through};
use crate::problem::Problem;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::RawValue;
use std::fmt;
use std::str::FromStr;

const SETTLE_EXAMPLE: &str = r#"{"hold":"0123456789abcdef","cost":1}"#;
const CANCEL_EXAMPLE: &str = r#"{"hold":"0123456789abcdef"}"#;
const RELEASE_EXAMPLE: &str = r#"{"permit":"0123456789abcdef"}"#;

#[derive(Serialize)]
struct Settled {
    settled: bool,
}

#[derive(Serialize)]
struct Cancelled {
    cancelled: bool,
}

#[derive(Serialize)]
struct Released {
    released: bool,
}

pub(super) async fn reserve(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let text = body::read(request, app.body_timeout).await?;
    let question = reservation(&app.limiter, written::parse(&text, EXAMPLE)?)?;
    let Question { prepared, about } = question;
    let reserved = through(Door::Check, prepared.reserve()).await;
    let reserved =
        reserved.map_err(|full| Problem::new(StatusCode::SERVICE_UNAVAILABLE, full.to_string()))?;
    let id = app
        .refusals
        .note(app.limiter.now(), DOOR, &reserved, || about.asked(&app.limiter, &reserved));
    Ok(Answer::new(&reserved, id.as_deref()).held(reserved.hold()).response())
}

pub(super) async fn settle(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let text = body::read(request, app.body_timeout).await?;
    let body = written::parse(&text, SETTLE_EXAMPLE)?;
    let [hold, cost] = only(body, ["hold", "cost"], SETTLE_EXAMPLE)?;
    let id = name(hold, "hold")?;
    let cost = needed(cost, "cost", format_args!("send what was used, {}", costs(0)))?;
    let cost = self::cost(cost, "cost", 0)?;
    json(&Settled { settled: app.limiter.settle(id, cost).await })
}

pub(super) async fn cancel(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let text = body::read(request, app.body_timeout).await?;
    let [hold] = only(written::parse(&text, CANCEL_EXAMPLE)?, ["hold"], CANCEL_EXAMPLE)?;
    json(&Cancelled { cancelled: app.limiter.cancel(name(hold, "hold")?).await })
}

pub(super) async fn release(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let text = body::read(request, app.body_timeout).await?;
    let [permit] = only(written::parse(&text, RELEASE_EXAMPLE)?, ["permit"], RELEASE_EXAMPLE)?;
    let released = app.limiter.release(name(permit, "permit")?).await;
    json(&Released { released })
}

/// The name of what an earlier answer gave.
fn name<T>(value: Option<&RawValue>, field: &str) -> Result<T, Problem>
where
    T: FromStr,
    T::Err: fmt::Display,
{
    let repair = format!("send the {field} of the decision as a string");
    let text = text(needed(value, field, &repair)?, field, &repair)?;
    text.0.parse().map_err(|fault: T::Err| bad_field(field, &fault.to_string()))
}
