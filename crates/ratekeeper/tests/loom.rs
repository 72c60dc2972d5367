//! Every interleaving of a few threads on the concurrent core, explored by loom.
//!
//! Built only with `--cfg loom`, which `./test loom` sets.
#![cfg(loom)]

use loom::thread;
use ratekeeper::{Decision, Limit, Limiter, ManualClock, PermitId, Rule};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

fn limiter(keys: usize, limit: &str) -> Limiter {
    let builder = Limiter::memory().keys(keys).clock(&ManualClock::new());
    builder.rule("a", limit).and_then(|builder| builder.rule("b", limit)).expect("limits").build()
}

fn admit(limiter: &Limiter, rule: &str, key: &str) -> u64 {
    let rule = limiter.rule(rule).expect("a rule");
    u64::from(rule.try_check(key).expect("memory").is_allowed())
}

fn left(limiter: &Limiter, rule: &str, key: &str) -> u64 {
    let rule = limiter.rule(rule).expect("a rule");
    rule.peek(key).try_now().expect("memory").remaining()
}

fn both(limiter: &Limiter, asked: [(&str, &str); 2]) -> u64 {
    let check = limiter.check_all(asked).expect("rules");
    u64::from(check.try_now().expect("memory").is_allowed())
}

/// Goal: two threads cannot both take the last unit, neither when the key is new nor when it is there.
/// Method: two threads ask for a key that admits one; in every interleaving one of them gets in.
#[test]
fn the_last_unit_is_taken_once() {
    loom::model(|| {
        let limiter = limiter(4, "1/hour");
        let other = limiter.clone();
        let thread = thread::spawn(move || admit(&other, "a", "x"));
        let mine = admit(&limiter, "a", "x");
        assert_eq!(mine + thread.join().expect("no panic"), 1);
    });
}

/// Goal: a charge is not lost when the table is rebuilt under it.
/// Method: one thread charges a key while another adds keys until the table grows; the key has
/// then used exactly what was admitted.
#[test]
fn a_charge_survives_the_growth_of_the_table() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let limiter = limiter(64, "10/hour");
        for key in ["1", "2", "3", "4", "5"] {
            admit(&limiter, "a", key);
        }
        let other = limiter.clone();
        let thread = thread::spawn(move || ["6", "7", "8"].map(|key| admit(&other, "a", key)));
        assert_eq!(admit(&limiter, "a", "1"), 1);
        thread.join().expect("no panic");
        assert_eq!(left(&limiter, "a", "1"), 8);
        assert_eq!(left(&limiter, "a", "8"), 9);
    });
}

/// Goal: a refund finds its bucket while another one is forgotten and the buckets behind it move.
/// Method: one thread resets a key while another gives a unit back to a third one; it has then used
/// one unit of its two.
#[test]
fn a_refund_survives_the_removal_of_a_neighbour() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let limiter = limiter(64, "10/hour");
        for key in ["1", "2", "3", "4", "5", "6", "1"] {
            admit(&limiter, "a", key);
        }
        let other = limiter.clone();
        let thread = thread::spawn(move || {
            let rule = other.rule("a").expect("a rule");
            ["2", "3", "4"].map(|key| rule.reset(key).try_now().expect("memory").remaining())
        });
        let rule = limiter.rule("a").expect("a rule");
        assert_eq!(rule.refund("1", 1).try_now().expect("memory").remaining(), 9);
        assert_eq!(thread.join().expect("no panic"), [10; 3]);
        assert_eq!((left(&limiter, "a", "1"), left(&limiter, "a", "5")), (9, 9));
    });
}

