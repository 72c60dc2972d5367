//! The command line of `audit`.
//!
//! Invariant: as in the module above, it only says what was written.

use std::path::PathBuf;

pub(super) const AUDIT_EXAMPLES: &str = "\
A history has a line for each request: `id node key rule rule_version cost t_invoke t_complete outcome
source [retry_ns remaining]`, with times in nanoseconds of one clock; docs/audit.md has the details.
Exit codes: 0 every bound was kept, 1 some were not, 2 error.

Examples:
  ratekeeper audit history.txt --config ratekeeper.yaml
  ratekeeper audit history.txt --config ratekeeper.yaml --nodes 4 --json
  ratekeeper audit crowd.txt --same-as alone.txt --config ratekeeper.yaml";

/// `ratekeeper audit`.
#[derive(Clone, Debug, clap::Args)]
pub struct Audit {
    /// What became of every request, as the load generator wrote it down
    pub history: PathBuf,

    /// The rules that were live: a file, or a folder of files
    #[arg(long, value_name = "PATH", env = "RATEKEEPER_CONFIG", hide_env_values = true)]
    pub config: Option<PathBuf>,

    /// How many servers there were; as many as the file's `nodes` unless said, or 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub nodes: Option<u32>,

    /// Another history: keys that both have must be decided alike
    #[arg(long, value_name = "HISTORY")]
    pub same_as: Option<PathBuf>,

    /// Print the report in JSON
    #[arg(long)]
    pub json: bool,
}
