//! A service whose answers end in every way that answers can.
//!
//! Invariant: what a body does is said by its [`Ending`], and each does it once.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::Service;

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It has no body.
    Empty,
    /// Its body is read to the end, which is told with the last frame.
    Known,
    /// Its body is read to the end, which is told by itself.
    Unknown,
    /// It ends with trailers.
    Trailers,
    /// Nobody reads the body.
    Unread,
    /// The reader leaves after the first frame.
    HalfRead,
    /// The body fails after the first frame.
    BodyFails,
    /// Reading the body panics.
    BodyPanics,
    /// The service fails.
    Fails,
    /// The service panics while it works.
    Panics,
    /// The service panics when it is called.
    CallPanics,
    /// The caller leaves while the service works.
    Leaves,
}

impl Ending {
    pub(super) const ALL: [Ending; 12] = [
        Ending::Empty,
        Ending::Known,
        Ending::Unknown,
        Ending::Trailers,
        Ending::Unread,
        Ending::HalfRead,
        Ending::BodyFails,
        Ending::BodyPanics,
        Ending::Fails,
        Ending::Panics,
        Ending::CallPanics,
        Ending::Leaves,
    ];

    /// Whether there is something to hold once the service was asked.
    pub(super) fn lasts(self) -> bool {
        let ends = [Ending::Empty, Ending::Fails, Ending::Panics, Ending::CallPanics];
        !ends.contains(&self)
    }
}

/// Stops the thread without a word.
fn falls() -> ! {
    resume_unwind(Box::new("meant"))
}

/// Answers by the ending that comes with the request.
#[derive(Clone)]
pub(super) struct Ends;

impl Service<Request<Ending>> for Ends {
    type Response = Response<Pieces>;
    type Error = &'static str;
    type Future = Works;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Ending>) -> Works {
        match request.into_body() {
            Ending::CallPanics => falls(),
            ending => Works(ending),
        }
    }
}

/// The service at work.
pub(super) struct Works(Ending);

impl Future for Works {
    type Output = Result<Response<Pieces>, &'static str>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match self.0 {
            Ending::Leaves => Poll::Pending,
            Ending::Fails => Poll::Ready(Err("meant")),
            Ending::Panics => falls(),
            ending => Poll::Ready(Ok(Response::new(Pieces::new(ending)))),
        }
    }
}

/// A body, frame by frame.
pub(super) struct Pieces {
    ending: Ending,
    frames: VecDeque<Result<Frame<Bytes>, &'static str>>,
}

impl Pieces {
    fn new(ending: Ending) -> Pieces {
        let data = || Ok(Frame::data(Bytes::from_static(b"piece")));
        let frames = match ending {
            Ending::Empty => vec![],
            Ending::BodyFails => vec![data(), Err("meant")],
            Ending::Trailers => vec![data(), Ok(Frame::trailers(HeaderMap::new()))],
            _ => vec![data(), data()],
        };
        Pieces { ending, frames: frames.into() }
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        match self.ending {
            Ending::BodyPanics => falls(),
            _ => Poll::Ready(self.frames.pop_front()),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.ending, Ending::Known | Ending::Empty) && self.frames.is_empty()
    }
}
