//! Which rules decide what, and which keys ask most. For the admin alone, since keys can be personal.
//!
//! Invariant: an answer has a bound on its rows.

use super::answer::json;
use crate::app::App;
use crate::observe::{Counted, ENTRIES_MAX, Frequent, RULES_MAX, Shadowed};
use crate::problem::Problem;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use serde::Serialize;
use std::cmp::Reverse;

/// The rules and keys that are asked most.
pub(super) const TOP_PATH: &str = "/v1/top";

/// Rows of each list unless said, and at most.
const ROWS: usize = 20;
const ROWS_MAX: usize = if ENTRIES_MAX > RULES_MAX { RULES_MAX } else { ENTRIES_MAX };

pub(super) fn routes() -> Router<App> {
    Router::new().route(TOP_PATH, get(top))
}

#[derive(Serialize)]
struct Top<'a> {
    /// Seconds since the server started, which is what is counted.
    seconds: f64,
    version: u64,
    node: &'a str,
    rules: Vec<Row>,
    keys: Vec<Frequent>,
    refused: Vec<Frequent>,
}

/// A rule, and what it did in shadow.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    counted: Counted,
    shadow: Shadowed,
}

async fn top(State(app): State<App>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let rows = rows(query.as_deref().unwrap_or_default(), ROWS_MAX)?;
    let mut rules = app.observe.in_shadow();
    // What is in shadow decides nothing, and is asked for all the same.
    rules.sort_by_key(|(own, shadow)| Reverse(own.allowed + own.refused + shadow.asked));
    rules.truncate(rows);
    let rules = rules.into_iter().map(|(counted, shadow)| Row { counted, shadow }).collect();
    let (keys, refused) = app.observe.frequent(rows);
    let seconds = app.observe.up().as_secs_f64();
    let (version, node) = (app.limiter.version(), &*app.node);
    json(&Top { seconds, version, node, rules, keys, refused })
}

/// The rows that are asked for, by a query such as `limit=20`.
pub(crate) fn rows(query: &str, most: usize) -> Result<usize, Problem> {
    let bad = |fault: &str| {
        let repair = format!("send `limit` once, a whole number from 1 to {most}, or nothing");
        Err(Problem::field(StatusCode::BAD_REQUEST, "limit", &format!("{fault}; {repair}")))
    };
    let mut rows = None;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let Some(("limit", value)) = part.split_once('=') else {
            return bad("is the only parameter");
        };
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        let value = value.parse().ok().filter(|rows| digits && (1..=most).contains(rows));
        if value.is_none() || rows.is_some() {
            return bad("is not a number of rows");
        }
        rows = value;
    }
    Ok(rows.unwrap_or(ROWS))
}
