//! Servers of two releases on one store, and values that no release has written.
//!
//! Invariant: whatever is there, no caller gets more than the laxer release admits, and nobody else is
//! affected.

use ratekeeper::limiter::IntoLimits;
use ratekeeper::{Algorithm, Decision, Limit, Limiter, ManualClock, RedisConfig, Rule, Source};
use ratekeeper_testing::servers::{Kind, Server, wire};
use std::time::Duration;

fn limiter(redis: &Server, clock: &ManualClock, limits: impl IntoLimits) -> Limiter {
    let config: RedisConfig = redis.url().parse().unwrap();
    let builder =
        Limiter::redis(config.deadline(Duration::from_secs(5)).forget_refusals()).clock(clock);
    builder.rule("rule", limits).unwrap().build()
}

fn rule(limiter: &Limiter) -> Rule {
    limiter.rule("rule").unwrap()
}

async fn admitted(rule: &Rule, calls: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..calls {
        admitted += usize::from(rule.check("alice").await.is_allowed());
    }
    admitted
}

/// Goal: while servers of two releases run, callers get no more than the larger burst.
/// Method: ask the one with the larger burst for all it has, and the other for one, in turn, with no time
/// between.
#[tokio::test]
async fn two_bursts_give_no_more_than_the_larger() {
    let (redis, clock) = (Server::start(Kind::Redis), ManualClock::new());
    let large = rule(&limiter(&redis, &clock, "10/hour burst 100"));
    let small = rule(&limiter(&redis, &clock, "10/hour burst 10"));
    let mut all = 0;
    for _ in 0..5 {
        all += admitted(&large, 101).await + admitted(&small, 1).await;
        let _ = small.refund("alice", 0).await;
    }
    assert_eq!(all, 100);
}

/// Goal: a reservation of a limit that the rule has no more is not given to the one that it has.
/// Method: reserve under one rate by name; another release has used another rate up; cancel there.
#[tokio::test]
async fn a_reservation_of_another_rate_gives_nothing_back() {
    let (redis, clock) = (Server::start(Kind::Redis), ManualClock::new());
    let (old, new) = (limiter(&redis, &clock, "10/hour"), limiter(&redis, &clock, "20/hour"));
    let reserved = rule(&old).reserve("alice", 10).by_name().await.unwrap();
    assert_eq!(admitted(&rule(&new), 21).await, 20);
    assert!(new.cancel(reserved.hold().unwrap()).await, "it is there, and used now");
    assert_eq!(admitted(&rule(&new), 5).await, 0);
}

/// Goal: the name of a permit is none of a reservation, and the other way round: to try harms neither.
/// Method: take one of each, use each name for the other, then each for its own.
#[tokio::test]
async fn names_of_permits_and_reservations_are_apart() {
    let (redis, clock) = (Server::start(Kind::Redis), ManualClock::new());
    let limiter = limiter(&redis, &clock, [Limit::concurrent(4).build().unwrap()]);
    let permit = rule(&limiter).check("alice").await.permit().unwrap();
    let hold = rule(&limiter).reserve("alice", 2).by_name().await.unwrap().hold().unwrap();
    assert!(!limiter.cancel(permit.to_string().parse().unwrap()).await);
    assert!(!limiter.release(hold.to_string().parse().unwrap()).await);
    assert_eq!(rule(&limiter).peek("alice").await.remaining(), 1);
    assert!(limiter.release(permit).await && limiter.cancel(hold).await);
    assert_eq!(rule(&limiter).peek("alice").await.remaining(), 4);
}

/// As long as a permit.
const ONES: [u8; 29] = {
    let mut ones = [0xff; 29];
    ones[0] = b'1';
    ones
};

/// Values that no release writes, for the name of any bucket.
const GARBAGE: [&[u8]; 12] = [
    b"",
    b"xx",
    b"1",
    b"1123:",
    b"1:5",
    b"1123:99999999999",
    b"19999999999999999999999",
    b"1\xff\xff\xff\xff\xff\x00\x00\x01",
    b"2\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    b"1\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    b"1\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    &ONES,
];

/// Goal: whatever a key holds, it is answered by the store, never as an outage, and others are as before.
/// Method: every kind of limit, with each value written over its key, by the server's own time.
#[tokio::test]
async fn garbage_is_no_outage() {
    let redis = Server::start(Kind::Redis);
    let rate = |algorithm| Limit::per(5, Duration::from_secs(86_400)).algorithm(algorithm).build();
    let rates = Algorithm::ALL.map(|algorithm| rate(algorithm).unwrap());
    let others = [
        Limit::per_minute(7).build().unwrap(),
        Limit::per_second(1).burst(5).shaping().build().unwrap(),
        Limit::concurrent(5).build().unwrap(),
    ];
    for limit in rates.into_iter().chain(others) {
        let config: RedisConfig = redis.url().parse().unwrap();
        let builder = Limiter::redis(config.deadline(Duration::from_secs(5)).forget_refusals());
        let rule = rule(&builder.rule("rule", limit).unwrap().build());
        for value in GARBAGE {
            redis.ask(&["FLUSHALL"]);
            assert!(rule.check("alice").await.is_allowed());
            let keys = redis.ask(&["KEYS", "rk:*"]).list();
            for key in keys.iter().map(wire::Reply::text) {
                wire::ask_bytes(redis.port(), &[b"SET", key.as_bytes(), value]).unwrap();
            }
            let from_store =
                |told: Decision| assert_eq!(told.source(), Source::Store, "{limit}: {value:?}");
            from_store(rule.check("alice").await);
            from_store(rule.peek("alice").await);
            from_store(rule.refund("alice", 1).await);
            let bob = rule.check("bob").await;
            assert!(bob.is_allowed() && bob.source() == Source::Store, "{limit}: {value:?}");
        }
    }
}

/// Goal: a server's clock that goes back by an hour locks a window for no more than two of its periods.
/// Method: use up a limit of each window algorithm, step back, and wait for two periods.
#[tokio::test]
async fn a_clock_that_goes_back_locks_windows_for_two_periods_at_most() {
    let minute = Duration::from_secs(60);
    let windows =
        [Algorithm::FixedWindow, Algorithm::SlidingWindowLog, Algorithm::SlidingWindowCounter];
    for algorithm in windows {
        let (redis, clock) = (Server::start(Kind::Redis), ManualClock::new());
        let rule = rule(&limiter(&redis, &clock, Limit::per_minute(5).algorithm(algorithm)));
        assert_eq!(admitted(&rule, 6).await, 5, "{algorithm}");
        clock.set(clock.now() - Duration::from_secs(3_600));
        assert_eq!(admitted(&rule, 3).await, 0, "{algorithm}: what was used is not forgotten");
        clock.advance(2 * minute);
        assert_eq!(admitted(&rule, 6).await, 5, "{algorithm}");
    }
}
