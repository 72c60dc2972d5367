//! Where a request goes, and where it goes next if the answer says so.
//!
//! Invariant: a request is sent a second time only where the first answer proves that it was not
//! carried out.

use super::call::{Call, Texts, Told};
use super::cluster::{Cluster, Prober};
use super::config::{RedisConfig, Servers};
use super::error::{Again, Class, StoreError};
use super::link::Link;
use super::name::Tag;
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

    /// Makes a call, together with others that wait.
    pub(super) async fn ask(&self, call: Call) -> Result<Told, StoreError> {
        let (tag, deadline) = (call.tag, call.deadline);
        let link = self.link(tag, deadline).await?;
        let (call, error) = match link.ask(call).await {
            (_, Ok(told)) => return Ok(told),
            (call, Err(error)) => (call, error),
        };
        let (link, asking) = self.elsewhere(link, tag, error, deadline).await?;
        // It comes back with every error that asks for another try.
        let call = call.ok_or_else(|| link.late())?;
        link.ask_alone(&call, asking).await
    }

    /// Runs a script whose keys have this tag, by itself.
    pub(super) async fn run(
        &self,
        tag: Tag,
        texts: &Texts<'_>,
        deadline: Instant,
    ) -> Result<Value, StoreError> {
        let link = self.link(tag, deadline).await?;
        let first = {
            let _room = link.enter(deadline).await?;
            link.run(texts, (false, true), deadline, 1).await
        };
        let Err(error) = first else { return first };
        let (link, asking) = self.elsewhere(link, tag, error, deadline).await?;
        let _room = link.enter(deadline).await?;
        link.run(texts, (asking, true), deadline, 1).await
    }

    /// Where a call goes next after an error, and whether its slot is only on its way there; the error if nowhere.
    async fn elsewhere(
        &self,
        link: Arc<Link>,
        tag: Tag,
        error: StoreError,
        deadline: Instant,
    ) -> Result<(Arc<Link>, bool), StoreError> {
        let asking = error.class() == Class::Ask;
        match (error.class().policy().retry, self) {
            (Again::There, Topology::Cluster(cluster)) => {
                let to = error.redirection().ok_or_else(|| error.clone())?;
                Ok((cluster.follow(to, (!asking).then(|| tag.slot()))?, asking))
            }
            (Again::Soon, _) => {
                sleep(Duration::from_millis(1)).await;
                Ok((link, false))
            }
            (Again::Resolved, Topology::Cluster(cluster)) => {
                cluster.refresh();
                Ok((self.link(tag, deadline).await?, false))
            }
            (Again::Resolved, Topology::One(_)) => Ok((link, false)),
            (_, Topology::Cluster(cluster)) => {
                cluster.refresh();
                Err(error)
            }
            (_, Topology::One(_)) => Err(error),
        }
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
