//! Connections to an upstream that wait for their next request.
//!
//! Invariants: the one that was used last is used next, so that those beyond need grow old and go; one that
//! its server has closed, or said something unasked on, is never used again. All upstreams together have no
//! more connections than there are places.

use super::link::Link;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// How long a connection is kept. Many servers close theirs after five seconds; a request that meets that
/// moment is lost.
const KEPT_FOR: Duration = Duration::from_secs(4);

/// Most connections that are kept to one upstream.
const KEPT_MAX: usize = 1024;

/// Connections that are kept, each in the box in which it goes from hand to hand.
type Kept = Vec<Box<Link>>;

pub(super) struct Pool {
    kept: Mutex<Kept>,
    places: Arc<Semaphore>,
    /// Connections of this upstream, of whichever state.
    count: Arc<AtomicUsize>,
}

/// A place among the connections.
pub(in super::super) struct Taken {
    _permit: OwnedSemaphorePermit,
    count: Arc<AtomicUsize>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    pub(super) fn new(places: &Arc<Semaphore>) -> Pool {
        Pool { kept: Mutex::default(), places: Arc::clone(places), count: Arc::default() }
    }

    /// A place for a new connection, if there is one.
    pub(super) fn place(&self) -> Option<Taken> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
        self.count.fetch_add(1, Ordering::Relaxed);
        Some(Taken { _permit: permit, count: Arc::clone(&self.count) })
    }

    /// A connection that was kept, and can be used now.
    pub(super) fn take(&self, now: Instant) -> Option<Box<Link>> {
        loop {
            let mut link = self.lock().pop()?;
            if now.saturating_duration_since(link.kept) < KEPT_FOR && link.is_usable() {
                return Some(link);
            }
        }
    }

    /// Keeps a connection for the next request, if there can be one.
    pub(super) fn keep(&self, mut link: Box<Link>) {
        if !link.is_free() {
            return;
        }
        link.kept = Instant::now();
        link.shrink();
        let mut kept = self.lock();
        if kept.len() < KEPT_MAX {
            kept.push(link);
        }
    }

    /// Drops what is of no use any more.
    pub(super) fn sweep(&self) {
        self.lock().retain_mut(|link| link.kept.elapsed() < KEPT_FOR && link.is_usable());
    }

    /// Connections that are kept, and all that there are.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.lock().len(), self.count.load(Ordering::Relaxed))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
