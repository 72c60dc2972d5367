//! The command line: every command and every flag, each documented here and nowhere else.
//!
//! Invariant: this module only says what was written. What it means, and whether it can be done, is
//! the command's business.

mod audit;
mod connections;
mod keys;
mod live;
mod log;

pub use audit::Audit;
pub use connections::Connections;
pub use keys::{ApiKey, ApiKeyNew, Key, Which, Why};
pub use live::{Remote, Rules, Server, Switch};
pub use log::Log;

use crate::door::COST_MAX;
use audit::AUDIT_EXAMPLES;
use clap::{Parser, Subcommand};
use keys::{KEY_EXAMPLES, WHY_EXAMPLES};
use live::{RULES_EXAMPLES, SWITCH_EXAMPLES};
use std::net::IpAddr;
use std::path::PathBuf;

/// Where the server listens unless told.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:8080";

/// Where the commands that ask a server look for it unless told.
pub const URL_DEFAULT: &str = "http://127.0.0.1:8080";

/// Where the state is unless told.
pub const STORE_DEFAULT: &str = "memory";

/// What `init` writes unless told.
pub const INIT_DEFAULT: &str = "ratekeeper.yaml";

const EXAMPLES: &str = "\
Examples:
  ratekeeper serve                             start a server with demo rules
  ratekeeper check token-bucket alice          ask it whether alice may pass
  ratekeeper init                              write a rule file to start from
  ratekeeper serve --config ratekeeper.yaml    start a server with its rules";

const SERVE_EXAMPLES: &str = "\
The store is this process's memory, or shared by many servers:
  redis://[user:password@]host[:6379][/0]          Redis or Valkey
  redis-cluster://a:6379,b:6379                    a cluster
  redis-sentinel://s1:26379,s2:26379/mymaster      the master that sentinels know
  rediss://…, rediss-cluster://…, rediss-sentinel://…   the same over TLS

A folder is read as one file: its files that end in `.yaml`, `.yml` or `.json`, in order of name. Files
that they name, such as API keys, go beside a single file, or into a folder inside this one.

Examples:
  ratekeeper serve
  ratekeeper serve --config ratekeeper.yaml
  ratekeeper serve --store redis://127.0.0.1:6379/0
  ratekeeper serve --listen 127.0.0.1:9090
  ratekeeper serve --listen 127.0.0.1:0     any free port; the address is printed";

const CHECK_EXAMPLES: &str = "\
Exit codes: 0 allowed, 1 refused, 2 error. A peek is always allowed.

Examples:
  ratekeeper check token-bucket alice
  ratekeeper check token-bucket alice --cost 3
  ratekeeper check token-bucket alice --peek --json
  ratekeeper check api alice --tier pro            by the limits of that tier
  ratekeeper check fixed-window alice /exports     a key of two parts";

const VALIDATE_EXAMPLES: &str = "\
Exit codes: 0 fine, 2 not. Each fault is a line `path:line:column: fault; repair`.

Examples:
  ratekeeper validate ratekeeper.yaml
  ratekeeper validate rules/ --json";

const EXPLAIN_EXAMPLES: &str = "\
The rules are those of the file, with no state: what is left is what a new caller has. Nothing is charged.
Exit codes: 0 explained, 1 the request would be answered with 400, 2 error.

Examples:
  ratekeeper explain GET /api/users --config ratekeeper.yaml
  ratekeeper explain POST /login --ip 192.0.2.7 -H 'X-Api-Key: k1' --config ratekeeper.yaml
  ratekeeper explain GET /api/users --user alice --tier pro --config ratekeeper.yaml --json";

const INIT_EXAMPLES: &str = "\
A file that is there already is never changed.

