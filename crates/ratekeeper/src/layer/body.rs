//! The body of an answer: the inner service's, which holds permits until it has ended, or a refusal's.
//!
//! Invariant: what is held is given back when the body has ended, failed, or is dropped.

use super::answer::grpc_status;
use crate::limiter::Admission;
use bytes::Bytes;
use http::HeaderValue;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// The body of an answer that came through the layer.
    #[project = Projected]
    #[derive(Debug)]
    pub enum Body<B> {
        #[doc(hidden)]
        Inner { #[pin] body: B, held: Option<Box<Admission>>, later: bool },
        #[doc(hidden)]
        Refusal { text: Option<Bytes> },
    }
}

impl<B: http_body::Body> Body<B> {
    /// The inner service's, which holds `admission` until its end; the answer's status comes `later`, in
    /// the trailers.
    pub(super) fn inner(body: B, admission: Admission, later: bool) -> Body<B> {
        // In a box, since answers are moved often, and most hold nothing.
        let holds = admission.is_holding() && !body.is_end_stream();
        let held = holds.then(|| Box::new(admission));
        Body::Inner { body, held, later }
    }

    pub(super) fn refusal(text: Bytes) -> Body<B> {
        Body::Refusal { text: Some(text).filter(|text| !text.is_empty()) }
    }
}

impl<B: http_body::Body<Data = Bytes>> http_body::Body for Body<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project() {
            Projected::Inner { mut body, held, later } => {
                let frame = std::task::ready!(body.as_mut().poll_frame(context));
                let trailers = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.trailers_ref());
                if let (true, Some(held), Some(trailers)) = (*later, held.as_mut(), trailers) {
                    let field = |name: &str| trailers.get(name).map(HeaderValue::as_bytes);
                    held.answered(grpc_status(trailers), field);
                }
                if !matches!(frame, Some(Ok(_))) || body.is_end_stream() {
                    *held = None;
                }
                Poll::Ready(frame)
            }
            Projected::Refusal { text } => {
                Poll::Ready(text.take().map(|text| Ok(Frame::data(text))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Inner { body, .. } => body.is_end_stream(),
            Body::Refusal { text } => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Inner { body, .. } => body.size_hint(),
            Body::Refusal { text } => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
        }
    }
}
