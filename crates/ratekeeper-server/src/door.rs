//! The doors: each turns bytes into a question for the limiter and its decision into bytes.
//!
//! Invariant: a door decides nothing. Every answer that is not a decision is a problem body.

mod body;
mod written;
mod question;
mod answer;
mod check;

pub use body::{BODY_MAX, DEPTH_MAX};
pub use question::{COST_MAX, PARTS_MAX};
pub use written::ITEMS_MAX;

use crate::problem::Problem;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use ratekeeper::Limiter;
use std::time::Duration;

/// Where checks are asked.
pub const CHECK_PATH: &str = "/v1/check";

/// All that the doors need to answer.
#[derive(Clone)]
struct Door {
    limiter: Limiter,
    body_timeout: Duration,
}

/// Every path that the server answers. A body may pause for `body_timeout` between two pieces.
pub fn router(limiter: Limiter, body_timeout: Duration) -> Router {
    Router::new()
        .route("/livez", get(async || "ok"))
        .route(CHECK_PATH, post(check::check))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .with_state(Door { limiter, body_timeout })
}

async fn unknown_path() -> Problem {
    let detail = format!("there is no such path; the paths are GET /livez and POST {CHECK_PATH}");
    Problem::new(StatusCode::NOT_FOUND, detail)
}

async fn wrong_method() -> Problem {
    let detail = "this path does not take that method; use one that the field `Allow` names";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}
