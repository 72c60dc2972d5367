//! The body of a sign-in: a token, and nothing else.
//!
//! Invariant: no fault that is told shows the value of a field.

use super::field::{needed, only, short};
use super::{body, written};
use crate::problem::Problem;
use axum::extract::Request;
use std::time::Duration;

/// Longest token that is looked at.
const TOKEN_MAX: usize = 4_096;

const EXAMPLE: &str = r#"{"token":"…"}"#;

/// The token that somebody enters.
pub(crate) async fn token(request: Request, pause: Duration) -> Result<String, Problem> {
    let text = body::read(request, pause).await?;
    let [token] = only(written::parse(&text, EXAMPLE)?, ["token"], EXAMPLE)?;
    let repair = "send a token of the file that `admin.token_file` names";
    let token = short(needed(token, "token", repair)?, "token", TOKEN_MAX, repair)?;
    Ok(token.0.into_owned())
}
