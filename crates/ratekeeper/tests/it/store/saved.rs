//! The state of a store in one process, and in the next.

use crate::laws::cases;
use proptest::prelude::*;
use ratekeeper::limiter::{Builder, Saved};
use ratekeeper::{Algorithm, Limit, Limiter, ManualClock};
use std::time::Duration;

/// Rules of every algorithm, and one of permits.
fn builder(clock: &ManualClock) -> Builder {
    let rate = |algorithm| Limit::per(7, Duration::from_secs(10)).algorithm(algorithm);
    let all = [
        ("bucket", rate(Algorithm::TokenBucket).burst(9)),
        ("wide", Limit::per(999_983, Duration::from_secs(86_399)).burst(9)),
        ("line", rate(Algorithm::LeakyBucket).shaping()),
        ("fixed", rate(Algorithm::FixedWindow)),
        ("log", rate(Algorithm::SlidingWindowLog)),
        ("counter", rate(Algorithm::SlidingWindowCounter)),
    ];
    let builder = Limiter::memory().clock(clock).rule("seats", Limit::concurrent(3)).unwrap();
    all.into_iter().fold(builder, |builder, (name, limit)| builder.rule(name, limit).unwrap())
}

const RATES: [&str; 6] = ["bucket", "wide", "line", "fixed", "log", "counter"];

fn saved(limiter: &Limiter) -> Vec<u8> {
    let mut bytes = Vec::new();
    limiter.save(&mut bytes).unwrap();
    bytes
}

proptest! {
    #![proptest_config(cases(200))]

    /// Goal: who has used something has used it after a restart, to the tick, under every algorithm.
    /// Method: random charges, save and restore; every key says the same then, and a while later.
    #[test]
    fn a_restart_is_no_amnesty(
        charges in prop::collection::vec((0..6_usize, 0..5_u8, 1..4_u64, 0..3_000_000_u64), 0..60),
        later in 0..20_000_000_u64,
    ) {
        let clock = ManualClock::new();
        let before = builder(&clock).build();
        for (rule, key, cost, pause) in charges {
            let _ = before.rule(RATES[rule]).unwrap().check(key.to_string()).cost(cost).try_now().unwrap();
            clock.advance(Duration::from_micros(pause));
        }
        let bytes = saved(&before);
        let after = builder(&clock).saved(Saved::read(bytes).unwrap()).build();
        for pause in [0, later] {
            clock.advance(Duration::from_micros(pause));
            for rule in RATES {
                let (old, new) = (before.rule(rule).unwrap(), after.rule(rule).unwrap());
                for key in 0..5_u8 {
                    let expected = old.peek(key.to_string()).try_now().unwrap();
                    prop_assert_eq!(new.peek(key.to_string()).try_now().unwrap(), expected, "{} {}", rule, key);
                }
            }
        }
    }

    /// Goal: bytes that are not what was saved are refused, and never panic.
    /// Method: each a little damaged: cut, changed in a byte, or longer.
    #[test]
    fn damaged_bytes_are_refused(at: prop::sample::Index, flip in 1..=255_u8, cut: bool) {
        let clock = ManualClock::new();
        let limiter = builder(&clock).build();
        for rule in RATES {
            let _ = limiter.rule(rule).unwrap().check("alice").try_now().unwrap();
        }
        let mut bytes = saved(&limiter);
        prop_assert!(Saved::read(bytes.clone()).is_ok());
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        prop_assert!(Saved::read(bytes).is_err());
    }
}

/// Goal: permits are not held by those who are gone.
/// Method: a permit is held while the state is saved.
#[test]
fn permits_stay_behind() {
    let clock = ManualClock::new();
    let before = builder(&clock).build();
    let seats = before.rule("seats").unwrap();
    assert!(seats.check("alice").try_now().unwrap().is_allowed());
    assert_eq!(seats.peek("alice").try_now().unwrap().remaining(), 2);
    let after = builder(&clock).saved(Saved::read(saved(&before)).unwrap()).build();
    let seats = after.rule("seats").unwrap();
    assert_eq!(seats.peek("alice").try_now().unwrap().remaining(), 3);
}

/// Goal: a store takes in no more than it may hold, and keeps its other promises.
/// Method: a thousand keys into a store of a hundred; newcomers are still counted.
#[test]
fn a_smaller_store_takes_in_what_it_may_hold() {
    let clock = ManualClock::new();
    let rule = |keys| Limiter::memory().clock(&clock).keys(keys).rule("api", "5/day").unwrap();
    let before = rule(10_000).build();
    let api = before.rule("api").unwrap();
    for key in 0..1_000_u32 {
        let _ = api.check(key.to_string()).cost(5).try_now().unwrap();
    }
    let after = rule(100).saved(Saved::read(saved(&before)).unwrap()).build();
    let held = after.stats().keys;
    assert!((1..=100).contains(&held), "{held}");
    for key in 0..1_000_u32 {
        let _ = after.rule("api").unwrap().check(format!("new {key}")).try_now().unwrap();
    }
    assert!(after.stats().keys <= 101, "with the bucket that newcomers share");
    // A store as large as before has all of them.
    let whole = rule(10_000).saved(Saved::read(saved(&before)).unwrap()).build();
    let api = whole.rule("api").unwrap();
    assert!((0..1_000_u32).all(|key| api.check(key.to_string()).try_now().unwrap().is_refused()));
}

/// Goal: a store of whatever size has what one of another size has saved, if there is room.
/// Method: few keys, saved by a store for so many and restored into others, larger and smaller.
#[test]
fn another_cap_loses_nothing() {
    let clock = ManualClock::new();
    let rule = |keys| Limiter::memory().clock(&clock).keys(keys).rule("api", "5/day").unwrap();
    for (first, then) in [(30, 511), (30, 2_000), (300, 10_000), (700, 1_000_000), (10_000, 30)] {
        let before = rule(first).build();
        let used = |limiter: &Limiter, key: u32| {
            limiter.rule("api").unwrap().check(key.to_string()).cost(5).try_now().unwrap()
        };
        assert!((0..20).all(|key| used(&before, key).is_allowed()));
        let after = rule(then).saved(Saved::read(saved(&before)).unwrap()).build();
        assert_eq!(after.stats().keys, 20, "{first} and then {then}");
        assert!((0..20).all(|key| used(&after, key).is_refused()), "{first} and then {then}");
    }
}

/// Goal: a clock that is behind the one before freezes nothing: time begins where it was.
/// Method: a window is used up in a year to come; the next process has the system's clock.
#[test]
fn time_does_not_go_back_over_a_restart() {
    let clock = ManualClock::new();
    clock.set(Duration::from_secs(3_000_000_000));
    let window = Limit::per_minute(3).algorithm(Algorithm::FixedWindow);
    let rule = |builder: Builder| builder.rule("api", window).unwrap();
    let before = rule(Limiter::memory()).clock(&clock).build();
    assert!(before.rule("api").unwrap().check("alice").cost(3).try_now().unwrap().is_allowed());
    let after = rule(Limiter::memory()).saved(Saved::read(saved(&before)).unwrap()).build();
    assert!(after.now() >= 3_000_000_000_000_000);
    let left = after.rule("api").unwrap().check("alice").try_now().unwrap();
    assert!(left.is_refused() && left.retry_after() <= Some(Duration::from_secs(60)));
}
