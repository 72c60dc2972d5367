//! Connections to an upstream that many requests share at a time.
//!
//! Invariants: no connection has more requests under way than servers take on one, so that calls that last keep
//! nobody out; the first with room is taken, so that those beyond need fall idle, and go.

use super::pool::KEPT_FOR;
use super::two::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// Most requests on one connection; there is hardly a server that takes fewer than a hundred.
const REQUESTS_MAX: usize = 64;

/// The connections that requests share.
#[derive(Default)]
pub(super) struct Shared(Mutex<Vec<One>>);

/// One of them.
struct One {
    sender: Sender,
    /// One more is held by each request on it.
    seats: Arc<()>,
    used: Instant,
}

/// A place on a connection, for as long as a request is under way.
pub(in super::super) struct Seat {
    _seat: Arc<()>,
}

impl One {
    fn requests(&self) -> usize {
        Arc::strong_count(&self.seats) - 1
    }

    fn sit(&mut self, now: Instant) -> (Sender, Seat) {
        self.used = now;
        (self.sender.clone(), Seat { _seat: Arc::clone(&self.seats) })
    }
}

impl Shared {
    /// A place on a connection that is there and has room.
    pub(super) fn get(&self, now: Instant) -> Option<(Sender, Seat)> {
        let mut all = self.lock();
        let is_of_use = |one: &One| {
            let is_recent = now.saturating_duration_since(one.used) < KEPT_FOR;
            !one.sender.is_closed() && (is_recent || one.requests() > 0)
        };
        // One is kept for as long as the server keeps it.
        let mut is_first = true;
        all.retain(|one| {
            let stays = is_of_use(one) || is_first && !one.sender.is_closed();
            is_first &= !stays;
            stays
        });
        all.iter_mut().find(|one| one.requests() < REQUESTS_MAX).map(|one| one.sit(now))
    }

    /// Shares a connection, unless there is room on others; those serve who has come for it.
    pub(super) fn set(&self, sender: Sender, now: Instant) -> (Sender, Seat) {
        if let Some(other) = self.get(now) {
            return other;
        }
        let mut one = One { sender, seats: Arc::default(), used: now };
        let seated = one.sit(now);
        self.lock().push(one);
        seated
    }

    fn lock(&self) -> MutexGuard<'_, Vec<One>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
