//! How a store is set up, checked before the first decision.
//!
//! Invariant: what passes can do our work: each server has carried a charge out.

use super::Redis;
use super::error::StoreError;
use super::topology::Topology;
use redis::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How long the checks at the start may take.
const VERIFY: Duration = Duration::from_secs(3);

impl Redis {
    /// Connects, and checks how the servers are set up.
    pub(crate) async fn verify(&self) -> Result<(), StoreError> {
        self.config.check()?;
        let deadline = Instant::now() + VERIFY;
        for link in self.topology.links(deadline).await? {
            let answer = link.call(&::redis::cmd("INFO"), false, deadline).await?;
            let text = match &answer {
                Value::BulkString(text) => String::from_utf8_lossy(text),
                _ => return Err(self.unreadable()),
            };
            let value = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                line.map(str::trim)
            };
            if let Some(fault) = self.fault_of(value) {
                return Err(StoreError::config(&link.place(), &fault));
            }
            link.prove(deadline).await?;
        }
        Ok(())
    }

    /// What is wrong with a server that says this of itself.
    fn fault_of<'t>(&self, value: impl Fn(&str) -> Option<&'t str>) -> Option<String> {
        if value("role") == Some("slave") {
            return Some(
                "is a replica, which takes no charges; name the master, or its sentinels".into(),
            );
        }
        let alone = matches!(self.topology, Topology::One(_));
        if alone && value("cluster_enabled") == Some("1") {
            return Some(
                "is part of a cluster; write redis-cluster:// with some of its servers".into(),
            );
        }
        match value("maxmemory_policy") {
            Some("noeviction") => None,
            _ if self.config.allow_eviction => None,
            Some(policy) => Some(format!(
                "drops keys when its memory is full (maxmemory-policy {policy}), and with them what was \
                 counted; set it to noeviction, or allow eviction"
            )),
            None => Some(
                "does not say whether it drops keys; let the user run INFO, or allow eviction"
                    .into(),
            ),
        }
    }
}
