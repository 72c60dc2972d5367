//! The program's integration tests, in one binary: what it does on the wire, as a process, on the
//! command line, and in the README.
//!
//! Invariant: a test ends what it started, by its handle, and waits by polling with a deadline.

mod wire;
mod server;
mod program;
mod golden;

mod check_api;
mod turns;
mod permits;
mod holds;
mod holds_race;
mod bad_calls;
mod serve;
mod cli;
mod readme;
