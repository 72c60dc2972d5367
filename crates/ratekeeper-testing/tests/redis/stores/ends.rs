//! How long a key lives, by the server's own clock.
//!
//! Invariants: no key is without an end; it ends when its bucket is whole, within two milliseconds.

use super::run;
use ratekeeper::{Algorithm, Decision, Limit, Limiter};
use ratekeeper_testing::conformance::{Dice, Figures, Place, Stand};
use ratekeeper_testing::servers::wire::Reply;
use ratekeeper_testing::servers::{Kind, Server, wait_until};
use std::time::Duration;

const SECOND: u64 = 1_000_000;

/// Most that a key may live longer than it matters: ends are whole milliseconds.
const SLACK: u64 = 2_000;

fn stand(server: &Server, prefix: &str) -> Stand {
    Stand::new(&Place::shared("a server", &server.url(), &[server.port()]), prefix)
}

/// The time of the server, in ticks.
fn time(server: &Server) -> u64 {
    let parts: Vec<i64> = server.ask(&["TIME"]).list().iter().map(Reply::number).collect();
    u64::try_from(parts[0] * 1_000_000 + parts[1]).unwrap()
}

/// When the only key under the prefix ends, in ticks.
fn end(stand: &Stand) -> u64 {
    let ends: Vec<i64> = stand.image().into_values().map(|(_, end)| end).collect();
    assert_eq!(ends.len(), 1, "one bucket, one key");
    u64::try_from(ends[0]).expect("it has an end") * 1_000
}

/// Charges, and tells the decision, the end of the key, and the server's time before and after.
async fn charged(server: &Server, stand: &Stand, limit: Limit) -> (Decision, u64, u64, u64) {
    let limiter = stand.real_time().rule("rule", limit).unwrap().build();
    let rule = limiter.rule("rule").unwrap();
    let _ = rule.reset("a").await;
    let before = time(server);
    let told = rule.check("a").cost(2).await;
    let after = time(server);
    assert!(told.is_allowed());
    (told, end(stand), before, after)
}

/// Goal: a key lives until its bucket is whole and not longer, for every algorithm.
/// Method: charge by the server's clock, which is read before and after: the end of the key is as far
/// away as the answer says, to two milliseconds; that of two windows at the end of the next.
#[test]
fn a_key_ends_when_its_bucket_is_whole() {
    for kind in [Kind::Redis, Kind::Valkey] {
        let server = Server::start(kind);
        run(async {
            for (number, period) in [SECOND * 7, 60 * SECOND, 86_400 * SECOND].iter().enumerate() {
                for algorithm in Algorithm::ALL {
                    let stand = stand(&server, &format!("{number}{}", algorithm.name()));
                    let limit = Limit::per(7, Duration::from_micros(*period)).algorithm(algorithm);
                    let limit = limit.build().unwrap();
                    let (told, end, before, after) = charged(&server, &stand, limit).await;
                    let whole = Figures::of(&told).reset_after.unwrap();
                    let what = format!("{kind:?}, {algorithm}, {period}");
                    if algorithm == Algorithm::SlidingWindowCounter {
                        let edges = [before, after].map(|time| (time / period + 2) * period);
                        let near = |edge: &u64| (*edge..=edge + SLACK).contains(&end);
                        assert!(edges.iter().any(near), "{what}: {end}, not {edges:?}");
                    }
                    let is_two_windows = algorithm == Algorithm::SlidingWindowCounter;
                    let latest =
                        after + whole + SLACK + if is_two_windows { 2 * period } else { 0 };
                    assert!(end >= before + whole, "{what}: it ends before the bucket is whole");
                    assert!(end <= latest, "{what}: {} too late", end.saturating_sub(latest));
                }
            }
            let line = Limit::per_second(1).burst(9).shaping().build().unwrap();
            let (told, end, before, after) = charged(&server, &stand(&server, "line"), line).await;
            let whole = Figures::of(&told).reset_after.unwrap();
            assert!((before + whole..=after + whole + SLACK).contains(&end), "a line");
        });
    }
}

/// Goal: permits live as long as they are held, and so does what is known of them by name.
/// Method: take one for 90 s; both of its keys end then.
#[test]
fn permits_end_with_their_time() {
    let server = Server::start(Kind::Redis);
    let stand = stand(&server, "permits");
    run(async {
        let limit = Limit::concurrent(3).hold(Duration::from_secs(90));
        let limiter = stand.real_time().rule("rule", limit).unwrap().build();
        let before = time(&server);
        let told = limiter.rule("rule").unwrap().check("a").await;
        let after = time(&server);
        let ends = stand.image();
        assert_eq!(ends.len(), 2, "the count and the record");
        for (_, end) in ends.into_values() {
            let end = u64::try_from(end).unwrap() * 1_000;
            let hold = 90 * SECOND;
            assert!((before + hold..=after + hold + SLACK).contains(&end));
        }
        assert!(limiter.release(told.permit().unwrap()).await);
        assert!(stand.names().is_empty(), "nothing is left of what was given back");
    });
}

