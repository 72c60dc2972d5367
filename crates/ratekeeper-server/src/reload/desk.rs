//! Work on whole sets of rules, beside the threads that answer.
//!
//! Invariant: only so many calls have a place here, with what they sent, and only so many of them compute at a time;
//! whoever comes beyond that is told so at once. A place is taken until its work is done, whoever has gone meanwhile.

use super::Rulebook;
use crate::config::Faults;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// Most calls about whole sets of rules at a time. Beyond it: 503.
pub const CALLS_MAX: usize = 16;

/// Most of them that compute at a time. Beyond it they wait.
const AT_WORK_MAX: usize = 2;

/// What a fault is of that a call brought.
const CALL: &str = "api";

/// Where calls about whole sets of rules are dealt with.
#[derive(Debug)]
pub(crate) struct Desk {
    places: Arc<Semaphore>,
    at_work: Arc<Semaphore>,
}

/// A place; a clone is the same place.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    own: Arc<OwnedSemaphorePermit>,
    at_work: Arc<Semaphore>,
}

impl Default for Desk {
    fn default() -> Desk {
        let [places, at_work] = [CALLS_MAX, AT_WORK_MAX].map(|most| Arc::new(Semaphore::new(most)));
        Desk { places, at_work }
    }
}

impl Desk {
    /// A place, if there is one.
    pub(crate) fn place(&self) -> Option<Place> {
        let own = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Place { own: Arc::new(own), at_work: Arc::clone(&self.at_work) })
    }
}

impl Place {
    /// Does what takes long where it holds nobody up; none if it failed.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let own = Arc::clone(&self.own);
        let turn = Arc::clone(&self.at_work).acquire_owned().await.ok()?;
        let work = move || {
            let _until_it_is_done = (own, turn);
            work()
        };
        spawn_blocking(work).await.ok()
    }
}

impl Rulebook {
    /// A place for a call about whole sets of rules, if there is one.
    pub(crate) fn place(&self) -> Option<Place> {
        self.desk.place()
    }

    /// Holds changes up, for tests.
    #[cfg(test)]
    pub(crate) async fn hold_changes(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// Notes why a call changed nothing whose caller could not wait for it.
    pub(crate) fn call_failed(&self, faults: &Faults) {
        self.note(CALL, faults);
    }

    /// Forgets it, since another has changed what is live.
    pub(crate) fn call_mended(&self) {
        self.mended(CALL);
    }
}
