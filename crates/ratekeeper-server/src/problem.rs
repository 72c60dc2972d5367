//! The answer to a bad call: a problem body (RFC 9457) that names the place, the fault and the repair.
//!
//! Invariant: the text holds nothing of what the caller sent except names of rules and fields, and the
//! beginning of a path that cannot be matched, cut and escaped; a key never shows.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Longest name that a text quotes, in characters.
const QUOTE_MAX: usize = 64;

/// When to ask again where too much was asked for, unless who refuses knows better.
const A_SECOND: HeaderValue = HeaderValue::from_static("1");

/// A call that cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    /// Which part of the body is at fault, as a path such as `[3].cost`.
    field: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem { status, detail: detail.into(), field: None }
    }

    /// What is wrong, and what to do about it.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The body.
    pub(crate) fn text(&self) -> String {
        let body = Body {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Problem"),
            status: self.status.as_u16(),
            detail: &self.detail,
            field: self.field.as_deref(),
        };
        serde_json::to_string(&body).unwrap_or_default()
    }

    /// A fault of one field of the body: `fault` follows its name, as in "is missing; write one".
    pub(crate) fn field(status: StatusCode, field: &str, fault: &str) -> Problem {
        let (field, detail) = (field.to_owned(), format!("`{field}` {fault}"));
        Problem { status, detail, field: Some(field) }
    }
}

/// A name that the caller wrote, as a text may quote it.
pub(crate) fn quoted(name: &str) -> String {
    let mut short: String = name.chars().take(QUOTE_MAX).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short.escape_debug().to_string()
}

/// The body. Without a type of its own a problem's title is that of its status.
#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kind = HeaderValue::from_static("application/problem+json");
        let mut answer = (self.status, [(header::CONTENT_TYPE, kind)], self.text()).into_response();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            answer.headers_mut().insert(header::RETRY_AFTER, A_SECOND);
        }
        answer
    }
}
