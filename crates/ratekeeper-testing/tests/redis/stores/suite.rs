//! Every law over every store.
//!
//! Invariant: a law that does not hold is named, with its store.

use ratekeeper_testing::conformance::{Place, uphold};
use ratekeeper_testing::servers::{Cluster, Kind, Sentinels, Server};

fn one(name: &str, kind: Kind) {
    let server = Server::start(kind);
    uphold(&Place::shared(name, &server.url(), &[server.port()]));
}

fn cluster(name: &str, replicas: usize) {
    let cluster = Cluster::start(Kind::Redis, 3, replicas);
    let ports: Vec<u16> = cluster.masters().iter().map(Server::port).collect();
    uphold(&Place::shared(name, &cluster.url(), &ports));
}

/// Goal: memory keeps the laws of all stores.
/// Method: each law, with figures that are written down or the oracle's.
#[test]
fn memory_keeps_the_laws() {
    uphold(&Place::Memory);
}

/// Goal: one Redis 7 keeps the laws.
/// Method: the same laws, on a server.
#[test]
fn redis_keeps_the_laws() {
    one("Redis", Kind::Redis);
}

/// Goal: one Valkey 9 keeps the laws.
/// Method: the same laws, on a server.
#[test]
fn valkey_keeps_the_laws() {
    one("Valkey", Kind::Valkey);
}

/// Goal: a cluster keeps the laws, though the keys of one request are in different places.
/// Method: the same laws, on three masters.
#[test]
fn a_cluster_keeps_the_laws() {
    cluster("a cluster of three", 0);
}

/// Goal: a cluster with replicas keeps the laws: nothing is asked of those.
/// Method: the same laws, on three masters with a replica each.
#[test]
fn a_cluster_with_replicas_keeps_the_laws() {
    cluster("a cluster of three with replicas", 1);
}

/// Goal: the master that sentinels know keeps the laws.
/// Method: the same laws, by way of three sentinels.
#[test]
fn a_master_behind_sentinels_keeps_the_laws() {
    let sentinels = Sentinels::start(Kind::Redis);
    let ports = [sentinels.servers[0].port()];
    uphold(&Place::shared("sentinels", &sentinels.url(), &ports));
}
