//! How many connections each address has.
//!
//! Invariant: who opens many keeps nobody else out. An address of IPv6 counts with its whole network, since
//! one subscriber has so many.

use std::collections::HashMap;
use std::net::IpAddr;
use tokio::task::{Id, JoinError};

/// Bits of an address of IPv6 that one subscriber cannot choose.
const IPV6_PREFIX: u8 = 64;

/// The connections that are open, by address.
pub(super) struct Crowd {
    most: usize,
    counts: HashMap<IpAddr, usize>,
    by_task: HashMap<Id, IpAddr>,
}

impl Crowd {
    pub(super) fn new(most: usize) -> Crowd {
        Crowd { most, counts: HashMap::new(), by_task: HashMap::new() }
    }

    /// Whether an address has as many as it may have.
    pub(super) fn is_full(&self, peer: IpAddr) -> bool {
        self.counts.get(&network(peer)).is_some_and(|count| *count >= self.most)
    }

    /// Notes the task of a connection.
    pub(super) fn enter(&mut self, task: Id, peer: IpAddr) {
        let peer = network(peer);
        self.by_task.insert(task, peer);
        *self.counts.entry(peer).or_default() += 1;
    }

    /// Notes that a task has ended.
    pub(super) fn leave(&mut self, ended: Result<(Id, ()), JoinError>) {
        let task = ended.map_or_else(|error| error.id(), |(task, ())| task);
        let Some(peer) = self.by_task.remove(&task) else { return };
        if let Some(count) = self.counts.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&peer);
            }
        }
    }
}

/// What an address counts as.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    ratekeeper::identity::network(address, IPV6_PREFIX)
}
