//! What a sliding log holds, for people who ask.
//!
//! Invariant: looking changes nothing.

use ratekeeper::limiter::Builder;
use ratekeeper::{Algorithm, Limit, Limiter, ManualClock, RedisConfig, Rule};
use ratekeeper_testing::servers::{Cluster, Kind, Server};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn shared(url: &str) -> Builder {
    let config: RedisConfig = url.parse().unwrap();
    Limiter::redis(config.deadline(5 * SECOND).forget_refusals())
}

/// Each entry, as seconds since a time, and units.
async fn entries(rule: &Rule, key: &str, most: usize, since: Duration) -> Option<Vec<(u64, u64)>> {
    let entries = rule.entries(key, most).await?;
    Some(entries.iter().map(|entry| ((entry.at - since).as_secs(), entry.cost)).collect())
}

/// Goal: the entries of a log are told as they were made, newest last, on every store, and no more than
/// were asked for.
/// Method: the same calls, five seconds apart, under a log of 20 seconds, in memory, on Redis, on Valkey and on a
/// cluster, with keys of several slots; whole lists, of all entries and of two; a refund, and the end of an entry.
#[tokio::test]
async fn logs_tell_their_entries_on_every_store() {
    let (redis, valkey) = (Server::start(Kind::Redis), Server::start(Kind::Valkey));
    let cluster = Cluster::start(Kind::Redis, 3, 0);
    let places =
        [Limiter::memory(), shared(&redis.url()), shared(&valkey.url()), shared(&cluster.url())];
    for (number, builder) in places.into_iter().enumerate() {
        let clock = ManualClock::new();
        let start = clock.now();
        let log = Limit::per(10, 20 * SECOND).algorithm(Algorithm::SlidingWindowLog);
        let builder = builder.clock(&clock).rule("log", log).unwrap();
        let limiter = builder.rule("bucket", "10/minute").unwrap().build();
        let rule = limiter.rule("log").unwrap();
        let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for cost in [3, 1, 4] {
            for key in keys {
                assert!(rule.check(key).cost(cost).await.is_allowed(), "place {number}");
            }
            clock.advance(5 * SECOND);
        }
        for key in keys {
            let told = entries(&rule, key, 100, start).await;
            assert_eq!(told, Some(vec![(0, 3), (5, 1), (10, 4)]), "place {number}");
            let newest = entries(&rule, key, 2, start).await;
            assert_eq!(newest, Some(vec![(5, 1), (10, 4)]), "place {number}");
            assert_eq!(rule.peek(key).await.remaining(), 2, "looking charges nothing");
        }
        let _ = rule.refund("a", 3).await;
        assert_eq!(entries(&rule, "a", 100, start).await, Some(vec![(0, 3), (5, 1), (10, 1)]));
        clock.advance(5 * SECOND);
        assert_eq!(entries(&rule, "a", 100, start).await, Some(vec![(5, 1), (10, 1)]));
        assert_eq!(entries(&rule, "nobody", 100, start).await, Some(Vec::new()));
        let bucket = limiter.rule("bucket").unwrap();
        assert_eq!(entries(&bucket, "a", 100, start).await, None, "it has no log");
    }
}

/// Goal: a store that is away has no entries to tell, and says so at once.
/// Method: end the server, and ask.
#[tokio::test]
async fn a_store_that_is_away_tells_no_entries() {
    let mut redis = Server::start(Kind::Redis);
    let log = Limit::per(10, 20 * SECOND).algorithm(Algorithm::SlidingWindowLog);
    let limiter = shared(&redis.url()).rule("log", log).unwrap().build();
    let rule = limiter.rule("log").unwrap();
    assert!(rule.check("a").await.is_allowed());
    assert_eq!(rule.entries("a", 9).await.unwrap().len(), 1);
    redis.kill();
    assert_eq!(rule.entries("a", 9).await, None);
}
