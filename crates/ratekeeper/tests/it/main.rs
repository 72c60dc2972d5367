//! The integration tests of the library, in one binary.
//!
//! Invariant: no test sleeps or reads a clock of its own; time is a number, a `ManualClock`, or
//! tokio's, paused. Nothing is compared with itself: what is expected is written down, or comes from
//! the oracle.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop there")]

mod one_key;

mod docs;
#[cfg(feature = "tower")]
mod examples;
mod fields;
mod holding;
mod identity;
mod laws;
mod limits;
mod limiter;
mod matching;
mod mistakes;
#[cfg(feature = "redis")]
mod shared;
mod store;
mod waiting;
