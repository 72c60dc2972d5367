//! The commands about keys: what somebody has left, why it was refused, and keys of an API.
//!
//! Invariant: as for all remote commands, the token comes from a file.

use super::Remote;
use clap::Subcommand;

pub(super) const KEY_EXAMPLES: &str = "\
A key is written as the rule counts it: one value for each part, such as a user and a route.

Examples:
  ratekeeper key peek login 192.0.2.7 --entries
  ratekeeper key reset login 192.0.2.7
  ratekeeper key override api acme --limit 5000/minute --until 2027-01-01 --reason migration
  ratekeeper key override api acme --clear";

pub(super) const WHY_EXAMPLES: &str = "\
The name of a decision is in the header field `X-Ratekeeper-Decision` of a refusal, and in the member `id` of
its answer. The server that refused keeps the last ones.

Examples:
  ratekeeper why 01KDVDNA00BPBC9E03660HVSNF";

pub(super) const API_KEY_EXAMPLES: &str = "\
Examples:
  ratekeeper api-key new --owner acme --tier pro
  ratekeeper api-key new --owner acme --json";

/// `ratekeeper key`.
#[derive(Clone, Debug, Subcommand)]
pub enum Key {
    /// Print what a key has left; nothing is charged
    Peek {
        /// Which key.
        #[command(flatten)]
        which: Which,
        /// Print what its sliding log holds, too
        #[arg(long)]
        entries: bool,
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
    /// Forget what a key has used
    Reset {
        /// Which key.
        #[command(flatten)]
        which: Which,
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
    /// Give a key limits of its own, or take them back
    Override {
        /// The rule
        rule: String,
        /// Who is counted: one part or several
        #[arg(required = true)]
        key: Vec<String>,
        /// The limit, such as `5000/minute`; several are several of these
        #[arg(long, value_name = "LIMIT", required_unless_present = "clear")]
        limit: Vec<String>,
        /// Until when, such as `2027-01-01`; for good, unless said
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// Why, for people
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Take the limits of its own back
        #[arg(long, conflicts_with_all = ["limit", "until", "reason"])]
        clear: bool,
        /// Which server.
        #[command(flatten)]
        remote: Remote,
    },
}

/// A key under a rule.
#[derive(Clone, Debug, clap::Args)]
pub struct Which {
    /// The rule
    pub rule: String,

    /// Who is counted: one part or several, such as a user and a route
    #[arg(required = true)]
    pub key: Vec<String>,

    /// The tier whose limits apply; the first of the rule file unless said
    #[arg(long, value_name = "TIER")]
    pub tier: Option<String>,
}

/// `ratekeeper why`.
#[derive(Clone, Debug, clap::Args)]
pub struct Why {
    /// The name of the decision
    pub id: String,

    /// Which server.
    #[command(flatten)]
    pub remote: Remote,
}

/// What to do with an API key.
#[derive(Clone, Debug, Subcommand)]
pub enum ApiKey {
    /// Make a key, print it once, and print the entry that the file of keys takes for it
    #[command(after_help = API_KEY_EXAMPLES)]
    New(ApiKeyNew),
}

/// `ratekeeper api-key new`.
#[derive(Clone, Debug, clap::Args)]
pub struct ApiKeyNew {
    /// Whose it is: the user that rules count
    #[arg(long, value_name = "USER")]
    pub owner: String,

    /// The owner's tier
    #[arg(long, value_name = "TIER")]
    pub tier: Option<String>,

    /// The name of the key, which is no secret; made up unless said
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,

    /// Print key and entry in JSON
    #[arg(long)]
    pub json: bool,
}
