//! Several limits, several rules, several limiters: one decision, all or nothing.
//!
//! Invariant: what one of them refuses, none has charged, whichever slots their keys are in.

use super::figures::{Figures, brief};
use super::shapes::SECOND;
use super::stand::{Stand, until};
use ratekeeper::{Algorithm, Decisions, Limit, Limiter};

fn limiter(stand: &Stand) -> Limiter {
    let window = Limit::per_second(20).algorithm(Algorithm::FixedWindow);
    let builder = stand.builder().rule("user", "5/second").expect("a rule");
    let builder = builder.rule("org", window).expect("a rule");
    let log = Limit::per_minute(10).algorithm(Algorithm::SlidingWindowLog);
    let builder = builder.rule("log", log).expect("a rule");
    let builder = builder.rule("slots", "2 concurrent").expect("a rule");
    let builder = builder.rule("line", Limit::per_second(1).burst(5).shaping()).expect("a rule");
    builder.rule("open", "unlimited").expect("a rule").build()
}

async fn ask(limiter: &Limiter, asked: &[(&str, &str)], cost: u64) -> Decisions {
    limiter.check_all(asked.iter().copied()).expect("known rules").cost(cost).await
}

async fn left(limiter: &Limiter, rule: &str, key: &str) -> u64 {
    limiter.rule(rule).expect("a known rule").peek(key).await.remaining()
}

async fn all_left(limiter: &Limiter, key: &str) -> [u64; 4] {
    let mut all = [0; 4];
    for (rule, left_of) in ["user", "org", "slots", "line"].into_iter().zip(&mut all) {
        *left_of = left(limiter, rule, key).await;
    }
    all
}

pub(super) async fn shared(stand: Stand) {
    let (one, other) = (limiter(&stand), limiter(&stand));
    for (number, limiter) in [&one, &other, &one, &other, &one].into_iter().enumerate() {
        let told = limiter.rule("user").expect("a rule").check("a").await;
        assert_eq!(brief(&told), (true, 4 - number as u64, None));
    }
    assert_eq!(left(&one, "user", "a").await, 0);
    assert_eq!(other.rule("user").expect("a rule").reset("a").await.remaining(), 5);
    assert_eq!(left(&one, "user", "a").await, 5);
    let taken = ask(&one, &[("slots", "a")], 2).await.permit().expect("two are free");
    assert_eq!(left(&other, "slots", "a").await, 0);
    assert!(other.release(taken).await, "who knows the name gives it back, wherever it was taken");
    assert!(!one.release(taken).await);
    assert_eq!(left(&one, "slots", "a").await, 2);
}

pub(super) async fn limits(stand: Stand) {
    let (_limiter, rule) = stand.one(["2/second", "3/minute"]);
    let first = Figures::of(&rule.check("a").await);
    assert_eq!((first.limit, first.remaining), (2, 1), "the one with the least left speaks");
    assert!(rule.check("a").await.is_allowed());
    assert_eq!(brief(&rule.check("a").await), (false, 0, Some(SECOND / 2)));
    stand.wait(SECOND);
    assert_eq!(rule.check("a").await.remaining(), 0, "three of three in the minute");
    let fourth = Figures::of(&rule.check("a").await);
    assert_eq!((fourth.limit, fourth.retry_after), (3, Some(19 * SECOND)));
    stand.wait(19 * SECOND - 1);
    assert_eq!(brief(&rule.check("a").await), (false, 0, Some(1)));
    stand.wait(1);
    assert!(rule.check("a").await.is_allowed());

    for algorithm in Algorithm::ALL {
        let limits = [Limit::per_second(2), Limit::per_hour(10)];
        let (_limiter, rule) = stand.one(limits.map(|limit| limit.algorithm(algorithm)));
        let (key, mut admitted) = (algorithm.name(), 0);
        for _ in 0..5 {
            for _ in 0..6 {
                admitted += u64::from(rule.check(key).await.is_allowed());
            }
            stand.wait(2 * SECOND);
        }
        assert_eq!(admitted, 10, "{algorithm}: what one refused, the other did not count");
        assert_eq!(rule.refund(key, 2).await.remaining(), 2, "{algorithm}");
        assert_eq!(rule.reset(key).await.remaining(), 2, "{algorithm}");
    }

    let (_limiter, same) = stand.one(["5/second", "5/second"]);
    let mut admitted = 0;
    for _ in 0..8 {
        admitted += u64::from(same.check("b").await.is_allowed());
    }
    assert_eq!(admitted, 5, "the same limit twice counts each for itself");
    assert!(same.check("b").cost(6).await.is_never());
}

