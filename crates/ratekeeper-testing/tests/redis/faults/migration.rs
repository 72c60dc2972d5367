//! Slots that move from one master to another while their keys are charged.
//!
//! Invariant: a bucket is in one place at any time, and is found there.

use super::cluster::key_on;
use super::fleet::{Fault, Fleet, ms, turn};
use ratekeeper_testing::servers::wire::Reply;
use ratekeeper_testing::servers::{Cluster, Kind};

/// Moves a slot, as a program that spreads a cluster's load does, with load in each of its states.
fn migrate(cluster: &Cluster, slot: &str, from: usize, to: usize, pause: impl Fn()) {
    let (source, target) = (&cluster.nodes[from], &cluster.nodes[to]);
    let (source_id, target_id) = (cluster.id(from), cluster.id(to));
    target.ask(&["CLUSTER", "SETSLOT", slot, "IMPORTING", &source_id]);
    source.ask(&["CLUSTER", "SETSLOT", slot, "MIGRATING", &target_id]);
    pause();
    let port = target.port().to_string();
    loop {
        let names = source.ask(&["CLUSTER", "GETKEYSINSLOT", slot, "10"]).list();
        if names.is_empty() {
            break;
        }
        for name in names.iter().map(Reply::text) {
            source.ask(&["MIGRATE", "127.0.0.1", &port, &name, "0", "5000"]);
            pause();
        }
    }
    pause();
    for node in [target, source, &cluster.nodes[3 - from - to]] {
        node.ask(&["CLUSTER", "SETSLOT", slot, "NODE", &target_id]);
    }
}

/// Goal: while slots move, every call is answered by the store, and no bucket gives more than it may.
/// Method: move the slot of a key from one master to another under load, and on to a third, key by key;
/// with a deadline that no busy machine misses.
#[test]
fn slots_that_move_take_their_buckets_along() {
    let cluster = Cluster::start(Kind::Redis, 3, 0);
    let _turn = turn();
    let fleet = Fleet::with(&cluster.url(), 3, ms(1_000));
    fleet.wait_for_store();
    let (moves, names) = key_on(&fleet, &cluster, 0);
    let (stays, _) = key_on(&fleet, &cluster, 1);
    let slot = cluster.nodes[0].text(&["CLUSTER", "KEYSLOT", &names[0]]);
    let load = fleet.load(&[&moves, &stays]);
    load.go_on(ms(1_000));
    let start = load.now();
    migrate(&cluster, &slot, 0, 1, || load.go_on(ms(300)));
    load.go_on(ms(500));
    migrate(&cluster, &slot, 1, 2, || load.go_on(ms(300)));
    let end = load.now();
    load.go_on(ms(1_000));
    let history = load.stop();
    fleet.judge(&history, &Fault { time: start..end, loses: false });
    let without = history.count(|call| !call.is_stored());
    assert_eq!(without, 0, "{:?}", fleet.witness);
    for node in [0, 1, 2] {
        let here = cluster.nodes[node].text(&["CLUSTER", "COUNTKEYSINSLOT", &slot]);
        assert_eq!(here != "0", node == 2, "slot {slot} on server {node}: {here} keys");
    }
}
