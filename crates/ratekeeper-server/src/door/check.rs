//! `POST /v1/check`: who may pass under a rule, or whether a request may pass under all of them. One
//! check, or a batch in order.
//!
//! Invariant: an answer is a decision with status 200, allowed or not; or a problem, and then nothing
//! was charged.

use super::answer::Answer;
use super::question::{Asked, EXAMPLE, Question, plain, understand};
use super::{body, written};
use crate::app::App;
use crate::observe::{Door, through};
use crate::problem::Problem;
use axum::body::{Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http;
use axum::response::Response;
use ratekeeper::Decisions;

/// The name of this door.
pub(super) const DOOR: &str = "check";

pub(super) async fn check(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    answer(&app, request).await
}

/// Answers whatever is asked here.
pub(super) async fn answer<B>(app: &App, request: http::Request<B>) -> Result<Response, Problem>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let text = body::read(request, app.body_timeout).await?;
    let asked = match plain(&app.limiter, &text) {
        Some(question) => Asked::One(question),
        None => understand(&app.limiter, written::parse(&text, EXAMPLE)?)?,
    };
    match asked {
        Asked::One(question) => {
            let (decisions, id) = decide(app, question).await;
            Ok(Answer::new(&decisions, id.as_deref()).response())
        }
        Asked::Batch(questions) => {
            // In a box, so that one question does not carry its size along.
            let decided = Box::pin(async move {
                let mut decided = Vec::with_capacity(questions.len());
                for question in questions {
                    decided.push(decide(app, question).await);
                }
                decided
            });
            let decided = decided.await;
            let each = decided.iter().map(|(own, id)| Answer::new(own, id.as_deref()));
            Ok(Answer::responses(each))
        }
    }
}

/// The decision, and its name if it is a refusal.
async fn decide(
    app: &App,
    Question { prepared, about }: Question<'_>,
) -> (Decisions, Option<String>) {
    let decisions = through(Door::Check, prepared.check()).await;
    let id = app
        .refusals
        .note(app.limiter.now(), DOOR, &decisions, || about.asked(&app.limiter, &decisions));
    (decisions, id)
}
