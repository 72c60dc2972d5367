//! What must not change anything: refusals, peeks, costs that never fit.
//!
//! Invariant: what the servers hold, and until when, is the same byte for byte; memory holds as many
//! keys as before.

use super::figures::Figures;
use super::shapes::SECOND;
use super::stand::Stand;
use ratekeeper::{Algorithm, Limit, Limiter};

/// A rule of each kind, of which five are there at once, and nothing comes back within a second.
fn limiter(stand: &Stand) -> (Limiter, Vec<&'static str>) {
    let mut builder = stand.builder();
    for algorithm in Algorithm::ALL {
        let limit = Limit::per_minute(5).algorithm(algorithm);
        builder = builder.rule(algorithm.name(), limit).expect("a rule");
    }
    let line = Limit::per_minute(7).burst(5).shaping();
    builder = builder.rule("line", line).expect("a rule");
    builder = builder.rule("slots", "5 concurrent").expect("a rule");
    builder = builder.rule("limits", ["5/hour", "7/day"]).expect("a rule");
    let limiter = builder.build();
    let names = Algorithm::ALL.map(Algorithm::name).into_iter();
    (limiter, names.chain(["line", "slots", "limits"]).collect())
}

pub(super) async fn nothing_changes(stand: Stand) {
    let (limiter, names) = limiter(&stand);
    for name in &names {
        let rule = limiter.rule(name).expect("a known rule");
        assert!(rule.check("a").cost(2).await.is_allowed());
        stand.wait(SECOND / 7);
        assert!(rule.check("a").cost(3).await.is_allowed(), "{name}");
        stand.wait(SECOND / 7);
        let before = (Figures::of(&rule.peek("a").await), stand.image(), limiter.stats().keys);
        for _ in 0..3 {
            assert!(rule.check("a").await.is_refused(), "{name}");
            assert!(rule.check("a").cost(5).await.is_refused(), "{name}");
            assert!(rule.check("a").cost(6).await.is_refused(), "{name}");
            assert!(rule.check("a").cost(u64::MAX).await.is_never(), "{name}");
            assert!(rule.check("a").cost(0).await.is_allowed(), "{name}");
            assert!(rule.acquire("a").await.is_refused(), "{name}");
            rule.reserve("a", 1).await.settle(7).await;
            let refused = limiter.check_all([(*name, "a"), (*name, "b")]);
            assert!(refused.expect("known rules").await.is_refused(), "{name}");
            let refused = limiter.check_all([(*name, "c"), (*name, "a")]);
            assert!(refused.expect("known rules").await.is_refused(), "{name}");
        }
        let after = (Figures::of(&rule.peek("a").await), stand.image(), limiter.stats().keys);
        assert_eq!(after, before, "{name}");
        assert_eq!(before.0.remaining, 0, "{name}");
    }
}

pub(super) async fn nothing_is_made(stand: Stand) {
    let (limiter, names) = limiter(&stand);
    for name in &names {
        let rule = limiter.rule(name).expect("a known rule");
        for number in 0..5 {
            let key = format!("key {number}");
            assert_eq!(rule.peek(&key).await.remaining(), 5, "{name}");
            assert!(rule.check(&key).cost(0).await.is_allowed(), "{name}");
            assert!(rule.check(&key).cost(6).await.is_never(), "{name}");
            assert!(rule.acquire(&key).cost(u64::MAX).await.is_never(), "{name}");
            assert_eq!(rule.refund(&key, 3).await.remaining(), 5, "{name}");
            assert_eq!(rule.reset(&key).await.remaining(), 5, "{name}");
            assert!(rule.reserve(&key, 6).await.is_never(), "{name}");
            let looks = rule.check_many(&[&key, "x"]).cost(0).await;
            assert!(looks.iter().all(|look| look.remaining() == 5), "{name}");
            let never = limiter.check_all([("line", &key), (*name, &key)]);
            assert!(never.expect("known rules").cost(6).await.is_never(), "{name}");
        }
    }
    assert_eq!(stand.names(), Vec::<Vec<u8>>::new());
    assert_eq!(limiter.stats().keys, 0);
}
