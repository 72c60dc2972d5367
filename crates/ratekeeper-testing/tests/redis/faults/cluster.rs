//! A cluster that loses a master, or changes it: what its slots do, and that the others do not notice.
//!
//! Invariant: only keys whose server is away are without it.

use super::fleet::{BURST, Fault, Fleet, ms, turn};
use ratekeeper::Source;
use ratekeeper::outage::Class;
use ratekeeper_testing::load::History;
use ratekeeper_testing::servers::wire::Reply;
use ratekeeper_testing::servers::{Cluster, Kind};
use std::time::Duration;

/// Longer than such a busy machine keeps a call waiting: late answers would count as errors.
pub(super) const PATIENT: Duration = Duration::from_millis(100);

/// How long a server remembers a refusal.
const REMEMBERED: Duration = Duration::from_millis(250);

/// A key of which the buckets are on this master, and their names there.
pub(super) fn key_on(fleet: &Fleet, cluster: &Cluster, master: usize) -> (String, Vec<String>) {
    let found = (0..1_000).find_map(|number| {
        let key = format!("key {number}");
        for rule in ["open", "closed", "local"] {
            let rule = fleet.nodes[0].rule(rule).unwrap();
            let charged = fleet.runtime.block_on(async { rule.check(&key).cost(BURST).await });
            assert_ne!(charged.source(), Source::FailedOpen, "{:?}", fleet.witness);
        }
        let names = cluster.nodes[master].ask(&["KEYS", "rk:*"]).list();
        for node in cluster.masters() {
            node.ask(&["FLUSHALL"]);
        }
        (names.len() == 3).then(|| (key, names.iter().map(Reply::text).collect()))
    });
    // What was refused is remembered for so long, whoever has emptied the servers since.
    std::thread::sleep(REMEMBERED);
    found.expect("every master has some key")
}

/// Whether a server is a master, and another knows that it has slots.
fn promoted(cluster: &Cluster, node: usize) -> bool {
    let (node, other) = (&cluster.nodes[node], &cluster.nodes[1]);
    let known = other.text(&["CLUSTER", "NODES"]);
    let mut masters = known.lines().filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let has_slots = words.len() > 8 && words[2].contains("master");
        words.get(1).filter(|_| has_slots)?.split('@').next()
    });
    node.text(&["ROLE"]).starts_with("master")
        && node.text(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
        && masters.any(|address| address == node.address())
}

/// Three masters with a replica each. One that is gone is missed after two seconds: on a machine that
/// is busy with something else, those that are not would be missed sooner.
fn cluster() -> Cluster {
    Cluster::with(Kind::Redis, 3, 1, &["--cluster-node-timeout", "2000"])
}

/// Calls of other slots did well.
fn judge_others(fleet: &Fleet, others: &History) {
    fleet.judge(others, &Fault { time: ms(0)..ms(0), loses: false });
    let (all, without) = (others.calls.len(), others.count(|call| !call.is_stored()));
    assert!(all > 1_000 && without * 1_000 <= all, "{without} of {all}: {:?}", fleet.witness);
}

/// Goal: when a master is lost, its slots are without a store until its replica is promoted, and no
/// others.
/// Method: kill one of three under load on a key of it and a key of another.
#[test]
fn a_master_that_is_killed_takes_its_slots_along_until_its_replica_is_promoted() {
    let mut cluster = cluster();
    let _turn = turn();
    let fleet = Fleet::with(&cluster.url(), 3, PATIENT);
    fleet.wait_for_store();
    let (hit, _) = key_on(&fleet, &cluster, 0);
    let (other, _) = key_on(&fleet, &cluster, 1);
    let load = fleet.load(&[&hit, &other]);
    load.go_on(ms(1_000));
    let start = load.now();
    cluster.nodes[0].kill();
    cluster.nodes[3].wait_until("it is promoted", || promoted(&cluster, 3));
    let end = load.now();
    load.go_on(ms(3_500));
    let history = load.stop();
    let its = history.only(|call| call.key == hit);
    fleet.judge(&its, &Fault { time: start..end, loses: true });
    let during = its.only(|call| call.is_in(&(start + ms(300)..start + ms(1_500))));
    assert_eq!(during.count(|call| call.source == Source::Store), 0, "its slots are away");
    fleet.judge_recovery(&its, end, ms(2_000));
    assert!(end - start < ms(8_000) * 2, "promoted after {:?}", end - start);
    judge_others(&fleet, &history.only(|call| call.key == other));
    fleet.judge_classes(&[Class::Connection, Class::Unavailable, Class::Moved]);
}

/// Goal: when a replica takes over from a master that is well, nothing is counted twice or forgotten,
/// and its slots are back in half a second.
/// Method: `CLUSTER FAILOVER` under load on a key of the two and a key of another master.
#[test]
fn a_replica_that_takes_over_knows_what_was_counted() {
    let cluster = cluster();
    let _turn = turn();
    let fleet = Fleet::with(&cluster.url(), 3, PATIENT);
    fleet.wait_for_store();
    let (hit, _) = key_on(&fleet, &cluster, 0);
    let (other, _) = key_on(&fleet, &cluster, 1);
    let load = fleet.load(&[&hit, &other]);
    load.go_on(ms(1_500));
    let start = load.now();
    cluster.nodes[3].ask(&["CLUSTER", "FAILOVER"]);
    cluster.nodes[3].wait_until("it is promoted", || promoted(&cluster, 3));
    let end = load.now();
    load.go_on(ms(2_500));
    let history = load.stop();
    let its = history.only(|call| call.key == hit);
    fleet.judge(&its, &Fault { time: start..end, loses: false });
    fleet.judge_recovery(&its, end, ms(500) * 2);
    judge_others(&fleet, &history.only(|call| call.key == other));
}
