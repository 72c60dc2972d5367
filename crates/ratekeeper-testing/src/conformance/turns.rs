//! Shaping: delays, bounds of the wait, and turns that are given back.
//!
//! Invariant: a turn that was told never moves.

use super::figures::{Figures, brief};
use super::shapes::{Dice, MINUTE, SECOND};
use super::stand::{Stand, until};
use crate::oracle::{Entry, Queue, Retry};
use ratekeeper::{Decision, Limit, LimitBuilder, Rule};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// A tenth of a second, the pace of ten a second.
const TENTH: u64 = SECOND / 10;

fn ten_a_second(capacity: u64) -> LimitBuilder {
    Limit::per_second(10).burst(capacity).shaping()
}

/// The figures of a place in the oracle's queue.
fn expected(entry: &Entry) -> Figures {
    let figures = Figures::expected(entry.answer);
    Figures { delay: figures.allowed.then_some(entry.delay), ..figures }
}

/// A call that waits, looked at by hand.
type Waiter = Pin<Box<dyn Future<Output = Decision>>>;

fn waiter(rule: &Rule, key: &'static str) -> Waiter {
    let rule = rule.clone();
    Box::pin(async move { rule.wait(key).await })
}

/// Its answer, if it is there.
async fn look(waiter: &mut Waiter) -> Option<Decision> {
    poll_fn(|context| match waiter.as_mut().poll(context) {
        Poll::Ready(decision) => Poll::Ready(Some(decision)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// A call that has taken its place, and waits.
async fn in_line(stand: &Stand, rule: &Rule, key: &'static str) -> Waiter {
    let (mut waiter, before) = (waiter(rule, key), stand.decided());
    until("the call has its place", async || {
        assert_eq!(look(&mut waiter).await, None, "its turn is to come");
        stand.decided() > before
    })
    .await;
    waiter
}

async fn delay(rule: &Rule, key: &str) -> Option<u64> {
    Figures::of(&rule.peek(key).await).delay
}

pub(super) async fn traces(stand: Stand) {
    let rates = [(10, SECOND, 20, None), (3, SECOND, 7, Some(700_000)), (7, MINUTE, 5, None)];
    let huge = [(10_007, MINUTE, 300, Some(SECOND)), (1 << 40, 10_000, 1 << 40, Some(3_000))];
    for (number, (amount, period, burst, longest)) in rates.into_iter().chain(huge).enumerate() {
        let mut limit = Limit::per(amount, Duration::from_micros(period)).burst(burst).shaping();
        if let Some(longest) = longest {
            limit = limit.max_wait(Duration::from_micros(longest));
        }
        let (_limiter, rule) = stand.one(limit);
        let key = format!("rate {number}");
        let mut queue = Queue::new(amount, period, burst, longest);
        let mut dice = Dice::new(50 + number as u64);
        let mut last = Figures::of(&rule.peek(&key).await);
        for step in 0..150 {
            let reset = last.reset_after.unwrap_or(0);
            stand.wait(dice.step(period.div_ceil(amount), last.retry_after, reset));
            let (now, cost) = (stand.now(), dice.cost(burst, last.remaining));
            let patience = (dice.below(3) == 0).then(|| dice.below(4 * period / amount.min(4)));
            let trial = queue.clone().tell(now, cost, patience);
            // Who would have to wait is told its turn instead: time stands still here.
            let passes = trial.delay == 0 || cost == 0 || trial.answer.retry_after != Retry::Now;
            let told = match patience.filter(|_| passes) {
                Some(ticks) => {
                    let wait = rule.wait(&key).cost(cost).max_wait(Duration::from_micros(ticks));
                    last = expected(&queue.tell(now, cost, patience));
                    wait.await
                }
                None => {
                    last = expected(&queue.tell(now, cost, None));
                    rule.check(&key).cost(cost).await
                }
            };
            assert_eq!(
                Figures::of(&told),
                last,
                "{key}, step {step}, {cost}, {patience:?} at {now}"
            );
        }
    }
}

pub(super) async fn bounds(stand: Stand) {
    let (_limiter, rule) = stand.one(ten_a_second(20).max_wait(Duration::from_millis(250)));
    for number in 0..3 {
        let told = Figures::of(&rule.check("a").await);
        assert_eq!((told.allowed, told.delay), (true, Some(number * TENTH)));
    }
    let refused = rule.check("a").await;
    assert_eq!(brief(&refused), (false, 0, Some(TENTH / 2)), "a wait of 0.3 s is over 0.25 s");
    stand.wait(TENTH / 2 - 1);
    assert_eq!(brief(&rule.check("a").await), (false, 0, Some(1)));
    stand.wait(1);
    assert_eq!(Figures::of(&rule.check("a").await).delay, Some(TENTH * 5 / 2));

    let (_limiter, rule) = stand.one(ten_a_second(3));
    for number in 0..3 {
        assert_eq!(Figures::of(&rule.check("b").await).delay, Some(number * TENTH));
    }
    assert_eq!(brief(&rule.check("b").await), (false, 0, Some(TENTH)), "three are the capacity");
    assert!(rule.check("b").cost(4).await.is_never());
    stand.wait(TENTH);
    let impatient = rule.wait("b").max_wait(Duration::from_micros(2 * TENTH - 1)).await;
    assert_eq!(brief(&impatient), (false, 1, Some(1)), "the turn is 0.2 s away");
    assert_eq!(Figures::of(&rule.check("b").await).delay, Some(2 * TENTH));
}

pub(super) async fn waited(stand: Stand) {
    let (_limiter, rule) = stand.one(ten_a_second(5));
    assert_eq!(Figures::of(&rule.wait("a").await).delay, Some(0), "the first passes at once");
    let mut second = in_line(&stand, &rule, "a").await;
    let mut third = in_line(&stand, &rule, "a").await;
    stand.wait(TENTH - 1);
    assert_eq!((look(&mut second).await, look(&mut third).await), (None, None), "a tick early");
    stand.wait(1);
    let told = look(&mut second).await.expect("its turn has come");
    assert_eq!(Figures::of(&told).delay, Some(TENTH), "as it was told");
    assert_eq!(look(&mut third).await, None);
    // Who is not looked at is woken when the clock moves.
    let woken = tokio::time::timeout(Duration::from_secs(20), async {
        stand.wait(TENTH);
        third.await
    });
    let told = woken.await.expect("it is woken");
    assert_eq!(Figures::of(&told).delay, Some(2 * TENTH));
    assert_eq!(delay(&rule, "a").await, Some(TENTH), "all turns were used");
}

pub(super) async fn left(stand: Stand) {
    let (_limiter, rule) = stand.one(ten_a_second(9));
    assert_eq!(Figures::of(&rule.check("a").await).delay, Some(0));
    let last = in_line(&stand, &rule, "a").await;
    assert_eq!(delay(&rule, "a").await, Some(2 * TENTH));
    drop(last);
    until("the last turn is free again", async || delay(&rule, "a").await == Some(TENTH)).await;

    let before_a_told_one = in_line(&stand, &rule, "a").await;
    assert_eq!(Figures::of(&rule.check("a").await).delay, Some(2 * TENTH));
    let calls = stand.calls();
    drop(before_a_told_one);
    until("it has left", async || !stand.place.is_shared() || stand.calls() > calls).await;
    assert_eq!(delay(&rule, "a").await, Some(3 * TENTH), "a told turn stays, and so does its end");

    stand.wait(3 * TENTH);
    let mut passed = waiter(&rule, "a");
    until("it passes", async || look(&mut passed).await.is_some_and(|told| told.is_allowed()))
        .await;
    drop(passed);
    assert_eq!(delay(&rule, "a").await, Some(TENTH), "who has passed has used its turn");
}

pub(super) async fn reserved(stand: Stand) {
    let (_limiter, rule) = stand.one(ten_a_second(9));
    let first = rule.reserve("a", 1).await;
    let second = rule.reserve("a", 2).await;
    assert_eq!(Figures::of(&second).delay, Some(TENTH));
    first.cancel().await;
    assert_eq!(delay(&rule, "a").await, Some(3 * TENTH), "another is behind it");
    second.settle(1).await;
    assert_eq!(delay(&rule, "a").await, Some(2 * TENTH), "it was the last");
    let third = rule.reserve("a", 1).await;
    third.settle(3).await;
    assert_eq!(delay(&rule, "a").await, Some(5 * TENTH), "what was used beyond counts");
    assert_eq!(Figures::of(&rule.refund("a", 4).await).reset_after, Some(TENTH));
    assert_eq!(Figures::of(&rule.reset("a").await).reset_after, Some(0));
}
