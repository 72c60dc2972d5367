//! The program's integration tests, in one binary: what it does on the wire, as a process, on the
//! command line, and in the README.
//!
//! Invariant: a test ends what it started, by its handle, and waits by polling with a deadline.

mod wire;
mod server;
mod program;
mod golden;
mod folder;
mod listening;
mod live;

mod check_api;
mod turns;
mod permits;
mod holds;
mod holds_race;
mod bad_calls;
mod requests;
mod resp;
mod rls;
mod bad_requests;
mod any_body;
mod authorize;
mod serve;
mod connections;
mod http2;
mod tls;
mod start;
mod life;
mod cli;
mod config;
mod admin;
mod admin_log;
mod api_key;
mod callers;
mod keys;
mod validate;
mod explain;
mod init;
mod audit;
mod readme;
mod observe;
mod logs;
#[cfg(feature = "otel")]
mod traces;
mod console;
mod playground;
mod stream;
mod document;
mod operations;
mod live_files;
mod live_links;
mod live_named;
mod live_calls;
mod live_bad;
mod live_load;
mod live_many;
mod live_switches;
mod live_restart;
mod live_state;
mod live_commands;
mod live_docs;
mod gateway;
