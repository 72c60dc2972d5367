//! Real servers: the suite over all stores, races, faults, how a store is set up.
//!
//! Invariant: each test starts the servers that it breaks, and ends them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop there")]

mod abandoned;
mod faults;
mod fleet;
mod held;
mod live;
mod moving;
mod near;
mod program;
mod regions;
mod releases;
mod setup;
mod stores;
