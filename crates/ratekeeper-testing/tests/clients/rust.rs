//! redis-rs, the crate: typed replies, pipelines, and many connections at once.
//!
//! Invariant: replies are read by the client's own types.

use crate::server::Server;
use redis::aio::MultiplexedConnection;
use redis::{Client, cmd, pipe};
use std::sync::Arc;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

type Reply = (i64, i64, i64, i64, i64, i64, String, Option<String>);

/// Clients that race, checks of each, and how many are admitted.
const RACERS: usize = 20;
const EACH: usize = 10;
const LIMIT: i64 = 50;

fn client(server: &Server, options: &str) -> Client {
    Client::open(format!("redis://127.0.0.1:{}/{options}", server.port)).unwrap()
}

async fn check(connection: &mut MultiplexedConnection, rule: &str, key: &str) -> Reply {
    cmd("RK.CHECK").arg(rule).arg(key).query_async(connection).await.unwrap()
}

/// Goal: a reply is one tuple of numbers and texts, in either version of the protocol, with a permit and without.
/// Method: one connection of redis-rs that many tasks share, for each version.
#[tokio::test(flavor = "multi_thread")]
async fn redis_rs_reads_replies_as_tuples() {
    let rules = "rules: [{id: api, key: user, limit: 3/minute}, {id: jobs, key: user, limit: 1 concurrent}]";
    for options in ["?protocol=resp2", "?protocol=resp3"] {
        let server = Server::new(rules);
        let mut connection =
            client(&server, options).get_multiplexed_async_connection().await.unwrap();
        let first = check(&mut connection, "api", "ann").await;
        assert_eq!(first, (1, 3, 2, -1, 20_000, -1, "store".into(), None));
        let mut tasks = JoinSet::new();
        for _ in 0..10 {
            let mut connection = connection.clone();
            tasks.spawn(async move { check(&mut connection, "api", "bob").await.0 });
        }
        assert_eq!(tasks.join_all().await.into_iter().sum::<i64>(), 3);
        let permit = check(&mut connection, "jobs", "ann").await.7.unwrap();
        assert_eq!(check(&mut connection, "jobs", "ann").await.0, 0);
        let freed: i64 = cmd("RK.RELEASE").arg(permit).query_async(&mut connection).await.unwrap();
        assert_eq!(freed, 1);
    }
}

/// Goal: what is sent together is decided in order, in one pass.
/// Method: pipelines of a blocking connection: more checks than are decided at a time, and two throttles so close that
/// the wait is all of 0.9 s, which is told as a second.
#[test]
fn redis_rs_sends_pipelines_that_are_decided_in_order() {
    let server = Server::new("rules: [{id: api, key: user, limit: 200/day}]");
    let mut connection = client(&server, "").get_connection().unwrap();
    let mut checks = pipe();
    for _ in 0..300 {
        checks.cmd("RK.CHECK").arg("api").arg("ann");
    }
    let replies: Vec<Reply> = checks.query(&mut connection).unwrap();
    let left: Vec<i64> =
        replies.iter().take_while(|reply| reply.0 == 1).map(|reply| reply.2).collect();
    assert_eq!(left, (0..200).rev().collect::<Vec<i64>>());
    assert!(replies[200..].iter().all(|reply| reply.0 == 0));

    let mut throttles = pipe();
    throttles.cmd("THROTTLE").arg(("ann", 1, 10, 9)).cmd("THROTTLE").arg(("ann", 1, 10, 9));
    let replies: [[i64; 5]; 2] = throttles.query(&mut connection).unwrap();
    assert_eq!(replies, [[1, 1, 0, 1, 0], [0, 1, 0, 1, 1]]);
}

/// Goal: clients that race on one key get what the limit admits, no more and no less.
/// Method: twenty connections of redis-rs, let go at once by a barrier.
#[tokio::test(flavor = "multi_thread")]
async fn twenty_clients_that_race_get_exactly_the_limit() {
    let server = Server::new(&format!("rules: [{{id: api, key: user, limit: {LIMIT}/day}}]"));
    let barrier = Arc::new(Barrier::new(RACERS));
    let mut racers = JoinSet::new();
    for _ in 0..RACERS {
        let (client, barrier) = (client(&server, ""), barrier.clone());
        racers.spawn(async move {
            let mut connection = client.get_multiplexed_async_connection().await.unwrap();
            barrier.wait().await;
            let mut admitted = 0;
            for _ in 0..EACH {
                admitted += check(&mut connection, "api", "ann").await.0;
            }
            admitted
        });
    }
    assert_eq!(racers.join_all().await.into_iter().sum::<i64>(), LIMIT);
}