Examples:
  ratekeeper init
  ratekeeper init conf/limits.yaml";

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
    /// Start a server: the rules of a file or demo rules, HTTP, state in memory or in Redis
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Write a commented rule file to start from
    #[command(after_help = INIT_EXAMPLES)]
    Init(Init),
    /// Ask a running server for one decision, and charge it
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Check),
    /// Read a rule file, or a folder of them, and tell every fault with its repair
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(Validate),
    /// Tell which rules a request meets, which key, which limit, and why
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// What a key of a running server has left; its reset, and limits of its own
    #[command(subcommand, after_help = KEY_EXAMPLES)]
    Key(Key),
    /// Tell why a running server refused somebody
    #[command(after_help = WHY_EXAMPLES)]
    Why(Why),
    /// API keys, which a rule file knows by their hashes
    #[command(subcommand)]
    ApiKey(ApiKey),
    /// Look at the rules of a running server, and change them
    #[command(subcommand, after_help = RULES_EXAMPLES)]
    Rules(Rules),
    /// Turn rules off, into shadow or on, on a running server, whatever its release says
    #[command(subcommand, after_help = SWITCH_EXAMPLES)]
    Switch(Switch),
    /// Prove that a recorded history kept every bound of its rules, or tell where it did not
    #[command(after_help = AUDIT_EXAMPLES)]
    Audit(Audit),
}

/// `ratekeeper serve`.
#[derive(Clone, Debug, clap::Args)]
pub struct Serve {
    /// The rules: a file, or a folder of files; without, demo rules
    #[arg(long, value_name = "PATH", env = "RATEKEEPER_CONFIG", hide_env_values = true)]
    pub config: Option<PathBuf>,

    /// Address and port to listen on instead of the config's, or of 127.0.0.1:8080; port 0 takes any
    /// free one
    #[arg(long, value_name = "ADDR", env = "RATEKEEPER_LISTEN", hide_env_values = true)]
    pub listen: Option<String>,

    /// Where the state is instead of the config's `store`: `memory`, or the URL of a store that many
    /// servers share
    #[arg(long, value_name = "URL", env = "RATEKEEPER_STORE", hide_env_values = true)]
    pub store: Option<String>,

    /// A file with the store's password, where it is not in the URL
    #[arg(long, value_name = "FILE")]
    pub store_password_file: Option<PathBuf>,

    /// A file with the certificates, in PEM, by which the store's own is known
    #[arg(long, value_name = "FILE")]
    pub store_ca: Option<PathBuf>,

    /// Take a store that may drop keys when its memory is full
    #[arg(long)]
    pub store_allow_eviction: bool,

    /// Connections.
    #[command(flatten)]
    pub connections: Connections,

    /// Say where it listens, and by which rules, as one line of JSON, and nothing else
    #[arg(long)]
    pub json: bool,

    /// The log.
    #[command(flatten)]
    pub log: Log,
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

    /// The tier whose limits apply; the first of the rule file unless said
    #[arg(long, value_name = "TIER")]
    pub tier: Option<String>,

    /// Show the figures and charge nothing
    #[arg(long)]
    pub peek: bool,

    /// Which server.
    #[command(flatten)]
    pub server: Server,
}

/// `ratekeeper init`.
#[derive(Clone, Debug, clap::Args)]
pub struct Init {
    /// The file to write
    #[arg(default_value = INIT_DEFAULT)]
    pub path: PathBuf,

    /// Say what was written in JSON
    #[arg(long)]
    pub json: bool,
}

/// `ratekeeper validate`.
#[derive(Clone, Debug, clap::Args)]
pub struct Validate {
    /// A rule file, or a folder of them
    pub path: PathBuf,

    /// Print the result in JSON
    #[arg(long)]
    pub json: bool,
}

/// `ratekeeper explain`.
#[derive(Clone, Debug, clap::Args)]
pub struct Explain {
    /// The method of the request
    pub method: String,

    /// The path of the request, such as /api/users
    pub path: String,

    /// A header field of the request; several are several of these
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,

    /// The address at the other end of the connection; one that is nobody's unless said
    #[arg(long, value_name = "ADDR")]
    pub ip: Option<IpAddr>,

    /// The host that is asked for
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,

    /// The user, as if the application had authenticated it
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,

    /// The tier, as if the application knew it
    #[arg(long, value_name = "TIER")]
    pub tier: Option<String>,

    /// The rules: a file, or a folder of files
    #[arg(long, value_name = "PATH", env = "RATEKEEPER_CONFIG", hide_env_values = true)]
    pub config: Option<PathBuf>,

    /// Print the explanation in JSON
    #[arg(long)]
    pub json: bool,
}

fn cost(text: &str) -> Result<u64, String> {
    let found = text.parse().ok().filter(|cost| *cost <= COST_MAX);
    found.ok_or_else(|| format!("write a whole number from 0 to {COST_MAX}"))
}
