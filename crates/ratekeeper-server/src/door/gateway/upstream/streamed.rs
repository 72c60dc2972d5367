//! The body of an upstream's answer on its way to the caller.
//!
//! Invariants: it is read as fast as the caller takes it; its connection is kept for the next request once its
//! last byte was read, and closed if it is left before; an answer that breaks off ends in an error, never as if
//! it were whole.

use super::super::alarm::Alarm;
use super::super::body::Broken;
use super::super::failure::Failure;
use super::link::Link;
use super::{Times, UnderWay};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// The body of an answer.
pub(in super::super) struct Streamed {
    body: Incoming,
    /// The connection, for as long as it is read here.
    link: Option<Box<Link>>,
    under_way: Option<UnderWay>,
    idle: Duration,
    until: Instant,
    /// Since when there has been nothing to read.
    quiet: Option<Instant>,
    alarm: Alarm,
}

impl Streamed {
    pub(super) fn new(
        body: Incoming,
        link: Option<Box<Link>>,
        times: Times,
        under_way: UnderWay,
    ) -> Streamed {
        let Times { idle, until, .. } = times;
        let (quiet, alarm) = (None, Alarm::default());
        let mut own =
            Streamed { body, link, under_way: Some(under_way), idle, until, quiet, alarm };
        if own.body.is_end_stream() {
            own.finish();
        }
        own
    }

    /// All has been read.
    fn finish(&mut self) {
        if let (Some(link), Some(under_way)) = (self.link.take(), &self.under_way) {
            under_way.upstream.keep(link);
        }
        self.under_way = None;
    }

    /// It broke off.
    fn fail(&mut self, failure: Failure) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.link = None;
        if let Some(under_way) = &self.under_way {
            under_way.upstream.broke_off(failure);
        }
        self.under_way = None;
        Poll::Ready(Some(Err(Broken)))
    }

    /// The next piece, if it is there.
    fn next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(link) = &mut self.link else {
            return Pin::new(&mut self.body).poll_frame(context);
        };
        // Nothing but the connection moves the body on, and that is asked here.
        let quiet = &mut Context::from_waker(Waker::noop());
        let first = Pin::new(&mut self.body).poll_frame(quiet);
        if first.is_ready() {
            return first;
        }
        link.drive(context);
        Pin::new(&mut self.body).poll_frame(quiet)
    }

    /// Whether there was nothing to read for too long.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let since = *self.quiet.get_or_insert_with(Instant::now);
        self.alarm.is_over(self.until.min(since + self.idle), context)
    }
}

impl Body for Streamed {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if self.under_way.is_none() {
            return Poll::Ready(None);
        }
        match self.next(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.quiet = None;
                if self.body.is_end_stream() {
                    self.finish();
                } else if Instant::now() >= self.until {
                    // It need not have been quiet: its caller may be slower than it.
                    return self.fail(Failure::Late);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                self.finish();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(_))) => self.fail(Failure::Closed),
            Poll::Pending if self.link.as_ref().is_some_and(|link| link.is_over()) => {
                self.fail(Failure::Closed)
            }
            Poll::Pending if self.is_late(context) => self.fail(Failure::Late),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.under_way.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
