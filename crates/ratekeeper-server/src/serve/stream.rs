//! A connection whose peer has to send its requests, and to take its answers.
//!
//! A peer that asks on and on without reading fills the buffers between us, and would then hold its
//! connection for ever; so would one that sends a header letter by letter, or nothing. Invariants: a write
//! either gets on within the bound or fails; so does a read, while no request is under way. A timer is set
//! only where somebody is waited for, and is left alone for as long as it is early.

use super::Bounds;
use super::work::Work;
use crate::socket::Socket;
use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout_at};

/// How often to look whether a peer is still there, of which nothing is read because something has come behind
/// its request, or because nobody takes more of its body.
const LOOK: Duration = Duration::from_millis(50);

/// A stream that waits for its peer, but not for ever.
pub(super) struct Patient {
    stream: TokioIo<Socket>,
    /// What was read before it was known what is spoken.
    first: Vec<u8>,
    write: Duration,
    /// Runs while a write does not get on.
    patience: Option<Pin<Box<Sleep>>>,
    requests: Option<Requests>,
}

/// Bounds on the time between requests that come one after the other.
pub(super) struct Requests {
    header: Duration,
    idle: Duration,
    rest: Duration,
    work: Work,
    /// When the first piece of a header came, and after how much work.
    begun: Option<(Instant, u64)>,
    alarm: Option<Pin<Box<Sleep>>>,
    /// Whether it rings within a rest, so that it need not be looked at while a request is under way.
    is_near: bool,
    /// Whether it rings at the next look.
    is_soon: bool,
    /// Whether nothing has come since somebody began to read, so that the end of the connection is seen at once.
    is_read: bool,
}

impl Requests {
    pub(super) fn new(bounds: &Bounds, work: Work) -> Requests {
        let Bounds { header, idle, rest, .. } = *bounds;
        let (begun, alarm) = (None, None);
        let (is_near, is_soon, is_read) = (false, false, false);
        Requests { header, idle, rest, work, begun, alarm, is_near, is_soon, is_read }
    }

    /// Notes that something was read; whether it is part of a header that takes too long.
    fn read(&mut self) -> bool {
        self.is_read = false;
        self.work.wake();
        if self.work.quiet_since().is_none() {
            return false;
        }
        let (now, moves) = (Instant::now(), self.work.moves());
        let (begun, _) = *self.begun.insert(self.begun(moves).unwrap_or((now, moves)));
        now >= begun + self.header
    }

    /// The header that has begun, unless its request has come since.
    fn begun(&self, moves: u64) -> Option<(Instant, u64)> {
        self.begun.filter(|(_, own)| *own == moves)
    }

    /// Whether it is time to look if the peer is still there, though nothing is read: something may have come
    /// behind its request. True once in a while, as long as a request is under way.
    fn looks(&mut self, context: &mut Context<'_>) -> bool {
        let rings = |alarm: &Pin<Box<Sleep>>| !alarm.is_elapsed();
        let is_set = if self.is_read { self.is_near } else { self.is_soon };
        if is_set && self.alarm.as_ref().is_some_and(rings) || !self.work.is_under_way() {
            return false;
        }
        let rest = self.rest.min(self.idle);
        let deadline = Instant::now() + if self.is_read { rest } else { LOOK.min(rest) };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        alarm.as_mut().reset(deadline);
        self.is_near = alarm.as_mut().poll(context).is_pending();
        self.is_soon = !self.is_read;
        true
    }

