//! Turns that are told, by `check` and by `reserve`: they stay where they are.
//!
//! Invariant: whoever went away with a turn keeps it, whatever others do.

use super::crowd::Crowd;
use crate::one_key::{OneKey, TICK, millis, one_key, secs};
use ratekeeper::{Limit, Limiter, ManualClock, Source};

fn slow() -> OneKey {
    one_key(Limit::per_second(1).burst(10).shaping())
}

/// Goal: a check of a shaping limit answers at once, with the time to pass.
/// Method: five checks at one instant: none, one, two, three, four seconds.
#[test]
fn a_check_is_told_its_turn() {
    let key = slow();
    for turn in 0..5 {
        let decision = key.ask(1);
        assert_eq!((decision.delay(), decision.retry_after()), (Some(secs(turn)), None));
    }
    assert_eq!(key.ask(2).to_string(), "allowed after 5.0 s, 3 of 10 left");
    let refused = key.ask(4);
    assert_eq!((refused.delay(), refused.retry_after()), (None, Some(secs(1))));
}

/// Goal: a told turn does not move up, and nobody behind it comes before it.
/// Method: a waiter in front of a told turn leaves: the gap is lost, and the one behind stays.
#[test]
fn a_told_turn_stays_when_others_leave() {
    let key = slow();
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..3 {
        crowd.enter(key.rule.wait("alice"));
    }
    assert_eq!(key.ask(1).delay(), Some(secs(3)));
    let behind = crowd.enter(key.rule.wait("alice"));
    crowd.leave(1);
    assert_eq!(key.peek().delay(), Some(secs(5)), "the end of the line did not move");
    key.wait(secs(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [0, 2], "in front of the told turn they move up");
    key.wait(secs(3) - millis(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [0; 0]);
    key.wait(millis(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [behind], "four seconds: behind the told turn");
}

/// Goal: a reservation under a shaping limit is a told turn, given back only while it is the last.
/// Method: cancel the first of two, then the last one.
#[test]
fn a_reserved_turn_is_given_back_only_while_it_is_the_last() {
    let key = slow();
    let first = key.rule.reserve("alice", 2).try_now().unwrap();
    let last = key.rule.reserve("alice", 3).try_now().unwrap();
    assert_eq!((first.delay(), last.delay()), (Some(secs(0)), Some(secs(2))));
    first.cancel().try_now().unwrap();
    assert_eq!(key.peek().remaining(), 5, "somebody was told the turn behind it");
    last.settle(1).try_now().unwrap();
    assert_eq!((key.peek().remaining(), key.peek().delay()), (7, Some(secs(3))));
}

/// Goal: while somebody waits behind a reservation, settling it changes nothing; when they have left,
/// it does.
/// Method: settle one of two reservations while a waiter stands behind, and the other one after.
#[test]
fn a_reserved_turn_with_a_line_behind_it_is_used() {
    let key = slow();
    let hold = key.rule.reserve("alice", 4).try_now().unwrap();
    let mut crowd = Crowd::new(&key.clock);
    let who = crowd.enter(key.rule.wait("alice"));
    hold.cancel().try_now().unwrap();
    assert_eq!((key.peek().remaining(), key.peek().delay()), (5, Some(secs(5))));
    let hold = key.rule.reserve("alice", 2).try_now().unwrap();
    crowd.leave(who);
    assert_eq!(key.peek().remaining(), 3, "the gap in front of the told turn is lost");
    hold.cancel().try_now().unwrap();
    assert_eq!(key.peek().remaining(), 5);
}

/// Goal: a reserved turn at the end of a line stays as it is while somebody waits in front of it,
/// whatever it cost.
/// Method: reserve behind a waiter, and settle at nothing, and at more.
#[test]
fn a_reserved_turn_behind_a_line_stays() {
    for actual in [0, 1, 9] {
        let key = slow();
        assert_eq!(key.ask(1).delay(), Some(secs(0)));
        let mut crowd = Crowd::new(&key.clock);
        let who = crowd.enter(key.rule.wait("alice"));
        let hold = key.rule.reserve("alice", 2).try_now().unwrap();
        assert_eq!(hold.delay(), Some(secs(2)));
        hold.settle(actual).try_now().unwrap();
        assert_eq!((key.peek().remaining(), key.peek().delay()), (6, Some(secs(4))), "{actual}");
        crowd.leave(who);
        assert_eq!(key.peek().delay(), Some(secs(4)), "the turn was told, and is not used twice");
    }
}

/// Goal: what was used beyond a reserved turn delays those who come later, up to one more burst.
/// Method: settle far above; the line is closed for two bursts.
#[test]
fn a_reserved_turn_settled_above_delays_the_next() {
    let key = slow();
    let hold = key.rule.reserve("alice", 1).try_now().unwrap();
    hold.settle(3).try_now().unwrap();
    assert_eq!(key.peek().delay(), Some(secs(3)));
    let hold = key.rule.reserve("alice", 1).try_now().unwrap();
    hold.settle(100).try_now().unwrap();
    let refused = key.ask(1);
    assert_eq!((refused.remaining(), refused.retry_after()), (0, Some(secs(11))));
    key.wait(secs(11));
    assert_eq!(key.ask(1).delay(), Some(secs(9)));
}

/// Goal: newcomers to a full store wait for turns of the line that they share: apart, in order, never
/// early; the turn of one who leaves is lost, since nobody there moves up.
/// Method: a store for eight keys, full of such as stay. Two newcomers wait, one of them twice around
/// the other, who leaves; units given back to one of them move nothing.
#[test]
fn newcomers_to_a_full_store_share_a_line() {
    let clock = ManualClock::new();
    let limit = Limit::per_second(1).burst(5).shaping();
    let limiter = Limiter::memory().keys(8).clock(&clock).rule("line", limit).unwrap().build();
    let rule = limiter.rule("line").unwrap();
    let fill = |number: u32| rule.check(format!("{number}")).cost(5).try_now().unwrap();
    let first = (0..1_000).map(fill).find(|told| told.source() == Source::Overflow);
    assert_eq!(first.unwrap().delay(), Some(secs(0)), "it took all of the shared line");
    clock.advance(secs(4));
    let mut crowd = Crowd::new(&clock);
    for name in ["new 0", "new 1", "new 0", "new 2", "new 3"] {
        crowd.enter(rule.wait(name));
    }
    let refused = crowd.passed();
    assert_eq!((refused.len(), refused[0].who), (1, 4), "four fit");
    assert!(refused[0].decision.is_refused() && refused[0].decision.source() == Source::Overflow);
    crowd.leave(1);
    let _ = rule.refund("new 0", 2).try_now().unwrap();
    for (who, pause) in [(0, 1), (2, 2), (3, 1)] {
        clock.advance(secs(pause) - TICK);
        crowd.poll_woken();
        assert_eq!(crowd.passed_numbers(), [0; 0], "before {who}");
        clock.advance(TICK);
        crowd.poll_woken();
        assert_eq!(crowd.passed_numbers(), [who]);
    }
}

/// Goal: a key with a turn to come is not forgotten when the store is full.
/// Method: tell a few turns, bring a flood of keys that are farther from whole, and ask again.
#[test]
fn a_told_turn_survives_a_flood_of_keys() {
    let clock = ManualClock::new();
    let builder = Limiter::memory().keys(64).clock(&clock).rule("flood", "1000/day").unwrap();
    let limit = Limit::per_second(1).burst(100).shaping();
    let limiter = builder.rule("line", limit).unwrap().build();
    let (line, flood) = (limiter.rule("line").unwrap(), limiter.rule("flood").unwrap());
    for turn in 0..3 {
        assert_eq!(line.try_check("alice").unwrap().delay(), Some(secs(turn)));
    }
    for number in 0..20_000 {
        let _ = flood.check(format!("{number}")).cost(100).try_now().unwrap();
    }
    assert!(limiter.stats().evicted > 1_000, "{:?}", limiter.stats());
    assert_eq!(line.try_check("alice").unwrap().delay(), Some(secs(3)));
}

/// Goal: where a line and a rate are one rule, what the rate refuses does not wait in the line.
/// Method: three a minute beside ten a second: the fourth is refused at once, and has no turn.
#[test]
fn what_another_limit_refuses_has_no_turn() {
    let key = one_key([Limit::per_second(10).burst(9).shaping(), Limit::per_minute(3)]);
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..4 {
        crowd.enter(key.rule.wait("alice"));
    }
    let passed = crowd.passed();
    let refused: Vec<_> = passed.iter().filter(|passed| passed.decision.is_refused()).collect();
    assert_eq!((passed.len(), refused.len(), refused[0].who), (2, 1, 3));
    assert_eq!(refused[0].decision.retry_after(), Some(secs(20)));
    crowd.leave(1);
    key.wait(millis(100));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [2], "the turn of who left, not one of the refused");
    assert_eq!(key.peek().remaining(), 0, "who left the line was counted by the rate");
}
