//! The command line: every command and every flag, each documented here and nowhere else.
//!
//! Invariant: this module only says what was written. What it means, and whether it can be done, is
//! the command's business.

use crate::door::COST_MAX;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Where the server listens unless told.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:8080";

/// Where the commands that ask a server look for it unless told.
pub const URL_DEFAULT: &str = "http://127.0.0.1:8080";

/// Where the state is unless told.
pub const STORE_DEFAULT: &str = "memory";

const EXAMPLES: &str = "\
Examples:
  ratekeeper serve                      start a server with demo rules
  ratekeeper check token-bucket alice   ask it whether alice may pass";

const SERVE_EXAMPLES: &str = "\
The store is this process's memory, or shared by many servers:
  redis://[user:password@]host[:6379][/0]          Redis or Valkey
  redis-cluster://a:6379,b:6379                    a cluster
  redis-sentinel://s1:26379,s2:26379/mymaster      the master that sentinels know
  rediss://…, rediss-cluster://…, rediss-sentinel://…   the same over TLS

Examples:
  ratekeeper serve
  ratekeeper serve --store redis://127.0.0.1:6379/0
  ratekeeper serve --listen 127.0.0.1:9090
  ratekeeper serve --listen 127.0.0.1:0     any free port; the address is printed";

const CHECK_EXAMPLES: &str = "\
Exit codes: 0 allowed, 1 refused, 2 error. A peek is always allowed.

Examples:
  ratekeeper check token-bucket alice
  ratekeeper check token-bucket alice --cost 3
  ratekeeper check token-bucket alice --peek --json
  ratekeeper check fixed-window alice /exports     a key of two parts";

/// Exact rate limits that any service can ask for.
#[derive(Clone, Debug, Parser)]
#[command(name = "ratekeeper", version, after_help = EXAMPLES)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Start a server: demo rules, HTTP, state in memory or in Redis
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Ask a running server for one decision, and charge it
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
}

/// `ratekeeper serve`.
#[derive(Clone, Debug, clap::Args)]
pub struct Serve {
    /// Address and port to listen on; port 0 takes any free one
    #[arg(
        long,
        value_name = "ADDR",
        env = "RATEKEEPER_LISTEN",
        hide_env_values = true,
        default_value = LISTEN_DEFAULT
    )]
    pub listen: String,

    /// Where the state is: `memory`, or the URL of a store that many servers share
    #[arg(
        long,
        value_name = "URL",
        env = "RATEKEEPER_STORE",
        hide_env_values = true,
        default_value = STORE_DEFAULT
    )]
    pub store: String,

    /// A file with the store's password, where it is not in the URL
    #[arg(long, value_name = "FILE")]
    pub store_password_file: Option<PathBuf>,

    /// A file with the certificates, in PEM, by which the store's own is known
    #[arg(long, value_name = "FILE")]
    pub store_ca: Option<PathBuf>,

    /// Take a store that may drop keys when its memory is full
    #[arg(long)]
    pub store_allow_eviction: bool,
}

/// `ratekeeper check`.
#[derive(Clone, Debug, clap::Args)]
pub struct Check {
    /// The rule to ask
    pub rule: String,

    /// Who is counted: one part or several, such as a user and a route
    #[arg(required = true)]
    pub key: Vec<String>,

    /// Units that the request takes, 0 to 4294967296; 0 is a peek
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = cost,
        allow_negative_numbers = true,
        conflicts_with = "peek"
    )]
    pub cost: u64,

    /// Show the figures and charge nothing
    #[arg(long)]
    pub peek: bool,

    /// The server to ask
    #[arg(
        long,
        value_name = "URL",
        env = "RATEKEEPER_URL",
        hide_env_values = true,
        default_value = URL_DEFAULT
    )]
    pub url: String,

    /// Print the server's answer as it came, in JSON
    #[arg(long)]
    pub json: bool,
}

fn cost(text: &str) -> Result<u64, String> {
    let found = text.parse().ok().filter(|cost| *cost <= COST_MAX);
    found.ok_or_else(|| format!("write a whole number from 0 to {COST_MAX}"))
}