    /// Whether there was nothing to read for too long; if not, this is asked again in time.
    fn wait(&mut self, context: &mut Context<'_>) -> bool {
        self.is_read = true;
        let rings = |alarm: &Pin<Box<Sleep>>| !alarm.is_elapsed();
        if self.is_near && self.alarm.as_ref().is_some_and(rings) && self.work.is_under_way() {
            return false;
        }
        self.is_soon = false;
        loop {
            let quiet = self.work.quiet_since();
            let (deadline, rest) = match (quiet, self.begun(self.work.moves())) {
                // Whoever polls may not do so again when it is over.
                (None, _) => (Instant::now() + self.rest.min(self.idle), false),
                (_, Some((begun, _))) => (begun + self.header, false),
                (Some(since), None) if self.work.rests() => (since + self.idle, false),
                (Some(since), None) => (since + self.rest.min(self.idle), true),
            };
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if alarm.deadline() > deadline {
                alarm.as_mut().reset(deadline);
            }
            if alarm.as_mut().poll(context).is_pending() {
                self.is_near = rest || quiet.is_none();
                return false;
            }
            if alarm.deadline() < deadline {
                alarm.as_mut().reset(deadline);
            } else if rest {
                self.work.rest();
            } else {
                return true;
            }
        }
    }
}

impl Patient {
    /// A stream of which these bytes have come already.
    pub(super) fn new(stream: Socket, first: Vec<u8>, bounds: &Bounds) -> Patient {
        let (stream, write) = (TokioIo::new(stream), bounds.write);
        Patient { stream, first, write, patience: None, requests: None }
    }

    /// The same, for requests that come one after the other.
    pub(super) fn one_by_one(self, requests: Requests) -> Patient {
        Patient { requests: Some(requests), ..self }
    }

    /// The same, of which these bytes were read, but not used.
    pub(super) fn after(self, unused: &Bytes) -> Patient {
        let first = [unused, &self.first[..]].concat();
        Patient { first, ..self }
    }

    /// The connection, of which nothing is left to be read here.
    pub(super) fn into_inner(self) -> (Socket, Vec<u8>) {
        (self.stream.into_inner(), self.first)
    }

    /// Waits until there is something to read; not if nothing comes for so long.
    pub(super) async fn wakes(&mut self, idle: Duration) -> bool {
        let since = self.requests.as_ref().and_then(|requests| requests.work.quiet_since());
        let deadline = since.unwrap_or_else(Instant::now) + idle;
        let readable = self.stream.inner().tcp().readable();
        !self.first.is_empty() || timeout_at(deadline, readable).await.is_ok()
    }

    /// Says whether an answer is on its way and does not get on.
    fn stuck(&self, stuck: bool) {
        if let Some(requests) = &self.requests {
            requests.work.stuck(stuck);
        }
    }

    /// Does `work` on the stream, and fails once it has been pending for too long.
    fn within<T>(
        &mut self,
        context: &mut Context<'_>,
        work: impl FnOnce(Pin<&mut TokioIo<Socket>>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(done) = work(Pin::new(&mut self.stream), context) {
            if self.patience.take().is_some() {
                self.stuck(false);
            }
            return Poll::Ready(done);
        }
        self.stuck(true);
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(self.write)));
        ready!(patience.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

/// Whether the peer will send no more, whatever of what it has sent is still to be read.
fn has_left(stream: &TcpStream) -> bool {
    let ready = pin!(stream.ready(Interest::READABLE));
    let polled = ready.poll(&mut Context::from_waker(Waker::noop()));
    matches!(polled, Poll::Ready(Ok(ready)) if ready.is_read_closed())
}

impl Read for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = match self.first.len().min(into.remaining()) {
            0 => Pin::new(&mut self.stream).poll_read(context, into),
            count => {
                into.put_slice(&self.first[..count]);
                self.first.drain(..count);
                Poll::Ready(Ok(()))
            }
        };
        let late = self.requests.as_mut().is_some_and(|requests| match read.is_ready() {
            true => requests.read(),
            false => requests.wait(context),
        });
        if late { Poll::Ready(Err(ErrorKind::TimedOut.into())) } else { read }
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

    // Over TLS what was written may still be here, and has to leave before the connection can rest.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let looks = self.requests.as_mut().is_some_and(|requests| requests.looks(context));
        if looks && has_left(self.stream.inner().tcp()) {
            return Poll::Ready(Err(ErrorKind::ConnectionAborted.into()));
        }
        self.within(context, Write::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.within(context, Write::poll_shutdown)
    }
}
