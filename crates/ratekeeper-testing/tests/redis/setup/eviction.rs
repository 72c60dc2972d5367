//! Servers that drop keys when their memory is full.
//!
//! Invariant: such a server is refused at the start, unless that was allowed.

use super::{config, refused, verify};
use ratekeeper::outage::Class;
use ratekeeper_testing::servers::{Cluster, Kind, Server};

const REPAIR: &str = "and with them what was counted; set it to noeviction, or allow eviction";

/// Goal: every policy but `noeviction` is refused, even with no bound on the memory, and taken if allowed.
/// Method: set each, and verify with and without leave, as a user and on Valkey.
#[tokio::test]
async fn a_server_that_drops_keys_is_refused_unless_allowed() {
    for kind in [Kind::Redis, Kind::Valkey] {
        let server = Server::start(kind);
        verify(config(&server.url())).await.unwrap();
        for policy in ["allkeys-lru", "volatile-ttl", "allkeys-random", "volatile-lfu"] {
            server.ask(&["CONFIG", "SET", "maxmemory-policy", policy]);
            let place = format!("`redis://{}/0`", server.address());
            let words = [&place, &format!("maxmemory-policy {policy}"), REPAIR];
            refused(config(&server.url()), Class::Config, &words).await;
            verify(config(&server.url()).allow_eviction()).await.unwrap();
        }
        server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
        verify(config(&server.url())).await.unwrap();
    }
}

/// Goal: a cluster is refused if one of its servers drops keys, and the error names that one.
/// Method: set the policy of the last of three.
#[tokio::test]
async fn a_cluster_with_one_server_that_drops_keys_is_refused() {
    let cluster = Cluster::start(Kind::Redis, 3, 0);
    verify(config(&cluster.url())).await.unwrap();
    let last = &cluster.nodes[2];
    last.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let place = format!("`redis://{}`", last.address());
    refused(config(&cluster.url()), Class::Config, &[&place, "allkeys-lru", REPAIR]).await;
    verify(config(&cluster.url()).allow_eviction()).await.unwrap();
}
