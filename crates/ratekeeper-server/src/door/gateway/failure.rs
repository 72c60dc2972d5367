//! What keeps an upstream from answering, and what its caller is told.
//!
//! Invariant: a caller is told whose fault it is, and nothing of who is behind the gateway.

use super::body::Outgoing;
use crate::problem::Problem;
use axum::http::StatusCode;
use hyper::Request;

/// What keeps an upstream from answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// There is no connection to be had.
    Refused,
    /// None was there in time.
    Unreachable,
    /// The answer did not begin in time.
    Late,
    /// The connection was closed before the answer began.
    Closed,
    /// What came is no answer.
    Bad,
    /// There are too many connections to upstreams.
    Crowded,
    /// The caller paused for too long within its body.
    Slow,
    /// The caller left its body unfinished.
    Left,
}

/// A request that was not answered, and the request itself, if nothing of it has been sent.
pub(super) struct Failed {
    pub(super) failure: Failure,
    pub(super) unsent: Option<Box<Request<Outgoing>>>,
}

/// Kinds of failures that are the upstream's, as metrics name them.
pub(super) const KINDS: [&str; 4] = ["connect", "timeout", "closed", "bad"];

impl Failure {
    /// Its kind by number, if it is the upstream's.
    pub(super) fn kind(self) -> Option<usize> {
        match self {
            Failure::Refused | Failure::Unreachable => Some(0),
            Failure::Late => Some(1),
            Failure::Closed => Some(2),
            Failure::Bad => Some(3),
            Failure::Crowded | Failure::Slow | Failure::Left => None,
        }
    }

    /// What an error of a connection says.
    pub(super) fn of(error: &hyper::Error) -> Failure {
        match error.is_parse() || error.is_parse_status() || error.is_parse_too_large() {
            true => Failure::Bad,
            false => Failure::Closed,
        }
    }

    /// What the caller is told.
    pub(super) fn problem(self) -> Problem {
        let (status, detail) = match self {
            Failure::Refused => {
                (StatusCode::BAD_GATEWAY, "the server behind cannot be reached; try again later")
            }
            Failure::Unreachable => (
                StatusCode::GATEWAY_TIMEOUT,
                "the server behind was not reached in time; try again later",
            ),
            Failure::Late => (
                StatusCode::GATEWAY_TIMEOUT,
                "the server behind did not answer in time; try again later",
            ),
            Failure::Closed => (
                StatusCode::BAD_GATEWAY,
                "the server behind closed the connection without an answer; see whether it acted \
                 before you try again",
            ),
            Failure::Bad => (
                StatusCode::BAD_GATEWAY,
                "what the server behind answered is not HTTP; tell whoever runs it",
            ),
            Failure::Crowded => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests are under way; try again later",
            ),
            Failure::Slow => (
                StatusCode::REQUEST_TIMEOUT,
                "the body came to a halt; send it without long pauses",
            ),
            Failure::Left => (StatusCode::BAD_REQUEST, "the body is not whole; send all of it"),
        };
        Problem::new(status, detail)
    }
}
