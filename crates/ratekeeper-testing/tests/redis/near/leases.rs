//! Shares that servers take from the store and spend by themselves.
//!
//! Invariant: no more is admitted than the limit and a share for each server.

use super::{builder, config};
use ratekeeper::rule::Consistency;
use ratekeeper::{Algorithm, Limit, Limiter, ManualClock, Rule, Source};
use ratekeeper_testing::servers::{Cluster, Kind, Server};
use std::time::Duration;
use tokio::time::sleep;

const DAY: Duration = Duration::from_secs(86_400);

/// A limit of which hardly anything comes back while a test runs; a window of it does not end.
fn limit(algorithm: Algorithm, amount: u64) -> ratekeeper::LimitBuilder {
    let period = if algorithm.is_bucket() { DAY * 30 } else { DAY * 3_650 };
    Limit::per(amount, period).algorithm(algorithm)
}

fn leased(url: &str, nodes: u32, algorithm: Algorithm, amount: u64) -> Limiter {
    let built =
        Limiter::redis(config(url).nodes(nodes)).rule(algorithm.name(), limit(algorithm, amount));
    built.unwrap().consistency(algorithm.name(), Consistency::Leased).unwrap().build()
}

/// Asks one by one until refused: how many were admitted, and how many of them without the store.
async fn use_up(rule: &Rule, key: &str) -> (u64, u64) {
    let (mut admitted, mut leased) = (0, 0);
    loop {
        let told = rule.check(key).await;
        if told.is_refused() {
            return (admitted, leased);
        }
        assert!(matches!(told.source(), Source::Store | Source::Lease), "{told:?}");
        admitted += 1;
        leased += u64::from(told.source() == Source::Lease);
    }
}

/// Goal: a server alone admits exactly the limit, most of it without the store, under every algorithm that leases.
/// Method: use 2000 up, one by one, on a server and a cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_admits_exactly_the_limit() {
    let server = Server::start(Kind::Redis);
    let cluster = Cluster::start(Kind::Redis, 3, 0);
    for url in [server.url(), cluster.url()] {
        for algorithm in Algorithm::ALL {
            let limiter = leased(&url, 1, algorithm, 2_000);
            let rule = limiter.rule(algorithm.name()).unwrap();
            let (mut admitted, mut leased) = use_up(&rule, "alice").await;
            // What was taken ahead and not spent comes back within two seconds.
            for _ in 0..40 {
                if admitted == 2_000 {
                    break;
                }
                sleep(Duration::from_millis(100)).await;
                let more = use_up(&rule, "alice").await;
                (admitted, leased) = (admitted + more.0, leased + more.1);
            }
            assert_eq!(admitted, 2_000, "{algorithm}");
            assert!(leased > 1_000, "{algorithm}: {leased} by leases");
        }
    }
}

/// Goal: what was taken ahead and not spent is given back by a server that ends, all of it.
/// Method: ask often enough to hold a share; end; what is left is what was not used, to the unit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_spent_is_given_back_at_the_end() {
    let server = Server::start(Kind::Redis);
    let plain = builder(&server.url());
    let plain = Algorithm::ALL.into_iter().fold(plain, |built, algorithm| {
        built.rule(algorithm.name(), limit(algorithm, 10_000)).unwrap()
    });
    let plain = plain.build();
    for algorithm in Algorithm::ALL {
        let limiter = leased(&server.url(), 1, algorithm, 10_000);
        let rule = limiter.rule(algorithm.name()).unwrap();
        let looks = plain.rule(algorithm.name()).unwrap();
        for number in 1..=700 {
            let told = rule.check("alice").await;
            assert!(told.is_allowed());
            assert!(told.remaining() <= 10_000 - number, "a lower bound: {number}, {told:?}");
        }
        let held = looks.peek("alice").await.remaining();
        assert!(held < 9_300, "{algorithm}: something is held, {held} are left");
        limiter.drain().await;
        assert_eq!(looks.peek("alice").await.remaining(), 9_300, "{algorithm}");
        assert!(rule.check("alice").await.is_allowed(), "it still answers");
        assert_eq!(looks.peek("alice").await.remaining(), 9_299, "{algorithm}: and takes no more");
    }
}

/// Goal: what was not spent when its time is over is given back, and spent no more.
/// Method: hold a share; wait for its end, by looking; then use up what there is: exactly the limit in all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_spent_in_its_time_comes_back() {
    let server = Server::start(Kind::Redis);
    let limiter = leased(&server.url(), 1, Algorithm::FixedWindow, 1_000);
    let rule = limiter.rule("fixed_window").unwrap();
    for _ in 0..100 {
        assert!(rule.check("alice").await.is_allowed());
    }
    let held = rule.peek("alice").await.remaining();
    assert!(held < 900, "{held}");
    for _ in 0..100 {
        if rule.peek("alice").await.remaining() == 900 {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(rule.peek("alice").await.remaining(), 900);
}

/// Goal: a share ends a second after it was asked for, or at the window's edge, and is not spent then; by this server's
/// clock alone, so that one that stood still does not spend it either.
/// Method: time by hand, which leaps to the end of what is held; near the edge of a window, and far from it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_ends_with_its_time() {
    let server = Server::start(Kind::Redis);
    // Half a second before the edge of a minute, and far from it.
    for (start, lasts) in [(59_500, 500_000), (10_000, 1_000_000)] {
        let clock =
            ManualClock::at(Duration::from_secs(1_800_000_000) + Duration::from_millis(start));
        let name = format!("edge-{lasts}");
        let limit = Limit::per_minute(10_000).algorithm(Algorithm::FixedWindow);
        let built = Limiter::redis(config(&server.url()).nodes(1)).clock(&clock).rule(&name, limit);
        let built = built.unwrap().consistency(&name, Consistency::Leased).unwrap().build();
        let rule = built.rule(&name).unwrap();
        let mut leased = 0;
        for _ in 0..100 {
            leased += u64::from(rule.check("alice").await.source() == Source::Lease);
        }
        assert!(leased > 50, "{leased} of 100");
        clock.advance(Duration::from_micros(lasts));
        assert_eq!(rule.check("alice").await.source(), Source::Store);
    }
}

/// Goal: a rule that leases hot keys alone asks the store for the others, and says what it may admit beyond.
/// Method: a key once in a while and one all the time; the bound for four servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_hot_keys_are_leased_where_that_is_asked_for() {
    let server = Server::start(Kind::Redis);
    let clock = ManualClock::new();
    let built = Limiter::redis(config(&server.url()).nodes(4)).clock(&clock);
    let built =
        built.rule("auto", Limit::per_minute(10_000)).unwrap().rule("exact", "9/day").unwrap();
    let built = built.consistency("auto", Consistency::Auto).unwrap().build();
    let auto = built.rule("auto").unwrap();
    for _ in 0..90 {
        assert_eq!(auto.check("bob").await.source(), Source::Store);
    }
    let mut leased = 0;
    for _ in 0..400 {
        leased += u64::from(auto.check("alice").await.source() == Source::Lease);
    }
    assert!(leased > 200, "{leased} of 400");
    assert_eq!(built.overshoot(), [("auto".into(), 4 * 125)], "5 % of 10 000, for four");
}
