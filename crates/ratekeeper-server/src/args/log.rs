//! The flags of the log.
//!
//! Invariant: as for all flags, this only says what was written.

use crate::observe::logs::{Format, Level};

/// How the log is written.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Log {
    /// How the log on standard error is written; for people on a terminal, else JSON, unless said
    #[arg(
        long = "log-format",
        value_name = "FORMAT",
        env = "RATEKEEPER_LOG_FORMAT",
        hide_env_values = true
    )]
    pub format: Option<Format>,

    /// From which level on the log is written
    #[arg(
        long = "log-level",
        value_name = "LEVEL",
        env = "RATEKEEPER_LOG_LEVEL",
        hide_env_values = true,
        default_value = "info"
    )]
    pub level: Level,
}
