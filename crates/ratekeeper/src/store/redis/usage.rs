//! What servers say of themselves, for metrics.
//!
//! Invariant: what a server does not tell counts as nothing; asking changes nothing.

use super::Redis;
use crate::store::redis::StoreError;
use redis::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How long asking may take.
const DEADLINE: Duration = Duration::from_millis(250);

/// What the servers of a shared store hold, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreUsage {
    /// Bytes that they have taken, with everything else that they hold.
    pub memory_bytes: u64,
    /// Keys that they dropped because their memory was full.
    pub evicted_keys: u64,
}

impl Redis {
    /// Whether calls to any server are not made for now, because it failed.
    pub(crate) fn is_open(&self) -> bool {
        self.topology.is_open()
    }

    /// Asks all servers what they hold.
    pub(crate) async fn usage(&self) -> Result<StoreUsage, StoreError> {
        let deadline = Instant::now() + DEADLINE;
        let mut usage = StoreUsage::default();
        for link in self.topology.links(deadline).await? {
            let answer = link.call(&::redis::cmd("INFO"), false, deadline).await?;
            let Value::BulkString(text) = answer else { return Err(self.unreadable()) };
            let text = String::from_utf8_lossy(&text);
            usage.memory_bytes = usage.memory_bytes.saturating_add(figure(&text, "used_memory:"));
            usage.evicted_keys = usage.evicted_keys.saturating_add(figure(&text, "evicted_keys:"));
        }
        Ok(usage)
    }
}

fn figure(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::figure;

    /// Goal: a figure is that of its own line.
    /// Method: names that begin like others, and figures that are none.
    #[test]
    fn figures_are_those_of_their_lines() {
        let text = "used_memory_human:1K\r\nused_memory:1024\r\nevicted_keys:many\r\n";
        assert_eq!(figure(text, "used_memory:"), 1024);
        assert_eq!(figure(text, "evicted_keys:"), 0);
        assert_eq!(figure(text, "used:"), 0);
    }
}
