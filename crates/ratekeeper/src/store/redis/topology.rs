//! Where a request goes, and where it goes next if the answer says so.
//!
//! Invariant: a request is sent a second time only where the first answer proves that it was not
//! carried out.

use super::cluster::{Cluster, Prober};
use super::config::{RedisConfig, Servers};
use super::error::{Again, Class, StoreError};
use super::link::Link;
use super::name::Tag;
use super::script::Script;
use redis::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

pub(super) enum Topology {
    /// One server, or the master that sentinels know.
    One(Arc<Link>),
    Cluster(Arc<Cluster>),
}

impl Topology {
    pub(super) fn new(config: &Arc<RedisConfig>, prober: Prober) -> Topology {
        if config.servers == Servers::Cluster {
            return Topology::Cluster(Cluster::new(config, prober));
        }
        let link = Link::new(config, None);
        link.probe_with(prober(config, Tag::of(0)));
        Topology::One(link)
    }

    /// Whether buckets of these two are decided by one script.
    pub(super) fn together(&self, one: Tag, other: Tag) -> bool {
        matches!(self, Topology::One(_)) || one.slot() == other.slot()
    }

    /// Runs a script whose keys have this tag.
    pub(super) async fn run(
        &self,
        tag: Tag,
        script: &Script,
        (keys, args): (&[Vec<u8>], &[Vec<u8>]),
        deadline: Instant,
    ) -> Result<Value, StoreError> {
        let mut link = self.link(tag, deadline).await?;
        let first = link.run(script, (keys, args), false, deadline).await;
        let Err(error) = first else { return first };
        let asking = error.class() == Class::Ask;
        match error.class().policy().retry {
            Again::There => {
                let Topology::Cluster(cluster) = self else { return Err(error) };
                let to = error.redirection().ok_or_else(|| error.clone())?;
                link = cluster.follow(to, (!asking).then(|| tag.slot()))?;
            }
            Again::Soon => sleep(Duration::from_millis(1)).await,
            Again::Resolved => {
                if let Topology::Cluster(cluster) = self {
                    cluster.refresh();
                    link = self.link(tag, deadline).await?;
                }
            }
            Again::No | Again::Unsent | Again::Whole => {
                if let Topology::Cluster(cluster) = self {
                    cluster.refresh();
                }
                return Err(error);
            }
        }
        link.run(script, (keys, args), asking, deadline).await
    }

    /// Every server that holds buckets.
    pub(super) async fn links(&self, deadline: Instant) -> Result<Vec<Arc<Link>>, StoreError> {
        match self {
            Topology::One(link) => Ok(vec![Arc::clone(link)]),
            Topology::Cluster(cluster) => cluster.links(deadline).await,
        }
    }

    /// Whether calls to any of the servers are not made for now.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Topology::One(link) => link.is_open(),
            Topology::Cluster(cluster) => cluster.is_open(),
        }
    }

    async fn link(&self, tag: Tag, deadline: Instant) -> Result<Arc<Link>, StoreError> {
        match self {
            Topology::One(link) => Ok(Arc::clone(link)),
            Topology::Cluster(cluster) => cluster.link(tag.slot(), deadline).await,
        }
    }
}
