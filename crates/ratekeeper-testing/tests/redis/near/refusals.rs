//! Refusals that are remembered.
//!
//! Invariant: time is moved by hand, so both sides of each boundary are seen.

use super::{builder, config, scripts};
use ratekeeper::{Algorithm, Limit, Limiter, ManualClock, Rule, Source};
use ratekeeper_testing::servers::{Kind, Server};
use std::time::Duration;

/// How long a refusal is believed.
const KEEPS: Duration = Duration::from_millis(250);

const TICK: Duration = Duration::from_micros(1);

fn still(server: &Server, clock: &ManualClock) -> Limiter {
    let several = [Limit::per_day(4), Limit::per_hour(2)];
    let built = Limiter::redis(config(&server.url())).clock(clock).rule("day", Limit::per_day(5));
    let built = built.unwrap().rule("several", several).unwrap();
    built.rule("quick", Limit::per_second(10).burst(1)).unwrap().build()
}

async fn ask(rule: &Rule, cost: u64) -> (bool, Source) {
    let told = rule.check("alice").cost(cost).await;
    (told.is_allowed(), told.source())
}

/// Goal: what was refused is refused without the store, for every cost that does not fit, and for no other; until its
/// time has come, or a quarter of a second is over, and not a tick longer.
/// Method: use some up; ask for costs on both sides of what is left, at ticks on both sides of both ends.
#[tokio::test]
async fn what_was_refused_is_refused_here_and_nothing_else() {
    let server = Server::start(Kind::Redis);
    let clock = ManualClock::new();
    let limiter = still(&server, &clock);
    let day = limiter.rule("day").unwrap();
    assert_eq!(ask(&day, 3).await, (true, Source::Store));
    assert_eq!(ask(&day, 4).await, (false, Source::Store));
    for cost in [3, 4, 5] {
        assert_eq!(ask(&day, cost).await, (false, Source::DeniedCache), "{cost}");
    }
    assert_eq!(ask(&day, 6).await, (false, Source::Store), "that never fits, and has no time");
    clock.advance(KEEPS - TICK);
    assert_eq!(ask(&day, 4).await, (false, Source::DeniedCache));
    clock.advance(TICK);
    assert_eq!(ask(&day, 4).await, (false, Source::Store));
    assert_eq!(ask(&day, 2).await, (true, Source::Store), "what fits is asked for");
    assert_eq!(ask(&day, 1).await, (false, Source::DeniedCache), "nothing is left, as was told");
    let quick = limiter.rule("quick").unwrap();
    assert_eq!(ask(&quick, 1).await, (true, Source::Store));
    let told = quick.check("alice").await;
    assert_eq!((told.source(), told.retry_after()), (Source::DeniedCache, Some(KEEPS * 2 / 5)));
    clock.advance(told.retry_after().unwrap() - TICK);
    assert_eq!(ask(&quick, 1).await, (false, Source::DeniedCache));
    clock.advance(TICK);
    assert_eq!(ask(&quick, 1).await, (true, Source::Store));
}

/// Goal: several limits are refused here if one of them refuses and all are known, with the figures of each.
/// Method: two limits, of which one is used up; the figures are those that the store told.
#[tokio::test]
async fn several_limits_are_refused_together() {
    let server = Server::start(Kind::Redis);
    let limiter = still(&server, &ManualClock::new());
    let several = limiter.rule("several").unwrap();
    assert_eq!(ask(&several, 2).await, (true, Source::Store));
    let stored = several.check("alice").cost(1).await;
    let here = several.check("alice").cost(1).await;
    assert_eq!((stored.source(), here.source()), (Source::DeniedCache, Source::DeniedCache));
    assert_eq!(here.retry_after(), Some(Duration::from_secs(1_800)));
    // Three never fit into the second limit, though the first would have them some time.
    let never = several.check("alice").cost(3).await;
    assert!(never.is_never() && never.source() == Source::Store, "{never:?}");
    let both = limiter.check_all([("several", "alice"), ("day", "bob")]).unwrap().await;
    assert_eq!(
        (both.is_allowed(), both.source()),
        (false, Source::Store),
        "of bob nothing is known"
    );
    let both = limiter.check_all([("several", "alice"), ("day", "bob")]).unwrap().await;
    assert_eq!((both.is_allowed(), both.source()), (false, Source::DeniedCache));
    assert_eq!(both.rules()[1].remaining(), 5, "bob was charged nothing");
}

