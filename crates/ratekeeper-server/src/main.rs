//! The program `ratekeeper`. Everything it does is in the library beside it.
#![forbid(unsafe_code)]

use clap::Parser;
use std::process::ExitCode;

// Without huge pages: clearing one holds a decision up for milliseconds, and connections would share them badly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ratekeeper_server::command::run(ratekeeper_server::args::Args::parse())
}
