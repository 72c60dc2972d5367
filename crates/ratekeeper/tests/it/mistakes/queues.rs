//! Mistakes made with queues.
//!
//! Invariant: a queue counts in whole numbers, so it is as long as written, and nobody is early.

use crate::one_key::{TICK, micros, millis, one_key, secs};
use crate::waiting::crowd::Crowd;
use ratekeeper::Limit;

/// Goal: B8, a queue for ten takes ten and not nine, at any rate and at any time.
/// Method: fill queues of several capacities in each of many ticks after a former line.
#[test]
fn a_queue_is_as_long_as_written() {
    for (per_second, capacity) in [(10, 10), (10, 100), (3, 10), (7, 49), (8_179, 100)] {
        let alice = one_key(Limit::per_second(per_second).burst(capacity).shaping());
        for tick in 0..200 {
            assert_eq!(alice.admitted(capacity + 5), capacity, "{per_second}/s, round {tick}");
            alice.wait(secs(100) + micros(tick * 997));
        }
    }
}

/// Goal: B9, nobody is let go early: a delay is rounded up to a tick, not down to a millisecond.
/// Method: at 3/s the turns are at 333 333⅓ and 666 666⅔ µs: a tick before them nobody passes.
#[test]
fn a_turn_is_not_rounded_down() {
    let alice = one_key(Limit::per_second(3).burst(4).shaping());
    let delays = [0; 4].map(|_| alice.ask(1).delay().unwrap());
    assert_eq!(delays, [0, 333_334, 666_667, 1_000_000].map(micros));

    let bob = one_key(Limit::per_second(3).burst(4).shaping());
    let mut crowd = Crowd::new(&bob.clock);
    let start = crowd.now();
    for _ in 0..4 {
        crowd.enter(bob.rule.wait("alice"));
    }
    assert_eq!(crowd.passed_numbers(), [0]);
    for (who, turn) in [(1, 333_334), (2, 666_667), (3, 1_000_000)] {
        crowd.go(start + turn - 1);
        assert_eq!(crowd.passed_numbers(), [0; 0], "a tick early");
        crowd.go(start + turn);
        assert_eq!(crowd.passed_numbers(), [who]);
    }
}

/// Goal: B10, a full queue says when there is room, which is not one over the rate.
/// Method: at 0.1/s, 9.5 s into the service of the first one, room for one comes in half a second,
/// and for three in 20.5 s.
#[test]
fn a_full_queue_says_when_there_is_room() {
    let alice = one_key(Limit::per_minute(6).burst(5).shaping());
    assert_eq!(alice.admitted(6), 5);
    alice.wait(millis(9_500));
    assert_eq!(alice.ask(1).retry_after(), Some(millis(500)));
    assert_eq!(alice.ask(3).retry_after(), Some(millis(20_500)));
    alice.wait(millis(500) - TICK);
    assert!(alice.ask(1).is_refused());
    alice.wait(TICK);
    assert_eq!(alice.ask(1).delay(), Some(secs(40)));
}

/// Goal: B10, the turn of one who gave up is not lost.
/// Method: of ten who wait at 1/s nine give up: the tenth has the second turn, and the queue is as
/// good as empty.
#[test]
fn the_turn_of_who_gave_up_is_used() {
    let alice = one_key(Limit::per_second(1).burst(11).shaping());
    let mut crowd = Crowd::new(&alice.clock);
    for _ in 0..11 {
        crowd.enter(alice.rule.wait("alice"));
    }
    assert!(alice.ask(1).is_refused());
    (1..10).for_each(|who| crowd.leave(who));
    assert_eq!(alice.peek().remaining(), 9);
    alice.wait(secs(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [0, 10]);
}

/// Goal: spec 1.6, giving up a turn in the middle does not put two requests on one turn.
/// Method: the second of three gives up and another one comes: all turns are a second apart.
#[test]
fn two_requests_never_share_a_turn() {
    let alice = one_key(Limit::per_second(1).burst(9).shaping());
    let mut crowd = Crowd::new(&alice.clock);
    for _ in 0..3 {
        crowd.enter(alice.rule.wait("alice"));
    }
    crowd.leave(1);
    crowd.enter(alice.rule.wait("alice"));
    assert_eq!(crowd.passed_numbers(), [0]);
    for who in [2, 3] {
        alice.wait(secs(1) - TICK);
        crowd.poll_woken();
        assert_eq!(crowd.passed_numbers(), [0; 0]);
        alice.wait(TICK);
        crowd.poll_woken();
        assert_eq!(crowd.passed_numbers(), [who]);
    }
}
