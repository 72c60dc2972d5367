//! What is under way on a connection: requests that are answered, and answers that are sent.
//!
//! Invariant: a request is under way from its header to the last piece of its answer, or until it is given
//! up; whatever moves it on is counted.

use super::answers::Tunnel;
use super::streams;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Bytes;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// What is under way on one connection.
#[derive(Clone, Debug)]
pub(super) struct Work(Arc<Counts>);

struct Counts {
    under_way: AtomicUsize,
    moves: AtomicU64,
    born: Instant,
    /// When the last of them ended, in milliseconds of its life.
    ended: AtomicU64,
    /// Whether nothing has been under way for a while.
    rests: AtomicBool,
    /// Whether an answer is on its way and does not get on.
    stuck: AtomicBool,
    /// What goes on with the connection when it speaks HTTP no more.
    tunnel: Mutex<Option<Tunnel>>,
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts").field("under_way", &self.under_way).finish_non_exhaustive()
    }
}

impl Default for Work {
    fn default() -> Work {
        let (under_way, moves, ended, rests, stuck, tunnel) = Default::default();
        let born = Instant::now();
        Work(Arc::new(Counts { under_way, moves, born, ended, rests, stuck, tunnel }))
    }
}

impl Work {
    /// A request has come; it is under way until what is returned is dropped.
    pub(super) fn begin(&self) -> UnderWay {
        self.0.under_way.fetch_add(1, Ordering::Relaxed);
        self.note();
        UnderWay(self.clone())
    }

    /// Whether a request is under way.
    pub(super) fn is_under_way(&self) -> bool {
        self.0.under_way.load(Ordering::Relaxed) > 0
    }

    /// Since when no request is under way; none if one is.
    pub(super) fn quiet_since(&self) -> Option<Instant> {
        let ended = Duration::from_millis(self.0.ended.load(Ordering::Relaxed));
        (!self.is_under_way()).then_some(self.0.born + ended)
    }

    /// Notes that nothing has been under way for a while.
    pub(super) fn rest(&self) {
        self.0.rests.store(true, Ordering::Relaxed);
    }

    /// Notes that something has come.
    pub(super) fn wake(&self) {
        self.0.rests.store(false, Ordering::Relaxed);
    }

    /// Whether nothing has been under way for a while.
    pub(super) fn rests(&self) -> bool {
        self.0.rests.load(Ordering::Relaxed)
    }

    /// Whether nothing is lost if the connection is put away: nothing has come, and all is sent.
    pub(super) fn is_over(&self) -> bool {
        self.rests() && !self.0.stuck.load(Ordering::Relaxed)
    }

    /// Notes whether an answer does not get on.
    pub(super) fn stuck(&self, stuck: bool) {
        self.0.stuck.store(stuck, Ordering::Relaxed);
    }

    /// Leaves what goes on with the connection.
    pub(super) fn leave(&self, tunnel: Tunnel) {
        *self.0.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
    }

    /// What goes on with the connection, if anything was left.
    pub(super) fn take_tunnel(&self) -> Option<Tunnel> {
        self.0.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A number that changes whenever something gets on.
    pub(super) fn moves(&self) -> u64 {
        self.0.moves.load(Ordering::Relaxed)
    }

    fn note(&self) {
        self.0.moves.fetch_add(1, Ordering::Relaxed);
    }
}

/// A request that is under way.
#[derive(Debug)]
pub(super) struct UnderWay(Work);

impl UnderWay {
    /// Its answer, with which it ends.
    pub(super) fn answer<B: Body>(self, body: B) -> Sent<B> {
        let mut sent = Sent { body, under_way: Some(self) };
        sent.note();
        streams::handed();
        sent
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let (work, counts) = (&self.0, &self.0.0);
        work.note();
        counts.ended.store(counts.born.elapsed().as_millis() as u64, Ordering::Relaxed);
        counts.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer.
pub(super) struct Sent<B> {
    body: B,
    /// Until the last piece is taken, not until the body is gone: by then the connection waits already.
    under_way: Option<UnderWay>,
}

impl<B: Body> Sent<B> {
    fn note(&mut self) {
        if let Some(under_way) = &self.under_way {
            under_way.0.note();
        }
        if self.body.is_end_stream() {
            self.under_way = None;
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Sent<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        streams::asked();
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_ready() {
            self.note();
            streams::handed();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
