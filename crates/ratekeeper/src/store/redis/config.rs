//! Where the shared store is, and how to reach it: read from a URL.
//!
//! Invariant: whatever is shown of it, in errors, logs or by `Debug`, has its secrets masked.

#[cfg(feature = "sim")]
pub(crate) mod sim;
mod url;

use super::error::StoreError;
use std::fmt;
use std::time::Duration;

/// How long a decision waits for the store, unless said.
const DEADLINE: Duration = Duration::from_millis(15);

/// What every name in the store begins with, unless said.
const PREFIX: &str = "rk";

/// Longest prefix; names beyond 30 bytes take more memory.
const PREFIX_MAX: usize = 32;

/// A shared store: Redis or Valkey, one server, Sentinel or Cluster.
///
/// ```
/// use ratekeeper::RedisConfig;
///
/// let config: RedisConfig = "redis://user:secret@127.0.0.1:6379/0".parse()?;
/// assert_eq!(config.to_string(), "redis://user:***@127.0.0.1:6379/0");
/// # Ok::<(), ratekeeper::StoreError>(())
/// ```
#[derive(Clone)]
pub struct RedisConfig {
    pub(super) servers: Servers,
    pub(super) addresses: Vec<Address>,
    pub(super) tls: bool,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) db: u32,
    #[cfg_attr(not(feature = "redis-tls"), expect(dead_code, reason = "read by TLS alone"))]
    pub(super) ca: Option<Vec<u8>>,
    pub(super) prefix: String,
    pub(super) deadline: Duration,
    pub(crate) key_secret: Option<Vec<u8>>,
    pub(crate) nodes: Option<u32>,
    pub(super) allow_eviction: bool,
    pub(crate) forget_refusals: bool,
    #[cfg(feature = "sim")]
    pub(super) simulated: sim::Simulated,
}

/// What the addresses are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Servers {
    One,
    Cluster,
    /// Sentinels, which know the master of this name.
    Sentinel(String),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl RedisConfig {
    /// Reads a URL: `redis://user:password@host:6379/0`, `redis-cluster://a:6379,b:6379` or
    /// `redis-sentinel://s1:26379,s2:26379/mymaster/0`; with `rediss` instead of `redis`, over TLS.
    pub fn new(url: &str) -> Result<RedisConfig, StoreError> {
        url::read(url).map_err(|fault| StoreError::config(&url::masked(url), &fault))
    }

    /// The password, where it is not in the URL.
    pub fn password(self, password: &str) -> RedisConfig {
        RedisConfig { password: Some(password.to_owned()), ..self }
    }

    /// The certificates, as PEM, by which the server's is known; otherwise those of the system.
    pub fn ca(self, pem: &[u8]) -> RedisConfig {
        RedisConfig { ca: Some(pem.to_vec()), ..self }
    }

    /// Whether it makes sense, as far as can be known without a server: certificates can be read.
    pub fn check(&self) -> Result<(), StoreError> {
        #[cfg(feature = "redis-tls")]
        if self.tls {
            let roots = super::tls::roots(self);
            roots.map_err(|fault| StoreError::config(&self.to_string(), &fault))?;
        }
        Ok(())
    }

    /// What every name in the store begins with, `rk` unless said: up to 32 letters, digits, `-`, `_`,
    /// `.` or `:`.
    pub fn prefix(self, prefix: &str) -> Result<RedisConfig, StoreError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if prefix.is_empty() || prefix.len() > PREFIX_MAX || !prefix.chars().all(plain) {
            let fault = format!(
                "`{}` is not a prefix; write 1 to {PREFIX_MAX} letters, digits, `-`, `_`, `.` or `:`",
                prefix.chars().take(PREFIX_MAX).collect::<String>().escape_debug()
            );
            return Err(StoreError::config(&self.to_string(), &fault));
        }
        Ok(RedisConfig { prefix: prefix.to_owned(), ..self })
    }

    /// How long a decision waits for the store, 15 ms unless said, at least 1 ms. What takes longer is
    /// an outage, and the rule's policy decides.
    pub fn deadline(self, deadline: Duration) -> RedisConfig {
        let bounds = (Duration::from_millis(1), Duration::from_secs(60));
        RedisConfig { deadline: deadline.clamp(bounds.0, bounds.1), ..self }
    }

    /// Hides who is counted from who can read the store: names are hashes under this secret, the same
    /// on every server. Another secret starts all buckets afresh.
    pub fn key_secret(self, secret: &[u8]) -> RedisConfig {
        RedisConfig { key_secret: Some(secret.to_vec()), ..self }
    }

    /// How many servers share the store, for what each may admit by itself while it is away. If it is
    /// not said, they count themselves through the store.
    pub fn nodes(self, nodes: u32) -> RedisConfig {
        RedisConfig { nodes: Some(nodes.max(1)), ..self }
    }

    /// Takes a server that may drop keys when its memory is full, and with them what was counted.
    pub fn allow_eviction(self) -> RedisConfig {
        RedisConfig { allow_eviction: true, ..self }
    }

    /// Asks the store each time, also for what it refused a moment ago. What another server gives back then shows at
    /// once, not within a quarter of a second, and whoever keeps asking for what there is not keeps the store busy.
    pub fn forget_refusals(self) -> RedisConfig {
        RedisConfig { forget_refusals: true, ..self }
    }

    /// One of the servers, as a URL, its password masked.
    pub(super) fn at(&self, address: &Address) -> String {
        let scheme = if self.tls { "rediss" } else { "redis" };
        format!("{scheme}://{}{address}", self.login())
    }

    fn login(&self) -> String {
        match (self.user.as_deref().map(url::encoded), &self.password) {
            (Some(user), Some(_)) => format!("{user}:***@"),
            (Some(user), None) => format!("{user}@"),
            (None, Some(_)) => ":***@".into(),
            (None, None) => String::new(),
        }
    }

    fn scheme(&self) -> &'static str {
        match (&self.servers, self.tls) {
            (Servers::One, false) => "redis",
            (Servers::One, true) => "rediss",
            (Servers::Cluster, false) => "redis-cluster",
            (Servers::Cluster, true) => "rediss-cluster",
            (Servers::Sentinel(_), false) => "redis-sentinel",
            (Servers::Sentinel(_), true) => "rediss-sentinel",
        }
    }
}

impl std::str::FromStr for RedisConfig {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<RedisConfig, StoreError> {
        RedisConfig::new(url)
    }
}

impl TryFrom<&str> for RedisConfig {
    type Error = StoreError;

    fn try_from(url: &str) -> Result<RedisConfig, StoreError> {
        RedisConfig::new(url)
    }
}

/// The URL, its password masked.
impl fmt::Display for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme(), self.login())?;
        let addresses: Vec<String> = self.addresses.iter().map(Address::to_string).collect();
        f.write_str(&addresses.join(","))?;
        match &self.servers {
            Servers::One => write!(f, "/{}", self.db),
            Servers::Cluster => Ok(()),
            Servers::Sentinel(name) => write!(f, "/{}/{}", url::encoded(name), self.db),
        }
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisConfig").field(&self.to_string()).finish()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}
