//! `POST /v1/check`: who may pass under a rule, or whether a request may pass under all of them. One
//! check, or a batch in order.
//!
//! Invariant: an answer is a decision with status 200, allowed or not; or a problem, and then nothing
//! was charged.

use super::answer::{Answer, json};
use super::question::{Asked, EXAMPLE, Question, understand};
use super::{Door, body, written};
use crate::problem::Problem;
use axum::extract::{Request, State};
use axum::response::Response;
use ratekeeper::{Decision, Decisions, Rule};

pub(super) async fn check(State(door): State<Door>, request: Request) -> Result<Response, Problem> {
    let text = body::read(request, door.body_timeout).await?;
    let asked = understand(&door.limiter, written::parse(&text, EXAMPLE)?)?;
    match asked {
        Asked::One(question) => json(&ask(question).await.answer()),
        Asked::Batch(questions) => {
            let mut decided = Vec::with_capacity(questions.len());
            for question in questions {
                decided.push(ask(question).await);
            }
            json(&decided.iter().map(Decided::answer).collect::<Vec<_>>())
        }
    }
}

/// What became of a question.
enum Decided {
    Key(Rule, Decision),
    Request(Decisions),
}

async fn ask(question: Question) -> Decided {
    match question {
        Question::Key { rule, key, cost } => {
            let decision = rule.check(&key).cost(cost).await;
            Decided::Key(rule, decision)
        }
        Question::Request(prepared) => Decided::Request(prepared.check().await),
    }
}

impl Decided {
    fn answer(&self) -> Answer<'_> {
        match self {
            Decided::Key(rule, decision) => Answer::of_rule(rule, decision),
            Decided::Request(decisions) => Answer::of_all(decisions),
        }
    }
}