pub(super) async fn rules(stand: Stand) {
    let limiter = limiter(&stand);
    let told = ask(&limiter, &[("org", "7"), ("user", "42"), ("open", "")], 2).await;
    assert!(told.is_allowed());
    assert_eq!((told.rule(), told.remaining()), (Some("user"), 3));
    let results: Vec<_> = told.results().map(|(rule, own)| (rule, own.remaining())).collect();
    assert_eq!(results, [("org", 18), ("user", 3), ("open", u64::MAX)]);
    assert_eq!((left(&limiter, "org", "42").await, left(&limiter, "user", "7").await), (20, 5));
    assert!(ask(&limiter, &[("org", "7"), ("user", "42")], 2).await.is_allowed());
    for asked in [[("user", "42"), ("org", "7")], [("org", "7"), ("user", "42")]] {
        for _ in 0..3 {
            let refused = ask(&limiter, &asked, 2).await;
            assert_eq!(refused.rule(), Some("user"));
            assert_eq!(brief(&refused), (false, 1, Some(SECOND / 5)));
            for ((rule, own), (name, _)) in refused.results().zip(asked) {
                assert_eq!(rule, name, "in the order asked");
                assert_eq!(own.is_allowed(), rule == "org");
                assert_eq!(own.remaining(), if rule == "org" { 16 } else { 1 }, "{rule}");
            }
        }
    }
    let spent = [left(&limiter, "org", "7").await, left(&limiter, "user", "42").await];
    assert_eq!(spent, [16, 1]);
    assert!(ask(&limiter, &[("org", "7")], 16).await.is_allowed());
    let both = ask(&limiter, &[("user", "42"), ("org", "7")], 2).await;
    assert_eq!((both.rule(), brief(&both).2), (Some("org"), Some(SECOND)), "the longest speaks");
    let never = ask(&limiter, &[("org", "8"), ("user", "42")], 6).await;
    assert!(never.is_never() && never.rule() == Some("user"));
    assert_eq!(left(&limiter, "org", "8").await, 20);
}

/// Each rule that refuses says for how long, whether it was charged in vain or only looked at.
pub(super) async fn waits(stand: Stand) {
    let limiter = limiter(&stand);
    for key in ["1", "2", "3", "4", "5", "6"] {
        assert!(ask(&limiter, &[("log", key)], 4).await.is_allowed());
        stand.wait(SECOND);
        assert!(ask(&limiter, &[("log", key)], 5).await.is_allowed());
        stand.wait(SECOND);
        assert!(ask(&limiter, &[("user", "a")], 5).await.is_allowed());
        for asked in [[("user", "a"), ("log", key)], [("log", key), ("user", "a")]] {
            for (cost, waits) in [(2, [2 * SECOND / 5, 58 * SECOND]), (5, [SECOND, 58 * SECOND])] {
                let refused = ask(&limiter, &asked, cost).await;
                let own = |name| refused.results().find(|(rule, _)| *rule == name);
                let own = ["user", "log"].map(|name| brief(own(name).expect("it was asked").1).2);
                assert_eq!(own, waits.map(Some), "{cost} of {asked:?}");
            }
            let never = ask(&limiter, &asked, 6).await;
            let own = |name| never.results().find(|(rule, _)| *rule == name);
            assert!(own("user").is_some_and(|(_, own)| own.is_never()));
            assert_eq!(brief(own("log").expect("it was asked").1), (false, 1, Some(59 * SECOND)));
        }
        stand.wait(SECOND);
    }
}

pub(super) async fn twice(stand: Stand) {
    let limiter = limiter(&stand);
    let twice = [("user", "a"), ("user", "a")];
    let told = ask(&limiter, &twice, 2).await;
    assert!(told.is_allowed() && told.results().all(|(_, own)| own.remaining() == 1));
    let refused = ask(&limiter, &twice, 1).await;
    assert!(refused.is_refused() && !refused.is_never(), "two units, and one is left");
    assert_eq!(left(&limiter, "user", "a").await, 1);
    assert!(ask(&limiter, &twice, 3).await.is_never(), "six units, and five is the limit");
    assert!(ask(&limiter, &twice[..1], 1).await.is_allowed());

    let held = [("slots", "a"), ("user", "b"), ("slots", "a")];
    let told = ask(&limiter, &held, 1).await;
    assert!(told.is_allowed());
    assert_eq!((left(&limiter, "slots", "a").await, left(&limiter, "user", "b").await), (0, 4));
    assert!(limiter.release(told.permit().expect("it has one")).await);
    assert_eq!(left(&limiter, "slots", "a").await, 2, "both are back");
    let reserved = limiter.reserve_all(twice.map(|(rule, _)| (rule, "c")), 2);
    reserved.expect("known rules").await.settle(1).await;
    assert_eq!(left(&limiter, "user", "c").await, 3, "one unit each was used");
}

pub(super) async fn reserved(stand: Stand) {
    let limiter = limiter(&stand);
    let all = |key| ["user", "org", "slots", "line"].map(|rule| (rule, key));
    let reserve = async |key, units| limiter.reserve_all(all(key), units).expect("rules").await;
    for (used_up, cost) in [("user", 5), ("org", 20), ("slots", 2), ("line", 5)] {
        let key = used_up;
        assert!(ask(&limiter, &[(used_up, key)], cost).await.is_allowed());
        let before = all_left(&limiter, key).await;
        let hold = reserve(key, 1).await;
        assert!(hold.is_refused(), "{used_up}");
        assert_eq!((hold.rule(), hold.permit()), (Some(used_up), None));
        hold.settle(3).await;
        let check = ask(&limiter, &all(key), 1).await;
        assert!(check.is_refused() && check.permit().is_none(), "{used_up}");
        assert_eq!(all_left(&limiter, key).await, before, "{used_up}");
    }
    let is_left = async |expected: [u64; 4]| {
        until("permits are back", async || all_left(&limiter, "b").await == expected).await;
    };
    let hold = reserve("b", 2).await;
    assert!(hold.is_allowed() && hold.permit().is_none());
    assert_eq!((all_left(&limiter, "b").await, hold.units()), ([3, 18, 0, 3], 2));
    hold.settle(1).await;
    is_left([4, 19, 2, 4]).await;
    drop(reserve("b", 1).await);
    is_left([3, 18, 2, 3]).await;
    let hold = reserve("b", 1).await;
    assert_eq!(Figures::of(&hold).delay, Some(2 * SECOND), "the turn is the line's");
    hold.cancel().await;
    is_left([3, 18, 2, 3]).await;
}
