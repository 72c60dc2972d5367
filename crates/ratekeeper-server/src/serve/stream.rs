//! A connection whose peer has to send its header, and to take its answers.
//!
//! A peer that asks on and on without reading fills the buffers between us, and would then hold its
//! connection for ever; so would one that sends a header letter by letter. Invariants: a write either gets
//! on within the bound or fails; so does a read of a header that has begun to come.

use super::Bounds;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A stream that waits for its peer, but not for ever.
pub(super) struct Patient {
    stream: TokioIo<TcpStream>,
    write: Duration,
    header: Duration,
    /// Runs while a write does not get on.
    patience: Option<Pin<Box<Sleep>>>,
    /// Runs from the first piece of a header until the request is there.
    begun: Option<Pin<Box<Sleep>>>,
    work: Work,
}

/// Whether a request of a connection is being answered; else it is idle, or sends a header.
#[derive(Clone, Default)]
pub(super) struct Work(Arc<AtomicBool>);

impl Work {
    pub(super) fn set(&self, busy: bool) {
        self.0.store(busy, Ordering::Relaxed);
    }

    fn is_busy(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Patient {
    pub(super) fn new(stream: TcpStream, bounds: &Bounds, work: Work) -> Patient {
        let (write, header) = (bounds.write, bounds.header);
        let stream = TokioIo::new(stream);
        Patient { stream, write, header, patience: None, begun: None, work }
    }

    /// Does `work` on the stream, and fails once it has been pending for too long.
    fn within<T>(
        &mut self,
        context: &mut Context<'_>,
        work: impl FnOnce(Pin<&mut TokioIo<TcpStream>>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(done) = work(Pin::new(&mut self.stream), context) {
            self.patience = None;
            return Poll::Ready(done);
        }
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(self.write)));
        patience.as_mut().poll(context).map(|()| Err(ErrorKind::TimedOut.into()))
    }
}

impl Read for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        if self.work.is_busy() {
            self.begun = None;
            return read;
        }
        if read.is_ready() && self.begun.is_none() {
            self.begun = Some(Box::pin(sleep(self.header)));
        }
        match self.begun.as_mut().map(|begun| begun.as_mut().poll(context)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            _ => read,
        }
    }
}

impl Write for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.within(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.within(context, |stream, context| stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
