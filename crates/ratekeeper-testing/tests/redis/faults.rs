//! Faults: what limiters answer while the store does not, or answers amiss, and how they find back.
//!
//! The bounds on what is admitted are absolute. Times are those that the library promises, three times
//! over where they are latencies and twice where they are recoveries, since other tests run on the
//! same cores. Invariant: no more than one test at a time puts load on.

mod away;
mod breaker;
mod cluster;
mod data;
pub(crate) mod fleet;
mod migration;
mod refusing;
mod replies;
mod sentinel;
mod table;
