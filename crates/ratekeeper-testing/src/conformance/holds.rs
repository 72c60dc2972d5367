//! Reservations: charged as an estimate, settled at what was used.
//!
//! Invariant: what a store keeps of a charge is enough to find it again.

use super::figures::brief;
use super::pair::Pair;
use super::rates::{limiter, rule};
use super::shapes::{Dice, HUGE, MINUTE, ORDINARY, SECOND, Shape};
use super::stand::Stand;
use ratekeeper::{Algorithm, Limit};
use std::time::Duration;

pub(super) async fn traces(stand: Stand) {
    let shapes = Shape::all(&[&ORDINARY[..], &HUGE[..]].concat());
    let limiter = limiter(&stand, &shapes);
    let start = stand.clock.now();
    for (number, shape) in shapes.iter().enumerate() {
        stand.clock.set(start);
        let mut dice = Dice::new(1_000 + number as u64);
        let mut pair = Pair::new(&stand, rule(&limiter, number), "alice".into(), *shape).await;
        for _ in 0..60 {
            pair.any_step_with_holds(&mut dice).await;
        }
    }
}

/// Ten a minute under every algorithm.
fn tens() -> Vec<Shape> {
    Algorithm::ALL.map(|kind| Shape::new(kind, (10, MINUTE), None)).into()
}

pub(super) async fn dropped(stand: Stand) {
    let (shapes, key) = (tens(), "alice");
    let limiter = limiter(&stand, &shapes);
    for (number, shape) in shapes.iter().enumerate() {
        let rule = rule(&limiter, number);
        drop(rule.reserve(key, 7).await);
        assert_eq!(rule.peek(key).await.remaining(), 3, "{shape:?}");
        let refused = rule.reserve(key, 4).await;
        assert!(refused.is_refused() && refused.units() == 4, "{shape:?}");
        refused.settle(9).await;
        assert_eq!(rule.peek(key).await.remaining(), 3, "{shape:?}");
        let exact = rule.reserve(key, 3).await;
        exact.settle(3).await;
        assert_eq!(rule.peek(key).await.remaining(), 0, "{shape:?}");
    }
}

pub(super) async fn outlived(stand: Stand) {
    let (shapes, key) = (tens(), "alice");
    let limiter = limiter(&stand, &shapes);
    let start = stand.clock.now();
    for (number, shape) in shapes.iter().enumerate() {
        let rule = rule(&limiter, number);
        stand.clock.set(start + Duration::from_secs(59));
        let hold = rule.reserve(key, 4).await;
        assert!(hold.is_allowed());
        stand.wait(121 * SECOND);
        assert!(rule.check(key).cost(5).await.is_allowed());
        hold.cancel().await;
        assert_eq!(rule.peek(key).await.remaining(), 5, "{shape:?}");
    }
}

pub(super) async fn debt(stand: Stand) {
    let (_limiter, bucket) = stand.one("1/second burst 10");
    bucket.reserve("alice", 1).await.settle(1_000).await;
    assert_eq!(brief(&bucket.check("alice").await), (false, 0, Some(11 * SECOND)));
    let log = Limit::per_minute(10).algorithm(Algorithm::SlidingWindowLog);
    let (_limiter, log) = stand.one(log);
    log.reserve("alice", 1).await.settle(1_000).await;
    assert_eq!(brief(&log.check("alice").await), (false, 0, Some(MINUTE)));
    assert_eq!(log.refund("alice", 15).await.remaining(), 5);
}
