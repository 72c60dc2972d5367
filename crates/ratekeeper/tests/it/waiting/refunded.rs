//! Units given back to a line, and a key that is reset while others wait.
//!
//! Invariant: a turn that was told is nobody else's, whatever is given back.

use super::crowd::Crowd;
use crate::one_key::{OneKey, millis, one_key, secs};
use ratekeeper::Limit;

fn slow() -> OneKey {
    one_key(Limit::per_second(1).burst(10).shaping())
}

/// Goal: units given back while somebody waits move nobody: the turns before were used.
/// Method: two waiters behind a charge of five; give back two, then more than there is.
#[test]
fn units_given_back_leave_a_line_where_it_is() {
    let key = slow();
    assert_eq!(key.ask(5).delay(), Some(secs(0)));
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..2 {
        crowd.enter(key.rule.wait("alice").cost(2));
    }
    assert_eq!(key.rule.refund("alice", 2).try_now().unwrap().remaining(), 1);
    key.wait(secs(5) - millis(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [0; 0]);
    key.wait(millis(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [0]);
    let _ = key.rule.refund("alice", 9).try_now().unwrap();
    key.wait(secs(2) - millis(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [0; 0]);
    key.wait(millis(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [1]);
    assert_eq!((key.peek().remaining(), key.peek().delay()), (8, Some(secs(2))));
    assert_eq!(key.rule.refund("alice", 9).try_now().unwrap().remaining(), 10, "nobody waits");
}

/// Goal: a reset lets the first one pass, and leaves the others in line, at their pace.
/// Method: reset a key with three waiters.
#[test]
fn a_reset_leaves_the_line_with_its_first_turn_now() {
    let key = slow();
    assert_eq!(key.ask(5).delay(), Some(secs(0)));
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..3 {
        crowd.enter(key.rule.wait("alice"));
    }
    assert_eq!(key.rule.reset("alice").try_now().unwrap().remaining(), 7);
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [0]);
    for who in [1, 2] {
        key.wait(secs(1));
        crowd.poll_woken();
        assert_eq!(crowd.passed_numbers(), [who]);
    }
}

/// Goal: a line does not move over a turn that was told in front of it, when nobody waited yet.
/// Method: a check that passes now, one that is told a second, one who waits for two; a unit given
/// back must not let the waiter pass at the second that was told.
#[test]
fn units_given_back_do_not_put_a_waiter_on_a_told_turn() {
    let key = slow();
    assert_eq!(key.ask(1).delay(), Some(secs(0)));
    assert_eq!(key.ask(1).delay(), Some(secs(1)));
    let mut crowd = Crowd::new(&key.clock);
    let who = crowd.enter(key.rule.wait("alice"));
    let _ = key.rule.refund("alice", 1).try_now().unwrap();
    key.wait(secs(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [0; 0], "that turn was told to another one");
    assert!(crowd.waits(who));
}
