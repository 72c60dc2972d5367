//! The body of a request on its way to an upstream.
//!
//! Invariant: it is passed on piece by piece, as the upstream takes it; who pauses for too long within it is
//! given up.

use super::alarm::Alarm;
use super::failure::Failure;
use super::fields::{cleaned, trailing};
use super::upstream::Times;
use crate::serve::{Arrival, Busy, Tunnels};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// The body of a request.
pub(super) struct Outgoing {
    body: Incoming,
    /// How long the caller may pause.
    pause: Duration,
    alarm: Option<Pin<Box<Sleep>>>,
    fate: Fate,
    /// Until all of it was read.
    busy: Option<Busy>,
}

/// How far the body of a request is; most requests have none.
#[derive(Clone, Default)]
pub(super) struct Fate(Option<Arc<Marks>>);

#[derive(Default)]
struct Marks {
    pieces: AtomicU64,
    /// Whether the caller has been asked for more.
    waits: AtomicBool,
    slow: AtomicBool,
    broken: AtomicBool,
}

impl Outgoing {
    pub(super) fn new(body: Incoming, arrival: &Arrival) -> Outgoing {
        let is_empty = body.is_end_stream();
        let fate = Fate((!is_empty).then(Arc::default));
        let busy = arrival.tunnels.as_ref().filter(|_| !is_empty).map(Tunnels::busy);
        Outgoing { body, pause: arrival.body, alarm: None, fate, busy }
    }

    /// How far it is, also after it is gone.
    pub(super) fn fate(&self) -> Fate {
        self.fate.clone()
    }
}

impl Fate {
    /// Waits for an answer, which has to begin in time after the request, or the last piece of it.
    pub(super) async fn watch<T>(
        &self,
        alarm: &mut Alarm,
        times: Times,
        asking: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let mut asking = pin!(asking);
        let (mut pieces, mut since) = (0, times.asked);
        poll_fn(|context| {
            if let Poll::Ready(answer) = asking.as_mut().poll(context) {
                return Poll::Ready(Ok(answer));
            }
            let now = self.0.as_ref().map_or(0, |marks| marks.pieces.load(Ordering::Relaxed));
            if now != pieces {
                (pieces, since) = (now, Instant::now());
            }
            while alarm.is_over(times.until.min(since + times.first_byte), context) {
                since = Instant::now();
                // The caller has a time of its own.
                if !self.waits() || since >= times.until {
                    return Poll::Ready(Err(Failure::Late));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Whether it is the caller that is waited for.
    fn waits(&self) -> bool {
        self.0.as_ref().is_some_and(|marks| marks.waits.load(Ordering::Relaxed))
    }

    /// What the caller is to blame for, if anything.
    pub(super) fn fault(&self) -> Option<Failure> {
        match self.0.as_ref()? {
            marks if marks.slow.load(Ordering::Relaxed) => Some(Failure::Slow),
            marks if marks.broken.load(Ordering::Relaxed) => Some(Failure::Left),
            _ => None,
        }
    }

    /// Whether nothing of it was taken, nor is amiss.
    pub(super) fn is_untouched(&self) -> bool {
        let taken = self.0.as_ref().map_or(0, |marks| marks.pieces.load(Ordering::Relaxed));
        taken == 0 && self.fault().is_none()
    }

    fn mark(&self, mark: impl FnOnce(&Marks)) {
        if let Some(marks) = &self.0 {
            mark(marks);
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            self.fate.mark(|marks| marks.waits.store(true, Ordering::Relaxed));
            let pause = self.pause;
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(pause)));
            if alarm.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.fate.mark(|marks| marks.slow.store(true, Ordering::Relaxed));
            return Poll::Ready(Some(Err(Broken)));
        };
        self.alarm = None;
        let is_end = frame.is_none() || self.body.is_end_stream();
        if is_end {
            self.busy = None;
        }
        self.fate.mark(|marks| {
            marks.pieces.fetch_add(1, Ordering::Relaxed);
            marks.waits.store(false, Ordering::Relaxed);
            let broken = matches!(frame, Some(Err(_)));
            marks.broken.fetch_or(broken, Ordering::Relaxed);
        });
        let cleaned = |frame| cleaned(frame, trailing);
        Poll::Ready(frame.map(|frame| frame.map(cleaned).map_err(|_| Broken)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body did not come to its end")
    }
}

impl std::error::Error for Broken {}
