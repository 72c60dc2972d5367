//! What a gateway is told.
//!
//! Invariant: whatever the gateway makes of the status, the figures and the body are those that its
//! client is to see.

use crate::problem::Problem;
use axum::body::Body;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ratekeeper::fields::{self, Field, PLAIN_TYPE, PROBLEM_TYPE, Refusal};
use ratekeeper::{Admission, Rejected};

/// Tells nginx the status that its client is to see.
const STATUS: HeaderName = HeaderName::from_static("x-ratelimit-status");

/// Tells nginx the body that its client is to see, since it does not look at that of the answer.
const PROBLEM: HeaderName = HeaderName::from_static("x-ratelimit-problem");

/// Longest body that is told in a field. Beyond it nginx has to write its own: its buffer for all fields
/// is 4 KiB, or 8.
const PROBLEM_MAX: usize = 2048;

/// An answer to a gateway.
pub(super) struct Reply {
    status: StatusCode,
    fields: HeaderMap,
    kind: &'static str,
    body: String,
    /// The same as a problem, where the body is not.
    problem: Option<String>,
}

impl Reply {
    /// What the rules decided, with all figures; refused in the form that the client accepts, and by name.
    pub(super) fn decided(
        admission: &Admission,
        id: Option<&str>,
        now: u64,
        client: &HeaderMap,
    ) -> Reply {
        let mut fields = HeaderMap::new();
        fields::write(admission.decisions(), admission.forms(), now, &mut |field, text| {
            if let Ok(value) = HeaderValue::from_str(text) {
                fields.insert(HeaderName::from_static(field.name()), value);
            }
        });
        let Some(refusal) = Refusal::of(admission.decisions()) else {
            let (status, kind) = (StatusCode::OK, PLAIN_TYPE);
            return Reply { status, fields, kind, body: String::new(), problem: None };
        };
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let status = status(refusal.status());
        if let Some(id) = id.and_then(|id| HeaderValue::from_str(id).ok()) {
            fields.insert(HeaderName::from_static(Field::Decision.name()), id);
        }
        let problem = refusal.problem(id);
        match fields::wants_text(client.get(ACCEPT).map(HeaderValue::as_bytes)) {
            true => {
                let (kind, body) = (PLAIN_TYPE, refusal.plain());
                Reply { status, fields, kind, body, problem: Some(problem) }
            }
            false => Reply { status, fields, kind: PROBLEM_TYPE, body: problem, problem: None },
        }
    }

    /// No rule can be asked about it.
    pub(super) fn rejected(rejected: &Rejected) -> Reply {
        let body = fields::rejected_problem(rejected);
        let (fields, status) = (HeaderMap::new(), status(rejected.status()));
        Reply { status, fields, kind: PROBLEM_TYPE, body, problem: None }
    }

    /// The call itself is bad.
    pub(super) fn problem(problem: &Problem) -> Reply {
        let (fields, kind) = (HeaderMap::new(), PROBLEM_TYPE);
        Reply { status: problem.status(), fields, kind, body: problem.text(), problem: None }
    }

    /// The same for nginx: every refusal is a 403, and the rest is told in fields.
    pub(super) fn for_nginx(mut self) -> Reply {
        if self.status == StatusCode::OK {
            return self;
        }
        self.fields.insert(STATUS, self.status.as_u16().into());
        let problem = self.problem.as_ref().unwrap_or(&self.body);
        if problem.len() <= PROBLEM_MAX
            && let Ok(problem) = HeaderValue::from_str(problem)
        {
            self.fields.insert(PROBLEM, problem);
        }
        self.status = StatusCode::FORBIDDEN;
        self
    }

    pub(super) fn into_response(self) -> Response {
        let Reply { status, fields, kind, body, .. } = self;
        let mut response = (status, Body::from(body)).into_response();
        *response.headers_mut() = fields;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}

/// A refusal whose status is none is one all the same.
fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::TOO_MANY_REQUESTS)
}
