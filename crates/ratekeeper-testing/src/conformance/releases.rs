//! Releases: what keys have used when the rules change.
//!
//! Invariant: what is expected is counted by hand, in units used, and never taken from a store.

use super::stand::Stand;
use ratekeeper::rule::{Limits, RuleSet, RuleSpec};
use ratekeeper::{Algorithm, Limit, Limiter};
use std::time::Duration;

/// One rule, `rule`, of these limits.
fn set(limits: Vec<Limit>) -> RuleSet {
    RuleSet { rules: vec![RuleSpec::new("rule", Limits::Same(limits))], ..RuleSet::default() }
}

fn limit(amount: u64, seconds: u64, algorithm: Algorithm) -> Limit {
    let built = Limit::per(amount, Duration::from_secs(seconds)).algorithm(algorithm).build();
    built.expect("it makes sense")
}

async fn left(limiter: &Limiter) -> u64 {
    limiter.rule("rule").expect("it is there").peek("alice").await.remaining()
}

async fn spend(limiter: &Limiter, units: u64) {
    let rule = limiter.rule("rule").expect("it is there");
    assert!(rule.check("alice").cost(units).await.is_allowed());
}

pub(super) async fn amounts(stand: Stand) {
    let pairs = [(2, 50), (50, 2), (7, 60), (60, 7), (1, 1_000_000), (10, 10)];
    for algorithm in Algorithm::ALL {
        for (former, latter) in pairs.into_iter().filter(|pair| pair.1 <= 10_000 || pair.0 == 1) {
            if algorithm == Algorithm::SlidingWindowLog && latter > 10_000 {
                continue;
            }
            let limiter = stand.builder().rules(set(vec![limit(former, 60, algorithm)])).build();
            let used = former.min(2);
            spend(&limiter, used).await;
            limiter.replace(set(vec![limit(latter, 60, algorithm)]));
            let told = format!("{algorithm}, {former} to {latter}");
            assert_eq!(left(&limiter).await, latter - used.min(latter), "{told}");
            if latter > used {
                spend(&limiter, 1).await;
                assert_eq!(left(&limiter).await, latter - used - 1, "{told}, once more");
            }
            let _ = limiter.rule("rule").expect("it is there").reset("alice").await;
        }
    }
}

/// What has drained until the rules change is not used any more; what remains is.
pub(super) async fn drained(stand: Stand) {
    for algorithm in [Algorithm::TokenBucket, Algorithm::LeakyBucket] {
        let limiter = stand.builder().rules(set(vec![limit(60, 60, algorithm)])).build();
        spend(&limiter, 10).await;
        // A unit drains in a second: after three and a half, a part of the seventh is still there.
        stand.clock.advance(Duration::from_millis(3_500));
        limiter.replace(set(vec![limit(600, 60, algorithm)]));
        limiter.replace(set(vec![limit(120, 60, algorithm)]));
        assert_eq!(left(&limiter).await, 120 - 7, "{algorithm}");
        stand.clock.advance(Duration::from_millis(500));
        assert_eq!(left(&limiter).await, 120 - 6, "{algorithm}, at the new rate");
        // Back again: it is under its first name once more.
        limiter.replace(set(vec![limit(60, 60, algorithm)]));
        assert_eq!(left(&limiter).await, 60 - 6, "{algorithm}, and back");
        let _ = limiter.rule("rule").expect("it is there").reset("alice").await;
    }
}

pub(super) async fn afresh(stand: Stand) {
    let first = limit(5, 60, Algorithm::TokenBucket);
    for other in [
        limit(5, 90, Algorithm::TokenBucket),
        limit(5, 60, Algorithm::LeakyBucket),
        limit(5, 60, Algorithm::FixedWindow),
        limit(5, 60, Algorithm::SlidingWindowLog),
    ] {
        let limiter = stand.builder().rules(set(vec![first])).build();
        spend(&limiter, 5).await;
        limiter.replace(set(vec![other]));
        assert_eq!(left(&limiter).await, 5, "{other} {:?}", other.algorithm());
        limiter.replace(set(vec![first]));
        let _ = limiter.rule("rule").expect("it is there").reset("alice").await;
    }
}

/// Several limits of a rule change together, and each keeps its own; a reset forgets them all.
pub(super) async fn several(stand: Stand) {
    let limits = |amounts: [u64; 3]| {
        let [burst, steady, window] = amounts;
        set(vec![
            limit(burst, 1, Algorithm::TokenBucket),
            limit(steady, 3600, Algorithm::TokenBucket),
            limit(window, 3600, Algorithm::FixedWindow),
        ])
    };
    let limiter = stand.builder().rules(limits([10, 100, 1_000])).build();
    spend(&limiter, 4).await;
    limiter.replace(limits([5, 50, 500]));
    let told = limiter.rule("rule").expect("it is there").check("alice").await;
    assert!(told.is_allowed());
    assert_eq!(told.remaining(), 0, "4 and 1 of 5 are used");
    stand.clock.advance(Duration::from_secs(1));
    assert_eq!(left(&limiter).await, 5, "of 5, whatever is left of the others");
    limiter.replace(limits([20, 200, 2_000]));
    let _ = limiter.rule("rule").expect("it is there").reset("alice").await;
    assert_eq!(left(&limiter).await, 20);
}

/// A limiter with the new rules brings over what one with the old rules has charged.
pub(super) async fn fleet(stand: Stand) {
    let (old, new) = (
        set(vec![limit(10, 60, Algorithm::TokenBucket)]),
        set(vec![limit(100, 60, Algorithm::TokenBucket)]),
    );
    let (first, second) =
        (stand.builder().rules(old.clone()).build(), stand.builder().rules(old).build());
    spend(&first, 6).await;
    second.replace(new.clone());
    assert_eq!(left(&second).await, 94);
    first.replace(new);
    assert_eq!(left(&first).await, 94, "it is brought over once");
    assert_eq!(stand.names().len(), 1, "nothing is left under the former name");
}
