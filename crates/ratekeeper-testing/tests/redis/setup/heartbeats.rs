//! Servers that count themselves through the store, for the share of each while it is away.
//!
//! Invariant: a server that is gone is not counted for longer than ten seconds.

use super::{config, until};
use ratekeeper::{Limiter, OnStoreFailure, Rule, Source};
use ratekeeper_testing::servers::{Kind, Server};
use std::time::Duration;

/// An amount that three do not divide.
const AMOUNT: u64 = 100;

/// A limiter as each server of a fleet has it: nobody said how many they are.
fn node(server: &Server) -> Rule {
    let config = config(&server.url()).deadline(Duration::from_millis(200));
    let limiter = Limiter::redis(config).rule("api", "100/hour").unwrap();
    let limiter = limiter.on_store_failure("api", OnStoreFailure::Local).unwrap().build();
    limiter.rule("api").unwrap()
}

/// What each of them may admit by itself: asked while the server hangs, which then goes on.
async fn shares(server: &Server, nodes: &[Rule]) -> Vec<u64> {
    server.signal("STOP");
    let mut shares = Vec::new();
    for node in nodes {
        let decision = node.peek("alice").await;
        assert_eq!(decision.source(), Source::Local);
        shares.push(decision.limit());
    }
    server.signal("CONT");
    for node in nodes {
        let back = async || node.peek("alice").await.source() == Source::Store;
        until("the server answers again", back).await;
    }
    shares
}

/// The keys by which servers are counted: those that end within ten seconds, as no bucket here does.
/// There is no key without an end.
fn counted(server: &Server) -> usize {
    let keys = server.ask(&["KEYS", "*"]).list();
    let ends = keys.iter().map(|key| server.ask(&["PTTL", &key.text()]).number());
    let ends: Vec<i64> = ends.collect();
    assert!(ends.iter().all(|end| *end != -1), "{ends:?}");
    ends.iter().filter(|end| (0..=10_000).contains(*end)).count()
}

/// Goal: three servers that were each asked once know that they are three; when the store dies, each
/// has a third of the limit, rounded up; what they count by ends by itself.
/// Method: ask each; wait until each knows; ask again; look at the key; kill the server; use each share up.
#[tokio::test]
async fn three_servers_have_a_third_each() {
    let mut server = Server::start(Kind::Redis);
    let nodes = [node(&server), node(&server), node(&server)];
    for node in &nodes {
        assert_eq!(node.check("alice").await.source(), Source::Store);
    }
    until("all know of three", async || shares(&server, &nodes).await == [34; 3]).await;
    for node in &nodes {
        assert_eq!(node.check("bob").await.source(), Source::Store);
    }
    assert_eq!(counted(&server), 1);
    server.kill();
    for node in &nodes {
        // One unit was used while the store was there, and charged to the share.
        let mut admitted = 1;
        while node.check("bob").await.is_allowed() {
            admitted += 1;
            assert!(admitted <= AMOUNT, "no end of it");
        }
        assert_eq!(admitted, AMOUNT.div_ceil(3));
    }
}

/// Goal: servers that are gone are not counted any more after their ten seconds.
/// Method: three that know of each other; drop two, and wait until the third has all of the limit.
#[tokio::test]
async fn servers_that_are_gone_are_forgotten() {
    let server = Server::start(Kind::Redis);
    let mut nodes = vec![node(&server), node(&server), node(&server)];
    for node in &nodes {
        assert_eq!(node.check("alice").await.source(), Source::Store);
    }
    until("all know of three", async || shares(&server, &nodes).await == [34; 3]).await;
    nodes.truncate(1);
    until("one is left", async || shares(&server, &nodes).await == [AMOUNT]).await;
    assert_eq!(counted(&server), 1);
}

/// Goal: a server that joins is counted; each region, which has a store of its own, counts only its own.
/// Method: two servers in one region, one in the other; then one more joins the first.
#[tokio::test]
async fn regions_count_apart_and_who_joins_is_counted() {
    let (eu, us) = (Server::start(Kind::Redis), Server::start(Kind::Redis));
    let (mut in_eu, in_us) = (vec![node(&eu), node(&eu)], [node(&us)]);
    for node in in_eu.iter().chain(&in_us) {
        assert_eq!(node.check("alice").await.source(), Source::Store);
    }
    until("they know of two", async || shares(&eu, &in_eu).await == [50; 2]).await;
    assert_eq!(shares(&us, &in_us).await, [AMOUNT]);
    in_eu.push(node(&eu));
    assert_eq!(in_eu[2].check("alice").await.source(), Source::Store);
    until("they know of three", async || shares(&eu, &in_eu).await == [34; 3]).await;
    assert_eq!(shares(&us, &in_us).await, [AMOUNT]);
}
