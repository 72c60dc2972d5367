//! Waiting where there are no turns: asking again at the tick that the refusal said.
//!
//! Invariant: nobody waits for what does not come in time.

use super::crowd::{Crowd, Passed};
use crate::one_key::{OneKey, TICK, each, micros, one_key, secs};
use ratekeeper::{Algorithm, Limit};
use std::time::Duration;

/// A key of each algorithm of which all is spent, in the middle of a window, and how long until the
/// next unit is there.
fn spent() -> impl Iterator<Item = (Algorithm, OneKey, Duration)> {
    each(7, secs(60)).into_iter().map(|(algorithm, key)| {
        key.wait(secs(17));
        assert_eq!(key.admitted(8), 7, "{algorithm}");
        let wait = key.ask(1).retry_after().expect("all is spent");
        (algorithm, key, wait)
    })
}

fn one(passed: &[Passed]) -> &Passed {
    assert_eq!(passed.len(), 1, "{passed:?}");
    &passed[0]
}

/// Goal: one who waits alone passes at the very tick that a refusal says, and is not woken before.
/// Method: every algorithm; a longest wait of just that long.
#[test]
fn a_lone_waiter_passes_at_the_promised_tick() {
    for (algorithm, key, wait) in spent() {
        let mut crowd = Crowd::new(&key.clock);
        let start = key.clock.now();
        let who = crowd.enter(key.rule.wait("alice").max_wait(wait));
        assert!(crowd.waits(who), "{algorithm}");
        key.wait(wait - TICK);
        crowd.poll_woken();
        assert_eq!(crowd.woken(who), 0, "{algorithm}: a tick early");
        key.wait(TICK);
        crowd.poll_woken();
        let passed = crowd.passed();
        assert!(one(&passed).decision.is_allowed(), "{algorithm}");
        assert_eq!(micros(one(&passed).at), start + wait, "{algorithm}");
        assert_eq!(passed[0].decision.delay(), None, "{algorithm}: there are no turns");
    }
}

/// Goal: who would have to wait for longer than they want is refused at once, and told how long.
/// Method: a longest wait that is a tick too short; a deadline that is over; a cost that never fits.
#[test]
fn a_wait_that_is_too_long_is_refused_at_once() {
    let over = tokio::time::Instant::now().into_std();
    for (algorithm, key, wait) in spent() {
        let mut crowd = Crowd::new(&key.clock);
        crowd.enter(key.rule.wait("alice").max_wait(wait - TICK));
        crowd.enter(key.rule.wait("alice").deadline(over));
        crowd.enter(key.rule.wait("alice").cost(8));
        let [short, late, never] = crowd.passed().try_into().expect("nobody waits");
        assert_eq!(short.decision.retry_after(), Some(wait), "{algorithm}");
        assert_eq!(late.decision.retry_after(), Some(wait), "{algorithm}");
        assert!(never.decision.is_never() && never.decision.is_refused(), "{algorithm}");
    }
}

/// Goal: the shorter of a longest wait and a deadline counts.
/// Method: a deadline that is over beside a long longest wait, and the other way round.
#[test]
fn the_shorter_of_both_bounds_counts() {
    let now = tokio::time::Instant::now().into_std();
    let key = one_key(Limit::per_second(1).burst(9).shaping());
    let _ = key.ask(1);
    let mut crowd = Crowd::new(&key.clock);
    crowd.enter(key.rule.wait("alice").deadline(now).max_wait(secs(99)));
    crowd.enter(key.rule.wait("alice").deadline(now + secs(9_999)).max_wait(secs(1) - TICK));
    assert!(crowd.passed().iter().all(|passed| passed.decision.is_refused()));
    assert_eq!(crowd.len(), 0);
    crowd.enter(key.rule.wait("alice").deadline(now + secs(9_999)).max_wait(secs(1)));
    assert_eq!(crowd.len(), 1);
}

/// Goal: of several who wait for one unit, one gets it, and the others go on waiting; who then would
/// have to wait for too long is refused at that moment.
/// Method: three wait at one unit a second, for one, one and a half, and two seconds.
#[test]
fn those_who_find_the_unit_taken_wait_again_while_they_may() {
    const PATIENT: usize = 2;
    let key = one_key("1/second");
    assert!(key.ask(1).is_allowed());
    let mut crowd = Crowd::new(&key.clock);
    for longest in [1_000_000, 1_500_000, 2_000_000] {
        crowd.enter(key.rule.wait("alice").max_wait(micros(longest)));
    }
    key.wait(secs(1));
    crowd.poll_woken();
    let first = crowd.passed();
    let winner = first.iter().find(|one| one.decision.is_allowed()).expect("one unit is there");
    let losers = (0..3).filter(|who| *who != winner.who);
    for who in losers.filter(|who| *who != PATIENT) {
        let told = first.iter().find(|one| one.who == who).expect("it is told at once");
        assert_eq!(told.decision.retry_after(), Some(secs(1)));
    }
    key.wait(secs(1) - TICK);
    crowd.poll_woken();
    assert_eq!(crowd.passed(), []);
    key.wait(TICK);
    crowd.poll_woken();
    let later: Vec<(usize, bool)> =
        crowd.passed().iter().map(|one| (one.who, one.decision.is_allowed())).collect();
    assert_eq!(later, if winner.who == PATIENT { vec![] } else { vec![(PATIENT, true)] });
}

/// Goal: many who wait for a rate pass as fast as it allows, and all of them.
/// Method: forty waiters at 10/s and a burst of ten: three seconds later the last one has passed.
#[test]
fn everyone_passes_as_fast_as_the_rate_allows() {
    let key = one_key("10/second");
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..40 {
        crowd.enter(key.rule.wait("alice"));
    }
    assert_eq!(crowd.passed().len(), 10);
    for tenth in 1..=30 {
        key.wait(micros(100_000));
        crowd.poll_woken();
        assert_eq!(crowd.passed().len(), 1, "after {tenth} tenths");
    }
    assert_eq!(crowd.len(), 0);
}

/// Goal: who gives up while asleep has charged nothing, and leaves nothing behind.
/// Method: drop a waiter, and see the unit there for another.
#[test]
fn who_gives_up_before_it_is_time_has_charged_nothing() {
    for (algorithm, key, wait) in spent() {
        let mut crowd = Crowd::new(&key.clock);
        let who = crowd.enter(key.rule.wait("alice"));
        crowd.leave(who);
        key.wait(wait);
        crowd.poll_woken();
        assert!(key.ask(1).is_allowed(), "{algorithm}");
    }
}

/// Goal: nobody can tell when a permit comes back, so nobody is made to wait for it.
/// Method: wait for a concurrency limit that is full.
#[test]
fn a_wait_for_a_permit_is_answered_at_once() {
    let key = one_key("1 concurrent");
    let permit = key.rule.acquire("alice").try_now().unwrap();
    assert!(permit.is_allowed());
    let mut crowd = Crowd::new(&key.clock);
    crowd.enter(key.rule.wait("alice"));
    let passed = crowd.passed();
    assert!(one(&passed).decision.is_refused() && !passed[0].decision.is_never());
    assert_eq!(passed[0].decision.retry_after(), None);
}
