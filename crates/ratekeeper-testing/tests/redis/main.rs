//! Real servers: the suite over all stores, races, faults.
//!
//! Invariant: each test starts the servers that it breaks, and ends them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop there")]

use ratekeeper_testing::servers::{Cluster, Kind, Sentinels, Server};

/// Goal: the servers that the other tests need can be had.
/// Method: start one of each.
#[test]
fn servers_start() {
    for kind in [Kind::Redis, Kind::Valkey] {
        let server = Server::start(kind);
        assert_eq!(server.text(&["PING"]), "PONG");
        let cluster = Cluster::start(kind, 3, 1);
        assert!(cluster.url().starts_with("redis-cluster://127.0.0.1:"));
        let sentinels = Sentinels::start(kind);
        assert!(sentinels.url().ends_with("/rk"));
    }
}
