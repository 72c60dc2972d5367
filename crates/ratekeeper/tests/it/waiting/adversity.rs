//! Races, and callers that panic: what others hold and wait for is untouched.
//!
//! Invariant: whatever happens to one caller, the end of a line in the store is that of the line.

use crate::one_key::{OneKey, TICK, one_key, secs};
use ratekeeper::{Decision, Limit, Limiter, ManualClock, Observer, Source};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;

/// One who waits while `other` is done to the key by another thread at the same moment: whoever comes
/// next is told the turn behind it, to the tick.
fn whoever_comes_next_is_behind(other: impl Fn(&OneKey) + Sync) {
    for _ in 0..3_000 {
        let key = one_key(Limit::per_second(1).burst(10).shaping());
        assert_eq!(key.ask(5).delay(), Some(secs(0)));
        let barrier = Barrier::new(2);
        let mut wait = pin!(key.rule.wait("alice").into_future());
        let mut poll = || wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        let entered = thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                other(&key);
            });
            barrier.wait();
            poll()
        });
        let next = key.peek().delay().expect("there are turns");
        assert!(next >= secs(1), "{next:?} for the next one, who has one in front");
        if !entered || !poll() {
            assert_eq!(next, secs(1), "its turn was now");
            continue;
        }
        key.wait(next - secs(1) - TICK);
        assert!(poll(), "the turn before {next:?} is not a tick earlier");
        key.wait(TICK);
        assert!(!poll(), "it is the turn before {next:?}");
    }
}

/// Goal: units given back, and a reset, do not come between a waiter's charge and its place in line.
/// Method: two threads at a barrier, one of which enters; then nobody is told a turn in front of it.
#[test]
fn a_refund_or_reset_never_comes_between() {
    whoever_comes_next_is_behind(|key| {
        let _ = key.rule.refund("alice", 5).try_now();
    });
    whoever_comes_next_is_behind(|key| {
        let _ = key.rule.reset("alice").try_now();
    });
}

/// Counts, or panics.
struct Touchy {
    panics: bool,
    times: AtomicU64,
}

impl Wake for Touchy {
    fn wake(self: Arc<Self>) {
        self.times.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics, "this waker panics, as it should");
    }
}

/// Goal: a waker that panics does not keep others asleep.
/// Method: two keys have their turns at one tick; the first one's waker panics.
#[test]
fn a_waker_that_panics_harms_nobody_else() {
    let key = one_key(Limit::per_second(1).burst(10).shaping());
    let names = ["a", "b", "c", "d"];
    let wakers = [true, true, false, false]
        .map(|panics| Arc::new(Touchy { panics, times: AtomicU64::new(0) }));
    let mut waits: Vec<_> = names
        .iter()
        .map(|name| {
            assert!(key.rule.try_check(*name).unwrap().is_allowed());
            Box::pin(key.rule.wait(*name).into_future())
        })
        .collect();
    for (wait, touchy) in waits.iter_mut().zip(&wakers) {
        let waker = Waker::from(Arc::clone(touchy));
        assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    key.wait(secs(1));
    assert_eq!(wakers.map(|touchy| touchy.times.load(Ordering::SeqCst)), [1; 4]);
}

struct Fainting;

impl Observer for Fainting {
    fn decided(&self, rule: &str, _: &Decision) {
        assert!(rule.is_empty(), "this observer panics, as it should");
    }
}

/// Goal: an observer that panics leaks no permit.
/// Method: take permits in each way under such an observer; all of them are there again.
#[test]
fn an_observer_that_panics_leaks_no_permit() {
    let builder = Limiter::memory().clock(&ManualClock::new()).observer(Fainting);
    let builder = builder.rule("one", "3 concurrent").unwrap();
    let limiter = builder.rule("two", ["3 concurrent", "100/second"]).unwrap().build();
    for name in ["one", "two"] {
        let rule = limiter.rule(name).unwrap();
        let acquire = || drop(rule.acquire("alice").try_now());
        let reserve = || drop(rule.reserve("alice", 1).try_now());
        assert!(catch_unwind(AssertUnwindSafe(acquire)).is_err());
        assert!(catch_unwind(AssertUnwindSafe(reserve)).is_err());
        assert_eq!(rule.peek("alice").try_now().unwrap().remaining(), 3, "{name}");
    }
}

/// Goal: at the store's cap nobody holds more than the limit, whenever there is room again.
/// Method: one key fills the store; another gets no permit, by any call, and is told at once; then
/// there is room, and it gets one and no second.
#[test]
fn a_full_store_gives_nobody_twice_the_limit() {
    let builder = Limiter::memory().clock(&ManualClock::new()).keys(1);
    let limiter = builder.rule("exports", "1 concurrent").unwrap().build();
    let exports = limiter.rule("exports").unwrap();
    let alice = exports.acquire("alice").try_now().unwrap();
    let refused = |decision: &Decision| {
        assert!(decision.is_refused() && !decision.is_never());
        assert_eq!((decision.retry_after(), decision.reset_after()), (None, None));
        assert_eq!(decision.source(), Source::Overflow);
    };
    refused(&exports.acquire("bob").try_now().unwrap());
    refused(&exports.reserve("bob", 1).try_now().unwrap());
    refused(&exports.try_check("bob").unwrap());
    drop(alice);
    let bob = exports.acquire("bob").try_now().unwrap();
    assert!(bob.is_allowed() && exports.acquire("bob").try_now().unwrap().is_refused());
}

/// Goal: the same key asked twice in one reservation is settled as what it is, one charge.
/// Method: reserve for one key twice, beside what others use, and cancel after a while.
#[test]
fn a_reservation_that_names_a_key_twice_is_settled_once() {
    let clock = ManualClock::new();
    let limiter = Limiter::memory().clock(&clock).rule("api", "1/second burst 10").unwrap().build();
    let api = limiter.rule("api").unwrap();
    let hold = limiter.reserve_all([("api", "alice"), ("api", "alice")], 2).unwrap();
    let hold = hold.try_now().unwrap();
    clock.advance(secs(1));
    assert!(api.check("alice").cost(4).try_now().unwrap().is_allowed());
    hold.cancel().try_now().unwrap();
    assert_eq!(api.peek("alice").try_now().unwrap().remaining(), 6, "what the check took");
}
