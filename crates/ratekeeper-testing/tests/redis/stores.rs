//! The suite over all stores, what is particular to one of them, and races between processes.
//!
//! Invariant: each test starts its servers once, and ends them.

mod clocks;
mod ends;
mod logs;
mod race;
mod slots;
mod suite;
mod twins;

use std::future::Future;

/// Runs to its end on a runtime of its own.
fn run<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap().block_on(future)
}
