//! Those who give up: their place is gone at once, and everyone behind has moved up.
//!
//! Invariant: the expected turns are those of a line which the ones who gave up never entered.

use super::crowd::Crowd;
use super::shaped::{Shaped, shaped};
use super::turns::turns;
use crate::laws::cases;
use crate::one_key::{TICK, millis, one_key, secs};
use proptest::collection::vec;
use proptest::prelude::*;
use ratekeeper::Limit;

proptest! {
    #![proptest_config(cases(2_000))]

    /// Goal: whoever gives up before the turn, any of them and in any order, leaves the others as if
    /// they had been alone; the end of the line moves up, too.
    /// Method: at some time a random part of the line leaves. Those who have had their turn stay; the
    /// others have the turns of a line without those who left.
    #[test]
    fn the_rest_pass_as_if_the_others_had_never_come(
        shaped in shaped(), costs in vec(1..4_u64, 1..12), leaves in any::<u16>(),
        when in any::<u16>(), backwards in any::<bool>(),
    ) {
        let shaped = Shaped { max_wait: None, burst: 40, ..shaped };
        let key = one_key(shaped.limit());
        let mut crowd = Crowd::new(&key.clock);
        let base = crowd.now();
        for cost in &costs {
            crowd.enter(key.rule.wait("alice").cost(*cost));
        }
        let now = base + u64::from(when) * shaped.drained(costs.iter().sum()) / 65_536;
        crowd.go(now);
        let had_turn = crowd.passed().len();
        let mut left: Vec<usize> = (had_turn..costs.len()).filter(|who| leaves >> who & 1 == 1).collect();
        let stay: Vec<usize> = (0..costs.len()).filter(|who| !left.contains(who)).collect();
        if backwards {
            left.reverse();
        }
        left.iter().for_each(|who| crowd.leave(*who));

        let rest: Vec<u64> = stay.iter().map(|who| costs[*who]).collect();
        let used: u64 = shaped.drained(rest.iter().sum());
        let whole = (base + used).saturating_sub(now);
        prop_assert_eq!(key.peek().reset_after(), Some(std::time::Duration::from_micros(whole)));
        for (who, turn) in stay.iter().zip(turns(&shaped, &rest)).skip(had_turn) {
            let turn = base + turn.expect("they all fit");
            prop_assert!(turn > now);
            crowd.go(turn - 1);
            prop_assert_eq!(crowd.passed_numbers(), [0; 0], "before {}", turn);
            crowd.go(turn);
            prop_assert_eq!(crowd.passed_numbers(), [*who]);
        }
        prop_assert_eq!(crowd.len(), 0);
    }
}

/// Goal: room that is given up is there for the next one at once, and the wait is not longer than
/// for those who stayed.
/// Method: fill a line, drop one in the middle and the last, and come again.
#[test]
fn the_room_of_who_left_is_free_at_once() {
    let key = one_key(Limit::per_second(1).burst(4).shaping());
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..4 {
        crowd.enter(key.rule.wait("alice"));
    }
    assert!(key.ask(1).is_refused());
    crowd.leave(1);
    crowd.leave(3);
    assert_eq!((key.peek().remaining(), key.peek().delay()), (2, Some(secs(2))));
    assert_eq!(crowd.passed_numbers(), [0], "dropping lets nobody pass before the turn");
    let who = crowd.enter(key.rule.wait("alice"));
    key.wait(secs(2) - TICK);
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [2]);
    key.wait(TICK);
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [who]);
}

/// Goal: one who was woken for the turn and is dropped before it is polled has had the turn: it is
/// not given to another one.
/// Method: move the clock to the turn of the first one, and drop it unpolled.
#[test]
fn a_turn_that_has_come_is_not_given_back() {
    let key = one_key(Limit::per_second(1).burst(4).shaping());
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..3 {
        crowd.enter(key.rule.wait("alice"));
    }
    assert_eq!(crowd.passed_numbers(), [0]);
    key.wait(secs(1));
    crowd.leave(1);
    assert_eq!(crowd.passed_numbers(), [0; 0]);
    assert_eq!((key.peek().remaining(), key.peek().delay()), (2, Some(secs(2))));
    key.wait(secs(1));
    crowd.poll_woken();
    assert_eq!(crowd.passed_numbers(), [2]);
}

/// Goal: a line that everyone left is as if nobody had come, also under a rate of two words.
/// Method: the whole line leaves in the middle of the first one's service.
#[test]
fn a_line_that_everyone_left_is_gone() {
    let key = one_key(Limit::per_minute(10_007).burst(9).shaping());
    let mut crowd = Crowd::new(&key.clock);
    for _ in 0..9 {
        crowd.enter(key.rule.wait("alice"));
    }
    key.wait(millis(1));
    (1..9).for_each(|who| crowd.leave(who));
    assert_eq!(key.peek().remaining(), 8);
    // One unit takes 5995.8… ticks, of which 1000 are over.
    assert_eq!(key.peek().delay(), Some(std::time::Duration::from_micros(4_996)));
}
