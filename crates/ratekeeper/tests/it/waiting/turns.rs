//! The laws of turns, each by itself: far enough apart, in order, no more than fit, none early.
//!
//! Invariant: what is expected is worked out here from costs and rate; no other queue is asked.

use super::crowd::Crowd;
use super::shaped::{Shaped, shaped};
use crate::laws::cases;
use crate::one_key::{OneKey, TICK, micros, millis, one_key, secs};
use proptest::collection::vec;
use proptest::prelude::*;
use ratekeeper::{Decision, Limit};

/// The turns of those who come at once, in ticks from then on: each when all before it has drained.
/// Whoever does not fit has none.
pub(crate) fn turns(shaped: &Shaped, costs: &[u64]) -> Vec<Option<u64>> {
    let mut before = 0;
    let turn = |cost: &u64| {
        (before + cost <= shaped.burst).then(|| {
            before += cost;
            shaped.drained(before - cost)
        })
    };
    costs.iter().map(turn).collect()
}

fn bounded() -> impl Strategy<Value = Shaped> {
    shaped().prop_map(|shaped| Shaped { max_wait: None, ..shaped })
}

/// What is said to a request: of a check, or of one who waits no longer than so many ticks. Whoever
/// is let in leaves at once.
fn answer(key: &OneKey, cost: u64, patience: Option<u64>) -> Decision {
    let Some(ticks) = patience else { return key.ask(cost) };
    let mut alone = Crowd::new(&key.clock);
    let who = alone.enter(key.rule.wait("alice").cost(cost).max_wait(micros(ticks)));
    match alone.passed().first() {
        Some(passed) => passed.decision,
        None => {
            alone.leave(who);
            key.peek()
        }
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Goal: turns are as far apart as what is in front takes to drain, in the order of coming; no
    /// more units are let in than fit; nobody is woken before the turn, nor twice.
    /// Method: all come at one instant; then the clock stops a tick before every turn, and at it.
    #[test]
    fn turns_are_apart_in_order_and_never_early(shaped in bounded(), costs in vec(1..5_u64, 1..14)) {
        let key = one_key(shaped.limit());
        let mut crowd = Crowd::new(&key.clock);
        let base = crowd.now();
        let mut line = Vec::new();
        for (cost, turn) in costs.iter().zip(turns(&shaped, &costs)) {
            let who = crowd.enter(key.rule.wait("alice").cost(*cost));
            match (turn, &crowd.passed()[..]) {
                (Some(0), [passed]) => prop_assert_eq!(passed.decision.delay(), Some(secs(0))),
                (Some(turn), []) => line.push((who, turn)),
                (None, [passed]) => prop_assert!(passed.decision.is_refused()),
                (turn, passed) => prop_assert!(false, "{turn:?}, but {passed:?}"),
            }
        }
        for (who, turn) in line {
            crowd.go(base + turn - 1);
            prop_assert_eq!(crowd.passed_numbers(), [0; 0], "a tick early");
            prop_assert_eq!(crowd.woken(who), 0, "woken a tick early");
            crowd.go(base + turn);
            let passed = crowd.passed();
            prop_assert_eq!(passed.len(), 1);
            prop_assert_eq!((passed[0].who, passed[0].at), (who, base + turn));
            prop_assert_eq!(passed[0].decision.delay(), Some(micros(turn)));
        }
        prop_assert_eq!(crowd.len(), 0);
    }

    /// Goal: a refusal says exactly when the same request would get in: not a tick earlier.
    /// Method: fill a line with who waits and who was told, and ask at that tick and the one before,
    /// by waiting and by checking, with the rule's longest wait and one's own.
    #[test]
    fn a_refusal_says_the_first_tick_that_admits(
        shaped in shaped(), costs in vec(1..5_u64, 1..30), asked in 1..12_u64,
        patience in proptest::option::of(any::<u16>()), told in any::<u32>(),
    ) {
        let key = one_key(shaped.limit());
        let mut crowd = Crowd::new(&key.clock);
        for (number, cost) in costs.iter().enumerate() {
            match told >> number & 1 {
                0 => drop(crowd.enter(key.rule.wait("alice").cost(*cost))),
                _ => drop(key.ask(*cost)),
            }
        }
        crowd.passed();
        let patience = patience.map(|share| shaped.share(share));
        let refused = answer(&key, asked, patience);
        prop_assert_eq!(refused.is_never(), asked > shaped.burst);
        if let Some(wait) = refused.retry_after() {
            key.wait(wait - TICK);
            prop_assert_eq!(answer(&key, asked, patience).retry_after(), Some(TICK));
            key.wait(TICK);
            prop_assert!(answer(&key, asked, patience).is_allowed());
        }
    }
}

/// How many of fifty pass at once, and how many are let in to wait.
fn let_in<'a>(crowd: &mut Crowd<'a>, key: &'a OneKey) -> (usize, usize) {
    let before = crowd.len();
    for _ in 0..50 {
        crowd.enter(key.rule.wait("alice"));
    }
    let passed = crowd.passed();
    let at_once = passed.iter().filter(|passed| passed.decision.is_allowed()).count();
    (at_once, crowd.len() - before)
}

