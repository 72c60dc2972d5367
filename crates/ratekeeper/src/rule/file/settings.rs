//! What a rule file says about the server, besides rules.
//!
//! Invariant: no password is shown by `Debug`.

mod gateway;

pub use gateway::{AccessLog, Auth, Gateway, Route, Scheme, Timeouts, Upstream};

use std::fmt;
use std::time::Duration;

/// What a rule file says about the server. Files that it names are named as they are there: relative to
/// the rule file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Where buckets are kept.
    pub store: Store,
    /// Most keys of the store in memory, if that is said.
    pub memory_keys: Option<usize>,
    /// Where the server listens.
    pub listen: Listen,
    /// The file with the token of administrators.
    pub admin_token_file: Option<String>,
    /// How Envoy speaks to its listener.
    pub grpc: Secured,
    /// How Redis clients speak to theirs.
    pub resp: Secured,
    /// The folder of what survives a restart.
    pub state_dir: Option<String>,
    /// The size of the fleet, if that is said.
    pub nodes: Option<u32>,
    /// The region of this server; regions are applied to limits already.
    pub region: Option<String>,
    /// Whether rules come from Redis, and the file only seeds them.
    pub rules_from_redis: bool,
    /// The file of switches.
    pub switch_file: Option<String>,
    /// The gateway.
    pub gateway: Option<Gateway>,
}

/// Where buckets are kept.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Store {
    /// In this process.
    #[default]
    Memory,
    /// In Redis or Valkey.
    Url {
        /// Where it is, perhaps with a password.
        url: String,
        /// The file with the password.
        password_file: Option<String>,
        /// The file with the certificates by which the server's is known.
        ca: Option<String>,
        /// What names in the store begin with.
        prefix: Option<String>,
        /// How long a decision waits for it.
        deadline: Option<Duration>,
    },
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Store::Memory => f.write_str("Memory"),
            Store::Url { url, password_file, ca, prefix, deadline } => f
                .debug_struct("Url")
                .field("url", &masked(url))
                .field("password_file", password_file)
                .field("ca", ca)
                .field("prefix", prefix)
                .field("deadline", deadline)
                .finish(),
        }
    }
}

/// A URL without its login, and without what may be part of one.
fn masked(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "***".into() };
    let (login, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => ("***@", rest),
        None => ("", rest),
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{login}{rest}")
}

/// What keeps strangers from a listener.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secured {
    /// The file with the password that clients have to know.
    pub password_file: Option<String>,
    /// The files of its certificate and of the key.
    pub tls: Option<(String, String)>,
}

/// Where the server listens, each as `address:port`; a listener left out stays closed, `api` excepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listen {
    /// The check API.
    pub api: Option<String>,
    /// Console and admin, if not there, too.
    pub admin: Option<String>,
    /// Envoy's rate limit service.
    pub grpc: Option<String>,
    /// Redis' protocol.
    pub resp: Option<String>,
}
