//! A slot on its way from one server of a cluster to another: keys of one request may be in two places.
//!
//! Invariant: every decision is the store's, and never more is admitted than the limit.

use ratekeeper::{Limit, Limiter, RedisConfig, Source};
use ratekeeper_testing::servers::{Cluster, Kind};
use std::time::Duration;

/// Puts the slot of `key` on its way, with nothing in it.
fn on_its_way(cluster: &Cluster, key: &str) {
    let slot = cluster.nodes[0].text(&["CLUSTER", "KEYSLOT", key]);
    let holds = |node: &usize| {
        cluster.nodes[*node].ask(&["CLUSTER", "COUNTKEYSINSLOT", &slot]).number() > 0
    };
    let from = (0..3).find(holds).unwrap();
    let to = (from + 1) % 3;
    cluster.nodes[from].ask(&["FLUSHALL"]);
    let (source, target) = (cluster.id(from), cluster.id(to));
    cluster.nodes[to].ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source]);
    cluster.nodes[from].ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target]);
}

/// The name of a key that is somewhere in the cluster.
fn any_key(cluster: &Cluster) -> String {
    let keys = cluster.nodes.iter().flat_map(|node| node.ask(&["KEYS", "rk:*"]).list());
    keys.map(|key| key.text()).next().unwrap()
}

/// Goal: a rule with two limits, and a permit by name, are decided by the store also while their slot is
/// on its way and their keys are new.
/// Method: make the names known, empty the slot and put it on its way; then ask until the limit refuses,
/// and release what was taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_keys_of_a_slot_on_its_way_are_charged_one_by_one() {
    let cluster = Cluster::start(Kind::Redis, 3, 0);
    let config: RedisConfig = cluster.url().parse().unwrap();
    let rates = ["5/day", "100/day"].map(|text| text.parse::<Limit>().unwrap());
    let permits = Limit::concurrent(4).build().unwrap();
    let builder = Limiter::redis(config.deadline(Duration::from_secs(5)).forget_refusals());
    let limiter = builder
        .rule("api", [rates[0], rates[1]])
        .and_then(|builder| builder.rule("exports", permits))
        .unwrap()
        .build();
    let (api, exports) = (limiter.rule("api").unwrap(), limiter.rule("exports").unwrap());
    assert!(api.check("alice").await.is_atomic());
    on_its_way(&cluster, &any_key(&cluster));

    let first = api.check("alice").await;
    assert_eq!((first.source(), first.remaining()), (Source::Store, 4), "{first:?}");
    assert!(!first.is_atomic(), "each key by itself");
    let mut admitted = 1;
    for _ in 0..7 {
        let next = api.check("alice").await;
        assert_eq!(next.source(), Source::Store, "{next:?}");
        admitted += u32::from(next.is_allowed());
    }
    assert_eq!(admitted, 5);

    let permit = exports.check("alice").cost(3).await;
    assert_eq!((permit.source(), permit.remaining()), (Source::Store, 1), "{permit:?}");
    assert!(exports.check("alice").cost(2).await.is_refused());
    assert!(limiter.release(permit.permit().unwrap()).await);
    assert_eq!(exports.peek("alice").await.remaining(), 4);
}
