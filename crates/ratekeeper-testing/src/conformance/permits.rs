//! Concurrency limits: permits by name, and permits that are held.
//!
//! Invariant: a permit counts from when it is taken until it is given back, or until its end and not
//! a tick longer.

use super::figures::{Figures, brief};
use super::shapes::SECOND;
use super::stand::{Stand, until};
use ratekeeper::{Decision, Limit, LimitBuilder, Limiter, PermitId, Rule};
use std::time::Duration;

fn permits(amount: u64, hold: u64) -> LimitBuilder {
    Limit::concurrent(amount).hold(Duration::from_micros(hold))
}

fn name(decision: &Decision) -> PermitId {
    decision.permit().expect("one is free")
}

async fn take(rule: &Rule) -> PermitId {
    name(&rule.check("a").await)
}

async fn left(rule: &Rule) -> u64 {
    rule.peek("a").await.remaining()
}

/// What is given back by dropping is there a moment later.
async fn comes_back(rule: &Rule, units: u64) {
    until("what was dropped is free again", async || left(rule).await == units).await;
}

pub(super) async fn ended(stand: Stand) {
    let (limiter, rule) = stand.one(permits(2, 1_500_000));
    let first = take(&rule).await;
    stand.wait(SECOND / 2);
    let second = take(&rule).await;
    stand.wait(SECOND - 1);
    assert_eq!(left(&rule).await, 0);
    let refused = Figures::of(&rule.check("a").await);
    let unknown = (refused.retry_after, refused.reset_after, refused.never);
    assert_eq!((refused.allowed, unknown), (false, (None, None, false)));
    assert!(rule.acquire("a").await.is_refused());
    stand.wait(1);
    assert!(!limiter.release(first).await, "its time is over");
    assert_eq!(left(&rule).await, 1);
    assert!(limiter.release(second).await);
    assert_eq!(left(&rule).await, 2);
    assert!(rule.check("a").cost(3).await.is_never());
}

pub(super) async fn released(stand: Stand) {
    let (limiter, rule) = stand.one("4 concurrent");
    assert_eq!(
        (rule.peek("a").await.permit(), rule.check("a").cost(0).await.permit()),
        (None, None)
    );
    let (first, second) = (take(&rule).await, name(&rule.check("a").cost(2).await));
    assert_ne!(first, second);
    assert!(limiter.release(first).await && !limiter.release(first).await);
    assert_eq!(left(&rule).await, 2);
    let made_up: PermitId = "00000000000000ab".parse().expect("16 digits");
    assert!(!limiter.release(made_up).await);
    assert_eq!(rule.refund("a", 2).await.remaining(), 2, "permits are not refunded");
    let read: PermitId = second.to_string().parse().expect("it was written so");
    assert!(limiter.release(read).await);
    assert_eq!(left(&rule).await, 4);
    let others = [rule.check("b").await, rule.check("b").await];
    assert_eq!(brief(&others[1]), (true, 2, None));
    assert_eq!(left(&rule).await, 4, "another key is another count");
}

pub(super) async fn several(stand: Stand) {
    let (limiter, rule) = stand.one([permits(2, SECOND), permits(3, 2 * SECOND)]);
    let (first, second) = (take(&rule).await, take(&rule).await);
    assert_eq!(left(&rule).await, 0, "two of two");
    stand.wait(SECOND);
    assert_eq!(left(&rule).await, 1, "none of two, and two of three");
    assert!(limiter.release(second).await && !limiter.release(second).await);
    assert_eq!(left(&rule).await, 2, "none of two, and one of three");
    let third = take(&rule).await;
    stand.wait(SECOND);
    assert!(!limiter.release(first).await, "its time is over everywhere");
    assert!(limiter.release(third).await);
    assert_eq!(left(&rule).await, 2);
}

pub(super) async fn reset(stand: Stand) {
    let (limiter, rule) = stand.one("5 concurrent");
    let held = [rule.acquire("a").await, rule.acquire("a").await];
    assert!(held.iter().all(|permit| permit.is_allowed() && permit.permit().is_none()));
    let names = [take(&rule).await, take(&rule).await];
    assert_eq!(left(&rule).await, 1);
    assert_eq!(rule.reset("a").await.remaining(), 3);
    for name in names {
        assert!(!limiter.release(name).await, "it was given back by the reset");
    }
    drop(held);
    comes_back(&rule, 5).await;
}