/// Goal: what comes back here shows at once; elsewhere, within a quarter of a second; other rules at once.
/// Method: refused, then a reset, a refund, a settled hold and a release by the same limiter; a reset by another one.
#[tokio::test]
async fn what_comes_back_shows() {
    let server = Server::start(Kind::Redis);
    let clock = ManualClock::new();
    let (limiter, other) = (still(&server, &clock), still(&server, &clock));
    let day = limiter.rule("day").unwrap();
    let used_up = async || {
        // What was asked in the very tick of a change does not count.
        clock.advance(TICK);
        let _ = day.check("alice").cost(5).await;
        assert_eq!(ask(&day, 1).await, (false, Source::DeniedCache));
    };
    used_up().await;
    let _ = day.reset("alice").await;
    assert_eq!(ask(&day, 1).await, (true, Source::Store), "a reset");
    let _ = day.reset("alice").await;
    used_up().await;
    let _ = day.refund("alice", 2).await;
    assert_eq!(ask(&day, 2).await, (true, Source::Store), "a refund");
    let _ = day.reset("alice").await;
    clock.advance(TICK);
    let hold = day.reserve("alice", 5).await;
    assert_eq!(ask(&day, 1).await, (false, Source::DeniedCache));
    hold.settle(1).await;
    assert_eq!(ask(&day, 4).await, (true, Source::Store), "a hold that was settled");
    used_up().await;
    let _ = other.rule("day").unwrap().reset("alice").await;
    clock.advance(KEEPS - TICK * 2);
    assert_eq!(ask(&day, 1).await, (false, Source::DeniedCache), "nobody has told");
    clock.advance(TICK * 2);
    assert_eq!(ask(&day, 1).await, (true, Source::Store), "a reset elsewhere");
}

/// Goal: a key that is hammered hardly reaches the store, under every algorithm.
/// Method: four tasks ask for one key as fast as they can for a while; the scripts that the server ran are few beside
/// the refusals, and what was admitted is what the limit allows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hammered_key_hardly_reaches_the_store() {
    let server = Server::start(Kind::Redis);
    for algorithm in Algorithm::ALL {
        let limit = Limit::per_minute(100).algorithm(algorithm);
        let built = builder(&server.url()).rule(algorithm.name(), limit).unwrap().build();
        let rule = built.rule(algorithm.name()).unwrap();
        let before = scripts(&server);
        let hammer = |rule: Rule| async move {
            let mut told = [0_u64; 3];
            for _ in 0..20_000 {
                let own = rule.check("alice").await;
                match (own.is_allowed(), own.source()) {
                    (true, _) => told[0] += 1,
                    (false, Source::DeniedCache) => told[1] += 1,
                    (false, _) => told[2] += 1,
                }
            }
            told
        };
        let tasks: Vec<_> = (0..4).map(|_| tokio::spawn(hammer(rule.clone()))).collect();
        let mut told = [0; 3];
        for task in tasks {
            told.iter_mut().zip(task.await.unwrap()).for_each(|(all, own)| *all += own);
        }
        let [admitted, remembered, reached] = told;
        // A minute's edge, or some units that came back, may lie in between.
        assert!((100..=200).contains(&admitted), "{algorithm}: {admitted} were admitted");
        assert!(
            reached * 19 <= remembered,
            "{algorithm}: {reached} refusals reached it, {remembered} did not"
        );
        let ran = scripts(&server) - before;
        assert!(ran <= admitted + reached, "{algorithm}: {ran} scripts");
    }
}
