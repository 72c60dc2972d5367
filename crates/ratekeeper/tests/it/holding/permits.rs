//! Permits in this process: taken once, and given back when their holder ends in any way.
//!
//! Invariant: after every test all permits are back.

use crate::one_key::{OneKey, one_key, secs};
use crate::store::race;
use ratekeeper::{Limit, Limiter, ManualClock, Permit, Source};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

fn acquire(key: &OneKey) -> Permit<'_> {
    key.rule.acquire("alice").try_now().unwrap()
}

/// Goal: no race lets one too many or one too few in.
/// Method: 500 threads at a barrier take one each and keep it; then all of them are given back.
#[test]
fn five_hundred_at_once_get_as_many_permits_as_there_are() {
    for amount in [1, 100, 499] {
        let key = one_key(Limit::concurrent(amount));
        let kept = Mutex::new(Vec::new());
        let admitted = race(500, |_| {
            let permit = acquire(&key);
            let admitted = u64::from(permit.is_allowed());
            kept.lock().unwrap().push(permit);
            admitted
        });
        assert_eq!((admitted, key.peek().remaining()), (amount, 0));
        drop(kept);
        assert_eq!(key.peek().remaining(), amount);
    }
}

/// Goal: while permits come and go, never more are held than there are, and none is lost.
/// Method: eight threads take and give back 4 000 times each, of several sizes; whoever holds some
/// adds them to a count of their own.
#[test]
fn permits_that_come_and_go_are_counted_exactly() {
    const AMOUNT: u64 = 5;
    let (key, held) = (one_key(Limit::concurrent(AMOUNT)), AtomicU64::new(0));
    let admitted = race(8, |caller| {
        let mut admitted = 0;
        for turn in 0..4_000 {
            let cost = 1 + (caller as u64 + turn) % 3;
            let permit = key.rule.acquire("alice").cost(cost).try_now().unwrap();
            if permit.is_allowed() {
                admitted += 1;
                assert!(held.fetch_add(cost, Ordering::SeqCst) + cost <= AMOUNT);
                held.fetch_sub(cost, Ordering::SeqCst);
            }
            drop(permit);
        }
        admitted
    });
    assert!(admitted > 8, "{admitted}");
    assert_eq!(key.peek().remaining(), AMOUNT);
}

/// Goal: a permit is given back when its holder panics.
/// Method: panic while holding one of two.
#[test]
fn a_panic_gives_the_permit_back() {
    let key = one_key("2 concurrent");
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let permit = acquire(&key);
        assert_eq!((permit.remaining(), key.peek().remaining()), (1, 1));
        std::panic::resume_unwind(Box::new("holding a permit"));
    }));
    assert!(outcome.is_err());
    assert_eq!(key.peek().remaining(), 2);
}

/// Goal: a permit is given back when the task that holds it is cancelled.
/// Method: a future takes one and never ends; drop it.
#[test]
fn a_cancelled_task_gives_the_permit_back() {
    let key = one_key("2 concurrent");
    {
        let mut task = pin!(async {
            let permit = key.rule.acquire("alice").await;
            std::future::pending::<()>().await;
            drop(permit);
        });
        let context = &mut Context::from_waker(Waker::noop());
        assert!(task.as_mut().poll(context).is_pending());
        assert_eq!(key.peek().remaining(), 1);
    }
    assert_eq!(key.peek().remaining(), 2);
}

/// Goal: a refused permit holds nothing and gives nothing back; a cost of nothing likewise.
/// Method: drop both kinds beside one that is held, and one that can never be had.
#[test]
fn a_refused_permit_gives_nothing_back() {
    let key = one_key("2 concurrent");
    let held = key.rule.acquire("alice").cost(2).try_now().unwrap();
    for cost in [0, 1, 2, 3] {
        let other = key.rule.acquire("alice").cost(cost).try_now().unwrap();
        assert_eq!(other.is_allowed(), cost == 0);
        assert_eq!(other.is_never(), cost == 3);
        assert_eq!((other.retry_after(), other.reset_after()), (None, None));
        drop(other);
        assert_eq!(key.peek().remaining(), 0, "after a cost of {cost}");
    }
    drop(held);
    assert_eq!(key.peek().remaining(), 2);
}

/// Goal: permits of a full store are not forgotten, and whoever finds no place gets none: shared ones
/// could be taken again, once there is room.
/// Method: hold one for each of 200 keys in a store of 64, under a flood of other keys.
#[test]
fn permits_are_never_evicted() {
    let builder = Limiter::memory().keys(64).clock(&ManualClock::new());
    let builder = builder.rule("api", "1000/hour").unwrap();
    let limiter = builder.rule("rule", "1 concurrent").unwrap().build();
    let (rule, api) = (limiter.rule("rule").unwrap(), limiter.rule("api").unwrap());
    let take = |number: u32| rule.acquire(format!("key {number}")).try_now().unwrap();
    let permits: Vec<Permit> = (0..200).map(take).collect();
    let own: Vec<u32> =
        (0..200).filter(|number| permits[*number as usize].source() == Source::Store).collect();
    assert!(own.len() >= 20 && own.len() <= 64, "{}", own.len());
    assert!(own.iter().all(|number| permits[*number as usize].is_allowed()));
    let shared = permits.iter().filter(|permit| permit.source() == Source::Overflow);
    assert_eq!(shared.filter(|permit| permit.is_allowed()).count(), 0, "permits are not shared");
    for number in 0..5_000 {
        let _ = api.try_check(format!("flood {number}")).unwrap();
    }
    assert!(own.iter().all(|number| take(*number).is_refused()));
    drop(permits);
    assert!(own.iter().all(|number| take(*number).is_allowed()));
    assert!(take(1_000_000).is_allowed(), "there is a place again");
}

/// Goal: a permit can leave its rule, and is then still given back once.
/// Method: make it owned, which gives nothing back; drop the rule, and the permit in another thread.
#[test]
fn an_owned_permit_is_given_back_once() {
    let key = one_key("2 concurrent");
    let rule = key.rule.clone();
    let other = rule.acquire("alice").try_now().unwrap().into_owned();
    let refused = rule.acquire("alice").cost(2).try_now().unwrap().into_owned();
    assert!(refused.is_refused() && other.is_allowed());
    drop(rule);
    assert_eq!(key.peek().remaining(), 1);
    std::thread::spawn(move || drop(other)).join().unwrap();
    assert_eq!(key.peek().remaining(), 2);
    drop(refused);
    assert_eq!(key.peek().remaining(), 2);
}

/// Goal: a refund is for what was used, and a permit is not used up.
/// Method: refund far more than is held.
#[test]
fn a_refund_gives_no_permit_back() {
    let key = one_key("3 concurrent");
    let permit = acquire(&key);
    assert!(key.ask(1).is_allowed());
    let told = key.rule.refund("alice", 9).try_now().unwrap();
    assert_eq!((told.remaining(), key.peek().remaining()), (1, 1));
    drop(permit);
    assert_eq!(key.peek().remaining(), 2);
}

/// Goal: a permit outlives its limiter's handle and any time.
/// Method: hold one for years; only the drop gives it back.
#[test]
fn a_permit_in_this_process_does_not_end_with_time() {
    let key = one_key(Limit::concurrent(1).hold(secs(1)));
    let permit = acquire(&key);
    key.wait(secs(10 * 365 * 24 * 3600));
    assert!(acquire(&key).is_refused());
    drop(permit);
    assert!(acquire(&key).is_allowed());
}
