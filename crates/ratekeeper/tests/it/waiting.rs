//! Waiting for a turn, or until it is time to ask again: nobody early, nobody late, nobody lost.
//!
//! Invariant: a waiter is polled when it is woken and at no other time, as a runtime would do, so
//! whoever is forgotten is missed here, too.

pub(crate) mod crowd;
mod shaped;

mod adversity;
mod cancelled;
mod keepers;
#[cfg(feature = "wait")]
mod paused;
mod refunded;
mod retried;
mod schedule;
mod told;
mod turns;
