//! Calls that wait at the same moment go together.
//!
//! Invariant: each is told its own answer, in the order in which they were asked.

use super::{PATIENT, builder, scripts};
use futures_util::future::join_all;
use ratekeeper::{Algorithm, Limit, Rule, Source};
use ratekeeper_testing::servers::{Cluster, Kind, Server};
use std::time::Duration;
use tokio::time::timeout;

/// Units that lie between what the keys have used: so each answer shows whose it is.
const APART: u64 = 1_000_000;

async fn rule(url: &str, limit: ratekeeper::LimitBuilder) -> Rule {
    let limiter = builder(url).rule("rule", limit).unwrap().build();
    // So that scripts are known, and the connection is there.
    let rule = limiter.rule("rule").unwrap();
    assert_eq!(rule.check("nobody").await.source(), Source::Store);
    rule
}

/// Goal: what waits at the same moment shares script calls on one server.
/// Method: hold the server's answers while 600 requests come; count the scripts that it runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_at_the_same_moment_shares_scripts() {
    let server = Server::start(Kind::Redis);
    let rule = rule(&server.url(), Limit::per_day(10)).await;
    let before = scripts(&server);
    server.ask(&["CLIENT", "PAUSE", "500", "ALL"]);
    let keys: Vec<String> = (0..600).map(|number| format!("key {number}")).collect();
    let told = join_all(keys.iter().map(|key| rule.check(key).into_future())).await;
    assert!(told.iter().all(|own| own.is_allowed() && own.remaining() == 9));
    let ran = scripts(&server) - before;
    // Two at once, then 64 at a time; some may have gone before the server was held.
    assert!((10..=200).contains(&ran), "{ran} scripts for 600 requests");
}

/// Goal: the order of requests of one key is kept, wherever they go together, also with others between.
/// Method: 300 requests of one key at once, of which 100 fit, among as many of others; on a server and a
/// cluster: the first hundred are admitted, each told one less, and no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_of_a_key_is_kept() {
    let server = Server::start(Kind::Redis);
    let cluster = Cluster::start(Kind::Redis, 3, 0);
    for url in [server.url(), cluster.url()] {
        let rule = rule(&url, Limit::per_day(100)).await;
        let key = |number: usize| match number % 2 {
            0 => "alice".to_owned(),
            _ => format!("key {number}"),
        };
        let keys: Vec<String> = (0..600).map(key).collect();
        let told = join_all(keys.iter().map(|key| rule.check(key).into_future())).await;
        let alice: Vec<_> = told.iter().step_by(2).collect();
        for (number, own) in alice.iter().enumerate() {
            assert_eq!(own.is_allowed(), number < 100, "{url}, {number}: {own:?}");
            assert_eq!(own.remaining(), 99_u64.saturating_sub(number as u64), "{url}, {number}");
        }
        assert!(told.iter().skip(1).step_by(2).all(|own| own.remaining() == 99), "{url}");
    }
}

/// Goal: every answer reaches who asked, whoever else goes away meanwhile, and nobody is disturbed.
/// Method: keys that have used amounts far apart, so that an answer shows whose it is; each asked over and over, two of
/// three times by somebody who gives up after a random moment, also while connections are killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_reaches_its_own_asker() {
    let server = Server::start(Kind::Redis);
    let years = Limit::per(1_000 * APART, Duration::from_secs(3_650 * 86_400));
    let rule = rule(&server.url(), years.algorithm(Algorithm::FixedWindow)).await;
    let keys = 100_u64;
    for number in 0..keys {
        let told = rule.check(format!("key {number}")).cost(number * APART + 1).await;
        assert!(told.is_allowed(), "{told:?}");
    }
    let ask = |number: u64| {
        let rule = rule.clone();
        async move {
            let (key, mut answered) = (format!("key {number}"), 0_u64);
            for turn in 0..300_u64 {
                let patience = match (number * 31 + turn * 17) % 3 {
                    0 => PATIENT,
                    _ => Duration::from_micros((number * 7_919 + turn * 104_729) % 2_000),
                };
                let Ok(told) = timeout(patience, rule.check(&key).into_future()).await else {
                    continue;
                };
                if told.source() == Source::FailedOpen {
                    // A connection was lost, or the breaker is open for a moment.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    continue;
                }
                let used = told.limit() - told.remaining();
                assert_eq!(used / APART, number, "an answer of another: {told:?}");
                answered += 1;
            }
            answered
        }
    };
    let tasks: Vec<_> = (0..keys).map(|number| tokio::spawn(ask(number))).collect();
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    }
    for task in tasks {
        let answered = task.await.unwrap();
        assert!(answered >= 50, "{answered} answers of those who were patient");
    }
}

/// Goal: a key that holds something else refuses alone, among others that go with it.
/// Method: spoil one of many keys; ask for all at once, while the server is held so that they go together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spoilt_key_refuses_alone() {
    let server = Server::start(Kind::Redis);
    let rule = rule(&server.url(), Limit::per_day(10)).await;
    assert!(rule.check("key 7").await.is_allowed());
    let names = server.ask(&["KEYS", "rk:*"]).list();
    assert_eq!(names.len(), 2, "nobody's and this one: {names:?}");
    for name in names {
        let script = "redis.call('DEL', KEYS[1]); return redis.call('LPUSH', KEYS[1], 'x')";
        server.ask(&["EVAL", script, "1", &name.text()]);
    }
    server.ask(&["CLIENT", "PAUSE", "100", "ALL"]);
    let keys: Vec<String> = (0..200).map(|number| format!("key {number}")).collect();
    let told = join_all(keys.iter().map(|key| rule.check(key).into_future())).await;
    for (number, own) in told.iter().enumerate() {
        assert_eq!(own.is_allowed(), number != 7, "{number}: {own:?}");
    }
}
