//! Real Redis clients before the real program: `redis-cli`, `redis-benchmark`, and the usual clients of five languages.
//!
//! Invariant: each test starts a server of its own on free ports of loopback, and ends it; nothing runs without a
//! deadline.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on stops there")]

mod certificate;
mod cli;
mod languages;
mod load;
mod page;
mod places;
mod rust;
mod secrets;
mod server;
mod shell;
mod throttles;
