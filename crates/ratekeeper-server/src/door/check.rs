//! `POST /v1/check`: who may pass under a rule. One check, or a batch in order.
//!
//! Invariant: an answer is a decision with status 200, allowed or not; or a problem, and then nothing
//! was charged.

use super::answer::Answer;
use super::question::{Asked, Question, understand};
use super::{Door, body, written};
use crate::problem::Problem;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

pub(super) async fn check(State(door): State<Door>, request: Request) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let text = body::read(&head.headers, body, door.body_timeout).await?;
    match understand(&door.limiter, written::parse(&text)?)? {
        Asked::One(question) => json(&ask(&question).await),
        Asked::Batch(questions) => {
            let mut answers = Vec::with_capacity(questions.len());
            for question in &questions {
                answers.push(ask(question).await);
            }
            json(&answers)
        }
    }
}

async fn ask<'a>(question: &'a Question<'_>) -> Answer<'a> {
    let decision = question.rule.check(&question.key).cost(question.cost).await;
    Answer::new(question.rule.name(), &decision)
}

fn json(answer: &impl Serialize) -> Result<Response, Problem> {
    let body = serde_json::to_vec(answer).map_err(|error| {
        let detail = format!("the decision cannot be written: {error}; this is a fault of ours");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    })?;
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}