/// Goal: requests over several buckets neither deadlock nor admit in part.
/// Method: two threads ask for the same two buckets in opposite order, a third charges one of them
/// alone; what is left in each bucket is what was admitted.
#[test]
fn requests_over_the_same_buckets_in_opposite_order_are_all_or_none() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let limiter = limiter(512, "2/hour");
        admit(&limiter, "a", "x");
        let (other, third) = (limiter.clone(), limiter.clone());
        let backward = thread::spawn(move || both(&other, [("b", "x"), ("a", "x")]));
        let single = thread::spawn(move || admit(&third, "b", "x"));
        let forward = both(&limiter, [("a", "x"), ("b", "x")]);
        let (backward, single) =
            (backward.join().expect("no panic"), single.join().expect("no panic"));
        assert_eq!(forward + backward, 1, "one unit of `a` was left");
        assert_eq!(single, 1, "`b` has two units, and one pair got in");
        assert_eq!((left(&limiter, "a", "x"), left(&limiter, "b", "x")), (0, 0));
    });
}

/// Every interleaving in which a thread is interrupted at most twice.
fn explore(check: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(check);
}

/// The rule of a limiter on a clock moved by hand.
fn rule(limit: impl ratekeeper::limiter::IntoLimits) -> (Limiter, Rule, ManualClock) {
    let clock = ManualClock::new();
    let limiter =
        Limiter::memory().keys(4).clock(&clock).rule("a", limit).expect("a limit").build();
    let rule = limiter.rule("a").expect("a rule");
    (limiter, rule, clock)
}

fn named(rule: &Rule) -> Option<PermitId> {
    rule.try_check("x").expect("memory").permit()
}

/// Goal: two threads cannot both take the last permit, whether the key is new or not.
/// Method: two threads take one and keep it; when both have ended, it is there again.
#[test]
fn the_last_permit_is_taken_once() {
    explore(|| {
        let (limiter, rule, _clock) = rule("1 concurrent");
        let other = rule.clone();
        let thread =
            thread::spawn(move || other.acquire("x").try_now().expect("memory").into_owned());
        let mine = rule.acquire("x").try_now().expect("memory");
        let yours = thread.join().expect("no panic");
        assert!(mine.is_allowed() != yours.is_allowed());
        drop((mine, yours));
        assert_eq!(left(&limiter, "a", "x"), 1);
    });
}

/// Goal: permits that come and go leave nothing held, and are never lost under a growing table.
/// Method: one thread takes and drops twice while the other does so, and adds keys.
#[test]
fn permits_that_come_and_go_leave_nothing_held() {
    explore(|| {
        let (limiter, rule, _clock) = rule("2 concurrent");
        let other = rule.clone();
        let thread = thread::spawn(move || {
            let permit = other.acquire("x").try_now().expect("memory");
            assert!(permit.is_allowed());
        });
        let mine = rule.acquire("x").try_now().expect("memory");
        let neighbour = rule.acquire("y").try_now().expect("memory");
        assert!(mine.is_allowed() && neighbour.is_allowed());
        drop(mine);
        thread.join().expect("no panic");
        assert_eq!((left(&limiter, "a", "x"), left(&limiter, "a", "y")), (2, 1));
    });
}

/// Goal: a permit by name is given back once: by one of two who do so, or by its end.
/// Method: two threads give the same name back at the tick at which it ends, and one asks for another.
#[test]
fn a_name_is_given_back_once() {
    explore(|| {
        let (limiter, rule, clock) = rule(Limit::concurrent(2).hold(Duration::from_secs(1)));
        let (name, lasting) = (named(&rule).expect("free"), rule.acquire("x").try_now());
        let (other, other_clock) = (limiter.clone(), clock.clone());
        let thread = thread::spawn(move || {
            other_clock.advance(Duration::from_secs(1));
            u64::from(other.release(name).try_now().unwrap())
        });
        let mine = u64::from(limiter.release(name).try_now().unwrap());
        assert!(mine + thread.join().expect("no panic") <= 1);
        assert_eq!(left(&limiter, "a", "x"), 1, "one is held in this process");
        drop(lasting);
        assert_eq!(left(&limiter, "a", "x"), 2);
    });
}

