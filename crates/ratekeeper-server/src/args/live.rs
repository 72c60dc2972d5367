//! The commands that look at live rules, and change them.
//!
//! Invariant: each takes the address of a server, and the token of administrators from a file, never from the command
//! line, where others would see it.

use super::URL_DEFAULT;
use clap::Subcommand;
use std::path::PathBuf;

pub(super) const RULES_EXAMPLES: &str = "\
Exit codes: 0 done, 1 `diff` found differences, 2 error. Rules that make no sense change nothing; each fault is a
line `path:line:column: fault; repair`.

Examples:
  ratekeeper rules show                              the rules that decide, as YAML
  ratekeeper rules diff ratekeeper.yaml              what a file would change
  ratekeeper rules apply ratekeeper.yaml             make it the next release
  ratekeeper rules apply rules/ --if-version 7       only if release 7 still decides
  ratekeeper rules history
  ratekeeper rules rollback 6                        the rules of release 6, as the next release";

pub(super) const SWITCH_EXAMPLES: &str = "\
A switch stands above overrides and releases, and survives both; `*` is for all rules that have none of their own.

Examples:
  ratekeeper switch set api off --for 1h --reason 'incident 42'
  ratekeeper switch set '*' shadow
  ratekeeper switch set api 10%
  ratekeeper switch list
  ratekeeper switch clear api";

/// Which server, and how its answer is told.
#[derive(Clone, Debug, clap::Args)]
pub struct Server {
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

/// Which server, and as whom.
#[derive(Clone, Debug, clap::Args)]
pub struct Remote {
    /// Which server.
    #[command(flatten)]
    pub server: Server,

    /// A file with the token of administrators, where the server asks for one
    #[arg(long, value_name = "FILE", env = "RATEKEEPER_TOKEN_FILE", hide_env_values = true)]
    pub token_file: Option<PathBuf>,
}

/// `ratekeeper rules`.
#[derive(Clone, Debug, Subcommand)]
pub enum Rules {
    /// Print the rules that decide
    Show {
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
    /// Make a rule file, or a folder of them, the next release
    Apply {
        /// A rule file, or a folder of them
        path: PathBuf,
        /// Only if this release still decides
        #[arg(long, value_name = "N")]
        if_version: Option<u64>,
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
    /// Print what a rule file, or a folder of them, would change
    Diff {
        /// A rule file, or a folder of them
        path: PathBuf,
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
    /// List the releases that the server keeps
    History {
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
    /// Make the rules of an earlier release the next one
    Rollback {
        /// The number of the release, as `history` lists it
        number: u64,
        /// Only if this release still decides
        #[arg(long, value_name = "N")]
        if_version: Option<u64>,
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
}

/// `ratekeeper switch`.
#[derive(Clone, Debug, Subcommand)]
pub enum Switch {
    /// Turn a rule, or all, to `off`, `shadow` or a percentage
    Set {
        /// The rule, or `*` for all
        rule: String,
        /// `off`, `shadow`, or a percentage such as `10%`
        rollout: String,
        /// For how long, such as `1h`; for good, unless said
        #[arg(long = "for", value_name = "TIME", conflicts_with = "until")]
        length: Option<String>,
        /// Until when, such as `2027-01-31T18:00:00Z`
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// Why, for people
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
    /// Turn a switch back: overrides and release decide again
    Clear {
        /// The rule, or `*` for all
        rule: String,
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
    /// List what is turned
    List {
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
}
