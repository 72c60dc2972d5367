//! Bodies of the gateway's answers.
//!
//! Invariant: an answer that is logged is logged once, when its last byte was taken or it was given up.

use super::body::Broken;
use super::log::Line;
use super::upstream::Streamed;
use crate::problem::Problem;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode, header};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use ratekeeper::layer;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A body from behind the limits: an upstream's, or a text of our own.
pub(super) enum Passed {
    /// In a box, since answers are moved often.
    Streams(Box<Streamed>),
    Text(Option<Bytes>),
}

impl Passed {
    /// The answer that tells a problem.
    pub(super) fn problem(problem: &Problem) -> Response<Passed> {
        told(problem).map(|text| Passed::Text(Some(text)))
    }
}

/// The answer that tells a problem.
fn told(problem: &Problem) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(problem.text()));
    *response.status_mut() = problem.status();
    let kind = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    match problem.status() {
        // Which way it is is written in `api_key` and `jwt`; a token is what is standard.
        StatusCode::UNAUTHORIZED => {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}

impl Body for Passed {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Passed::Streams(body) => Pin::new(&mut **body).poll_frame(context),
            Passed::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Passed::Streams(body) => body.is_end_stream(),
            Passed::Text(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Passed::Streams(body) => body.size_hint(),
            Passed::Text(text) => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
        }
    }
}

/// The body of an answer, as the caller gets it.
pub struct Told {
    body: Kind,
    line: Option<Box<Line>>,
}

enum Kind {
    Limited(layer::Body<Passed>),
    Own(Passed),
}

impl Told {
    /// One that came through the limits.
    pub(super) fn limited(
        response: Response<layer::Body<Passed>>,
        line: Option<Box<Line>>,
    ) -> Response<Told> {
        Told::of(response.map(Kind::Limited), line)
    }

    /// One that tells of a problem before any limit was asked.
    pub(super) fn problem(problem: &Problem, line: Option<Box<Line>>) -> Response<Told> {
        Told::of(Passed::problem(problem).map(Kind::Own), line)
    }

    fn of(response: Response<Kind>, mut line: Option<Box<Line>>) -> Response<Told> {
        if let Some(line) = &mut line {
            line.status(response.status());
        }
        response.map(|body| Told { body, line })
    }
}

impl Body for Told {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = match &mut self.body {
            Kind::Limited(body) => Pin::new(body).poll_frame(context),
            Kind::Own(body) => Pin::new(body).poll_frame(context),
        };
        if let (Some(line), Poll::Ready(Some(Ok(frame)))) = (&mut self.line, &frame) {
            line.bytes(frame.data_ref().map_or(0, Bytes::len));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Kind::Limited(body) => body.is_end_stream(),
            Kind::Own(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Kind::Limited(body) => body.size_hint(),
            Kind::Own(body) => body.size_hint(),
        }
    }
}
