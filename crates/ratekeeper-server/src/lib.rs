//! The program `ratekeeper`: one engine, the library `ratekeeper`, behind doors that anyone can ask.
//!
//! The modules are listed in the order in which a start and then a request meet them: what the user
//! wrote, the command that runs it, the rules, the connections, the door that turns bytes into a
//! question and a decision into bytes, what operators see of it, and the answer to a bad call. It is a
//! library only so that tests can start a server in their own process.
#![forbid(unsafe_code)]

pub mod app;
pub mod args;
pub mod command;
pub mod config;
pub mod demo;
pub mod decisions;
pub mod life;
mod node;
pub mod memory_file;
mod socket;
pub mod tls;
pub mod serve;
pub mod reload;
pub mod door;
pub mod admin;
#[cfg(feature = "console")]
mod console;
pub mod observe;
pub mod audit;
mod problem;
mod hex;
mod whole;