/// Counts how often it is woken. Loom need not know: it is looked at when all threads have ended.
#[derive(Default)]
struct Bell(AtomicU64);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Somebody who waits, and the bell that is rung for them.
struct Waiter {
    future: Pin<Box<dyn Future<Output = Decision> + Send>>,
    bell: Arc<Bell>,
}

impl Waiter {
    fn new(rule: &Rule) -> Waiter {
        let rule = rule.clone();
        Waiter { future: Box::pin(async move { rule.wait("x").await }), bell: Arc::default() }
    }

    fn is_ready(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.bell));
        let polled = self.future.as_mut().poll(&mut Context::from_waker(&waker));
        matches!(polled, Poll::Ready(decision) if decision.is_allowed())
    }

    fn woken(&self) -> u64 {
        self.bell.0.load(Ordering::SeqCst)
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Goal: when one who waits gives up at the very moment of the turn, the next one is woken once: now,
/// if the turn was given up in time, else at the next turn.
/// Method: one thread moves the clock to the first turn, the other drops the first of two. The delay
/// of whoever comes next says which of the two was first.
#[test]
fn a_turn_given_up_is_handed_over_or_used() {
    explore(|| {
        let (limiter, rule, clock) = rule(Limit::per_second(1).burst(5).shaping());
        assert_eq!(admit(&limiter, "a", "x"), 1);
        let (mut first, mut second) = (Waiter::new(&rule), Waiter::new(&rule));
        assert!(!first.is_ready() && !second.is_ready());
        // Loom does not see the clock, so the thread that moves it is the one that may come late.
        let hand = clock.clone();
        let thread = thread::spawn(move || hand.advance(SECOND));
        drop(first);
        thread.join().expect("no panic");
        let delay = rule.peek("x").try_now().expect("memory").delay().expect("a line");
        let handed_over = delay == SECOND;
        assert!(handed_over || delay == 2 * SECOND, "{delay:?}");
        assert_eq!(second.woken(), u64::from(handed_over));
        if !handed_over {
            assert!(!second.is_ready());
            clock.advance(SECOND);
        }
        assert_eq!((second.is_ready(), second.woken()), (true, 1));
    });
}

/// Goal: who comes while the clock moves is not forgotten, in a line or asleep.
/// Method: one thread moves the clock to the turn while the other begins to wait: it passes, or it
/// is woken.
#[test]
fn who_comes_while_the_clock_moves_is_not_forgotten() {
    for limit in [Limit::per_second(1).burst(5).shaping(), Limit::per_second(1)] {
        explore(move || {
            let (limiter, rule, clock) = rule(limit);
            assert_eq!(admit(&limiter, "a", "x"), 1);
            // Loom lets the first value of an atomic be read too late, as if it were not in the one
            // order of all such writes: somebody has waited before, so that it is not the first.
            assert!(!Waiter::new(&rule).is_ready());
            let thread = thread::spawn(move || clock.advance(SECOND));
            let mut waiter = Waiter::new(&rule);
            let ready = waiter.is_ready();
            thread.join().expect("no panic");
            assert!(ready || waiter.woken() == 1 && waiter.is_ready());
        });
    }
}

/// Goal: who changes the waker while the turn comes is woken by the new one, or passes.
/// Method: one thread moves the clock to the turn while the other polls with another waker.
#[test]
fn a_waker_that_changes_while_the_turn_comes_is_not_lost() {
    for limit in [Limit::per_second(1).burst(5).shaping(), Limit::per_second(1)] {
        explore(move || {
            let (limiter, rule, clock) = rule(limit);
            assert_eq!(admit(&limiter, "a", "x"), 1);
            let mut waiter = Waiter::new(&rule);
            assert!(!waiter.is_ready());
            let thread = thread::spawn(move || clock.advance(SECOND));
            let former = std::mem::take(&mut waiter.bell);
            let ready = waiter.is_ready();
            thread.join().expect("no panic");
            assert!(ready || waiter.woken() == 1 && waiter.is_ready());
            assert!(former.0.load(Ordering::SeqCst) + waiter.woken() <= 1, "woken once");
        });
    }
}