/// Goal: a line that is full holds its capacity, the one in service included, and not one more.
/// Method: ask far too often, wait for some turns, and ask far too often again.
#[test]
fn a_line_is_never_longer_than_its_capacity() {
    let key = one_key(Limit::per_second(10).burst(4).shaping());
    let mut crowd = Crowd::new(&key.clock);
    assert_eq!(let_in(&mut crowd, &key), (1, 3));
    key.wait(millis(250));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [1, 2]);
    assert_eq!(let_in(&mut crowd, &key), (0, 2), "half of the one in service is still to be done");
}

/// Goal: those in a line pass in order when the clock jumps over all of their turns.
/// Method: four waiters, one jump; then the next one passes at once.
#[test]
fn a_jump_of_the_clock_lets_the_line_go_in_order() {
    let key = one_key(Limit::per_second(10).burst(9).shaping());
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..5 {
        crowd.enter(key.rule.wait("alice"));
    }
    assert_eq!(crowd.passed_numbers(), [0]);
    key.wait(secs(9));
    crowd.enter(key.rule.wait("alice"));
    let passed = crowd.passed();
    let mut numbers: Vec<usize> = passed.iter().map(|passed| passed.who).collect();
    numbers.retain(|who| *who < 5);
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(passed.len(), 5, "and the one who came after the jump");
}

/// Goal: a look takes no place, and does not wait.
/// Method: wait with a cost of nothing behind a line; the line is as long as before.
#[test]
fn a_cost_of_nothing_passes_at_once() {
    let key = one_key(Limit::per_second(1).burst(5).shaping());
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..3 {
        crowd.enter(key.rule.wait("alice"));
    }
    crowd.passed();
    crowd.enter(key.rule.wait("alice").cost(0));
    let passed = crowd.passed();
    assert_eq!((passed.len(), passed[0].who), (1, 3));
    assert_eq!(passed[0].decision.delay(), Some(secs(3)), "what one who comes now would wait");
    assert_eq!((passed[0].decision.remaining(), key.peek().remaining()), (2, 2));
}

/// Goal: a waiter that moves to another task is woken there, once, and not where it was.
/// Method: poll with another waker in the middle of the wait.
#[test]
fn the_latest_waker_is_the_one_that_is_woken() {
    let key = one_key(Limit::per_second(1).burst(5).shaping());
    let mut crowd = Crowd::new(&key.clock);
    let base = crowd.now();
    for _ in 0..3 {
        crowd.enter(key.rule.wait("alice"));
    }
    crowd.change_waker(1);
    crowd.change_waker(2);
    crowd.change_waker(1);
    assert_eq!((crowd.woken(1), crowd.woken(2)), (0, 0));
    crowd.go(base + 1_000_000);
    assert_eq!(crowd.passed_numbers(), [0, 1]);
    crowd.go(base + 2_000_000);
    assert_eq!(crowd.passed_numbers(), [2]);
}

/// Goal: a future that was never polled has charged nothing.
/// Method: make and drop some.
#[test]
fn a_wait_that_is_not_polled_does_nothing() {
    let key = one_key(Limit::per_second(1).burst(2).shaping());
    for _ in 0..5 {
        drop(key.rule.wait("alice").into_future());
    }
    assert_eq!((key.peek().remaining(), key.limiter.stats().created), (2, 0));
}

/// Goal: one who comes when the line has just moved up stands behind all of it.
/// Method: reset the key, so that the first one passes; another one comes at the same tick.
#[test]
fn who_comes_late_does_not_overtake() {
    let key = one_key(Limit::per_second(1).burst(9).shaping());
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..3 {
        crowd.enter(key.rule.wait("alice"));
    }
    assert_eq!(crowd.passed_numbers(), [0]);
    let _ = key.rule.reset("alice").try_now().unwrap();
    let last = crowd.enter(key.rule.wait("alice"));
    assert_eq!(crowd.passed_numbers(), [1]);
    key.wait(secs(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [2]);
    assert!(crowd.waits(last));
}
