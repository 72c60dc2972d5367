//! The body of an upstream's answer on its way to the caller.
//!
//! Invariants: it is read as fast as the caller takes it; its connection is kept for the next request once its
//! last byte was read, and closed if it is left before; an answer that breaks off ends in an error, never as if
//! it were whole.

use super::super::alarm::Alarm;
use super::super::body::Broken;
use super::super::failure::Failure;
use super::super::fields::{cleaned, incoming};
use super::link::{Apart, Link};
use super::{Times, UnderWay};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// The body of an answer.
pub(in super::super) struct Streamed {
    source: Source,
    under_way: Option<UnderWay>,
    idle: Duration,
    until: Instant,
    /// Since when there has been nothing to read.
    quiet: Option<Instant>,
    alarm: Alarm,
}

/// Where the pieces of an answer come from.
pub(super) enum Source {
    /// A connection that is read here.
    One(Box<Link>),
    /// One that still sends the request, in a task of its own.
    Apart(Apart),
    /// One that others use, too.
    Two(Incoming),
    /// There are no more.
    Over,
}

impl Source {
    /// The next piece; none behind the end.
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        match self {
            Source::One(link) => link.poll_piece(context),
            Source::Apart(apart) => apart.poll_piece(context),
            Source::Two(body) => {
                let closed = |frame: Result<_, hyper::Error>| frame.map_err(|_| Failure::Closed);
                Pin::new(body).poll_frame(context).map(|frame| frame.map(closed))
            }
            Source::Over => Poll::Ready(None),
        }
    }

    /// Whether it is known that nothing follows.
    fn is_over(&self) -> bool {
        match self {
            Source::One(link) => link.is_over(),
            Source::Apart(_) => false,
            Source::Two(body) => body.is_end_stream(),
            Source::Over => true,
        }
    }
}

impl Streamed {
    pub(super) fn new(source: Source, times: Times, under_way: UnderWay) -> Box<Streamed> {
        let Times { idle, until, .. } = times;
        let (quiet, alarm) = (None, Alarm::default());
        let under_way = Some(under_way);
        let mut own = Box::new(Streamed { source, under_way, idle, until, quiet, alarm });
        if own.source.is_over() {
            own.finish();
        }
        own
    }

    /// All has been read.
    fn finish(&mut self) {
        let source = mem::replace(&mut self.source, Source::Over);
        if let (Source::One(link), Some(under_way)) = (source, self.under_way.take()) {
            under_way.upstream.pool.keep(link);
        }
    }

    /// It broke off.
    fn fail(&mut self, failure: Failure) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.source = Source::Over;
        if let Some(under_way) = self.under_way.take() {
            under_way.upstream.broke_off(failure);
        }
        Poll::Ready(Some(Err(Broken)))
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
        match self.source.poll_piece(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.quiet = None;
                if self.source.is_over() {
                    self.finish();
                } else if Instant::now() >= self.until {
                    // It need not have been quiet: its caller may be slower than it.
                    return self.fail(Failure::Late);
                }
                Poll::Ready(Some(Ok(cleaned(frame, incoming))))
            }
            Poll::Ready(None) => {
                self.finish();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(failure))) => self.fail(failure),
            Poll::Pending if self.is_late(context) => self.fail(Failure::Late),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.under_way.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::One(link) => link.size_hint(),
            Source::Apart(_) => SizeHint::default(),
            Source::Two(body) => body.size_hint(),
            Source::Over => SizeHint::with_exact(0),
        }
    }
}