fn mixed(stand: &Stand) -> Limiter {
    let mut builder = stand.real_time();
    for algorithm in Algorithm::ALL {
        let limit = Limit::per_second(20).algorithm(algorithm);
        builder = builder.rule(algorithm.name(), limit).unwrap();
    }
    builder = builder.rule("line", Limit::per_second(20).shaping()).unwrap();
    let slots = Limit::concurrent(9).hold(Duration::from_millis(900));
    builder
        .rule("slots", slots)
        .unwrap()
        .rule("both", ["9/second", "5 concurrent"])
        .unwrap()
        .build()
}

/// Goal: no call of any kind ever leaves a key without an end.
/// Method: a storm of all calls from 40 tasks; meanwhile and afterwards every key is looked at.
#[test]
fn no_key_is_ever_without_an_end() {
    let server = Server::start(Kind::Redis);
    let stand = stand(&server, "storm");
    run(async {
        let limiter = mixed(&stand);
        let tasks: Vec<_> = (0..40_u64)
            .map(|task| {
                let limiter = limiter.clone();
                tokio::spawn(async move { storm(&limiter, task).await })
            })
            .collect();
        let mut seen = 0;
        while tasks.iter().any(|task| !task.is_finished()) {
            seen += all_end(&server, &stand);
            tokio::task::yield_now().await;
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert!(seen + all_end(&server, &stand) > 0, "there were keys to look at");
    });
    assert_eq!(stand.failures(), Vec::<String>::new());
}

/// How many keys there are; each has an end, unless it has just ended.
fn all_end(server: &Server, stand: &Stand) -> usize {
    let names = stand.names();
    for name in &names {
        let name = std::str::from_utf8(name).unwrap();
        assert_ne!(server.ask(&["PTTL", name]).number(), -1, "{name}");
    }
    names.len()
}

async fn storm(limiter: &Limiter, task: u64) {
    let names: Vec<String> = limiter.rules().iter().map(|rule| rule.name().to_owned()).collect();
    let mut dice = Dice::new(task);
    for _ in 0..60 {
        let rule = limiter.rule(&names[dice.below(names.len() as u64) as usize]).unwrap();
        let (key, cost) = (format!("{}", dice.below(5)), dice.below(4));
        let _ = match dice.below(8) {
            0 => rule.refund(&key, cost).await,
            1 => rule.reset(&key).await,
            2 => {
                rule.reserve(&key, cost).await.settle(dice.below(6)).await;
                rule.peek(&key).await
            }
            3 => rule.acquire(&key).cost(cost).await.decision(),
            4 => *limiter.check_all([(rule.name(), &key), ("line", &key)]).unwrap().await,
            _ => {
                let told = rule.check(&key).cost(cost).await;
                if let Some(permit) = told.permit().filter(|_| dice.below(2) == 0) {
                    let _ = limiter.release(permit).await;
                }
                told
            }
        };
    }
}

/// Goal: what is whole again is gone, and who asks then is answered as one who was never there.
/// Method: short limits of every kind, used up; by the time they tell, nothing is left on the server,
/// and the answers are those of fresh keys.
#[test]
fn what_is_whole_again_is_gone() {
    let server = Server::start(Kind::Redis);
    let stand = stand(&server, "gone");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let limiter = mixed(&stand);
    let names: Vec<String> = limiter.rules().iter().map(|rule| rule.name().to_owned()).collect();
    let spend = |name: &str, key: &str| {
        runtime.block_on(async { limiter.rule(name).unwrap().check(key).cost(5).await })
    };
    for name in names.iter().filter(|name| **name != "both") {
        assert!(spend(name, "a").is_allowed(), "{name}");
    }
    assert!(server.ask(&["DBSIZE"]).number() > 0);
    wait_until("all keys are gone", || server.ask(&["DBSIZE"]).number() == 0);
    for name in names.iter().filter(|name| **name != "both") {
        let (again, fresh) = (spend(name, "a"), spend(name, "b"));
        let left = |told: &Decision| (told.is_allowed(), told.remaining(), told.delay());
        let full = if name == "slots" { 9 } else { 20 };
        assert_eq!((left(&again).0, left(&again).1), (true, full - 5), "{name}");
        assert_eq!(left(&again), left(&fresh), "{name}");
    }
}
