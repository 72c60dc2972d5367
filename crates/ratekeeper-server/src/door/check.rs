//! `POST /v1/check`: who may pass under a rule, or whether a request may pass under all of them. One
//! check, or a batch in order.
//!
//! Invariant: an answer is a decision with status 200, allowed or not; or a problem, and then nothing
//! was charged.

use super::answer::{Answer, json};
use super::question::{Asked, EXAMPLE, understand};
use super::{body, written};
use crate::app::App;
use crate::observe::{Door, through};
use crate::problem::Problem;
use axum::extract::{Request, State};
use axum::response::Response;

pub(super) async fn check(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let text = body::read(request, app.body_timeout).await?;
    let asked = understand(&app.limiter, written::parse(&text, EXAMPLE)?)?;
    match asked {
        Asked::One(question) => json(&Answer::new(&through(Door::Check, question.check()).await)),
        Asked::Batch(questions) => {
            let mut decided = Vec::with_capacity(questions.len());
            for question in questions {
                decided.push(through(Door::Check, question.check()).await);
            }
            json(&decided.iter().map(Answer::new).collect::<Vec<_>>())
        }
    }
}
