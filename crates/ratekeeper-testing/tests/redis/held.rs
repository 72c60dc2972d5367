//! Permits that somebody holds: renewed for as long, whoever else comes, and no longer.
//!
//! Invariant: time is the server's own here, and short; what is asserted holds however slow the machine is.

use ratekeeper::{Limit, Limiter, RedisConfig, Rule};
use ratekeeper_testing::servers::{Kind, Server};
use std::time::Duration;
use tokio::time::{Instant, sleep};

fn limiter(redis: &Server, rules: &[(&str, u64, Duration)]) -> Limiter {
    let config: RedisConfig = redis.url().parse().unwrap();
    let mut builder = Limiter::redis(config.deadline(Duration::from_secs(5)));
    for (name, amount, hold) in rules {
        builder = builder.rule(name, Limit::concurrent(*amount).hold(*hold)).unwrap();
    }
    builder.build()
}

fn rule(limiter: &Limiter, name: &str) -> Rule {
    limiter.rule(name).unwrap()
}

/// Asks for a permit over and over for so long; how many were given.
async fn given_in(rule: &Rule, time: Duration) -> usize {
    let (end, mut given) = (Instant::now() + time, 0);
    while Instant::now() < end {
        given += usize::from(rule.check("alice").await.is_allowed());
        sleep(Duration::from_millis(20)).await;
    }
    given
}

/// Goal: a permit with a short hold that is taken after one with a long hold is renewed in its own time.
/// Method: hold a long and a short one for some of the short one's holds; nobody else gets the short one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_later_is_renewed_in_time() {
    let redis = Server::start(Kind::Redis);
    let (minute, second) = (Duration::from_secs(60), Duration::from_secs(1));
    let limiter = limiter(&redis, &[("long", 1, minute), ("short", 1, second)]);
    let (long, short) = (rule(&limiter, "long"), rule(&limiter, "short"));
    let first = long.acquire("alice").await;
    let second = short.acquire("alice").await;
    assert!(first.is_allowed() && second.is_allowed());
    assert_eq!(given_in(&short, Duration::from_millis(3_500)).await, 0);
    drop(second);
    assert!(given_in(&short, Duration::from_millis(2_000)).await >= 1, "given back, it is free");
}

/// Goal: many permits are renewed in time, not one after the other.
/// Method: 300 of as many, each for 600 ms at a time: nobody else gets one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_are_renewed_together() {
    let redis = Server::start(Kind::Redis);
    let limiter = limiter(&redis, &[("many", 300, Duration::from_millis(600))]);
    let many = rule(&limiter, "many");
    let mut held = Vec::new();
    for _ in 0..300 {
        held.push(many.acquire("alice").await);
    }
    assert!(held.iter().all(|permit| permit.is_allowed()));
    assert_eq!(given_in(&many, Duration::from_secs(3)).await, 0);
}

/// Goal: a permit that is held is renewed also after the amount was lowered; nothing is taken away, and
/// nothing given until enough came back.
/// Method: a server of another release, with a larger amount, takes the rest; the smaller one still holds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lower_amount_takes_nothing_away() {
    let redis = Server::start(Kind::Redis);
    let second = Duration::from_secs(1);
    let (old, new) = (limiter(&redis, &[("x", 10, second)]), limiter(&redis, &[("x", 5, second)]));
    let (old, new) = (rule(&old, "x"), rule(&new, "x"));
    let few = new.acquire("alice").cost(3).await;
    let most = old.acquire("alice").cost(7).await;
    assert!(few.is_allowed() && most.is_allowed());
    assert_eq!(given_in(&old, Duration::from_millis(3_500)).await, 0, "ten of ten are held");
}