/// Waits until a shared store has renewed what is held; memory has nothing to renew.
async fn renewed(stand: &Stand) {
    let before = stand.image();
    until("the permit is renewed", async || !stand.place.is_shared() || stand.image() != before)
        .await;
}

pub(super) async fn held(stand: Stand) {
    let (_limiter, rule) = stand.one(permits(3, 60_000));
    let permit = rule.acquire("a").cost(2).await;
    assert!(permit.is_allowed());
    assert!(rule.acquire("a").cost(2).await.is_refused());
    for _ in 0..5 {
        stand.wait(40_000);
        renewed(&stand).await;
        assert_eq!(left(&rule).await, 1, "it is held for longer than its time");
    }
    drop(permit);
    comes_back(&rule, 3).await;
    let reservation = rule.reserve("a", 3).await;
    assert!(reservation.is_allowed() && rule.check("a").await.is_refused());
    reservation.settle(1).await;
    comes_back(&rule, 3).await;
}

/// Permits are dropped at the very moment at which they are renewed. Nothing may be left of them: the
/// clock stands still, so what is left would never end.
pub(super) async fn dropped(stand: Stand) {
    let (_limiter, rule) = stand.one(permits(1_000, 30_000));
    for round in 0..8 {
        let mut held = Vec::new();
        for _ in 0..60 {
            held.push(rule.acquire("a").await.into_owned());
        }
        if stand.place.is_shared() {
            renewed(&stand).await;
            tokio::time::sleep(Duration::from_millis(round)).await;
        }
        for permit in held {
            drop(permit);
            tokio::task::yield_now().await;
        }
        comes_back(&rule, 1_000).await;
    }
    // A renewal that was under way has come to its end by now.
    let calls = stand.calls();
    let again = rule.acquire("a").await;
    until("it is renewed", async || !stand.place.is_shared() || stand.calls() > calls + 3).await;
    drop(again);
    comes_back(&rule, 1_000).await;
}

pub(super) async fn turned(stand: Stand) {
    let line = Limit::per_second(1).burst(5).shaping();
    let (limiter, rule) = stand.one([line, permits(2, 10 * SECOND)]);
    let (first, second) = (rule.check("a").await, rule.check("a").await);
    assert_eq!(
        (first.delay(), second.delay()),
        (Some(Duration::ZERO), Some(Duration::from_secs(1)))
    );
    let slots = async |rule: &Rule| rule.peek("a").await.remaining();
    assert_eq!(slots(&rule).await, 0);
    stand.wait(10 * SECOND);
    assert_eq!(slots(&rule).await, 1, "the first one's time is over");
    assert!(!limiter.release(name(&first)).await);
    stand.wait(SECOND - 1);
    assert_eq!(slots(&rule).await, 1, "the second one's began with its turn");
    stand.wait(1);
    assert_eq!(slots(&rule).await, 2);
    assert!(!limiter.release(name(&second)).await);
}

pub(super) async fn lowered(stand: Stand) {
    let limiter = |amount: u64| -> (Limiter, Rule) { stand.one(permits(amount, 60 * SECOND)) };
    let ((high, five), (_low, two)) = (limiter(5), limiter(2));
    let mut names = Vec::new();
    for _ in 0..5 {
        names.push(take(&five).await);
    }
    for (held, left) in [(5, 0), (4, 0), (3, 0), (2, 0), (1, 1), (0, 2)] {
        let told = Figures::of(&two.peek("a").await);
        assert_eq!((told.limit, told.remaining), (2, left), "{held} are held");
        assert_eq!(five.peek("a").await.remaining(), 5 - held);
        assert_eq!(brief(&two.check("a").cost(2).await).0, left == 2);
        assert!(two.check("a").cost(3).await.is_never());
        if let Some(name) = names.pop() {
            assert!(high.release(name).await);
        }
    }
}
