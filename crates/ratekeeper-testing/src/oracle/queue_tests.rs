//! The queue, with numbers worked by hand.

use super::{Bucket, Entry, Queue, Retry, ask};

const SECOND: u64 = 1_000_000;

/// One per second, ten at most, with the one in service.
fn slow() -> Queue {
    Queue::new(1, SECOND, 10, None)
}

/// The place, and how long until its start.
fn place(entry: Entry) -> (u64, u64) {
    (entry.id.expect("accepted"), entry.delay)
}

/// Goal: a queue takes what fits and says when there is room for the next.
/// Method: one per second and ten at once; the eleventh has to come back after a second.
#[test]
fn ten_are_accepted_a_second_apart_and_the_eleventh_is_not() {
    let mut key = slow();
    for turn in 0..10 {
        let entry = key.ask(0, 1, None);
        assert_eq!(place(entry), (turn, turn * SECOND));
        assert_eq!(entry.answer.remaining, 9 - turn);
        assert_eq!(entry.answer.reset_after, (turn + 1) * SECOND);
    }
    let refused = key.ask(0, 1, None);
    assert_eq!((refused.id, refused.answer.retry_after), (None, Retry::After(SECOND)));
    assert_eq!(key.ask(0, 11, None).answer.retry_after, Retry::Never);
    assert_eq!(key.ask(SECOND - 1, 1, None).answer.retry_after, Retry::After(1));
    assert_eq!(key.ask(SECOND, 1, None).delay, 9 * SECOND);
}

/// Goal: those behind a waiter who leaves are released a slot earlier, and one that was released
/// cannot leave.
/// Method: the third of five leaves in the middle of the second slot.
#[test]
fn those_behind_one_who_leaves_move_up() {
    let mut key = slow();
    for _ in 0..5 {
        key.ask(0, 1, None);
    }
    assert_eq!(key.releases(SECOND), [(0, 0), (1, SECOND)]);
    assert!(key.leave(3 * SECOND / 2, 2));
    assert!(!key.leave(3 * SECOND / 2, 2));
    assert!(!key.leave(2 * SECOND, 3), "released at two seconds");
    assert_eq!(key.ask(2 * SECOND, 1, None).delay, 2 * SECOND);
    assert_eq!(key.releases(9 * SECOND), [(3, 2 * SECOND), (4, 3 * SECOND), (5, 4 * SECOND)]);
    assert_eq!(key.releases(9 * SECOND), []);
}

/// Goal: a place that was told its start keeps it, and the gap in front of it is lost.
/// Method: a waiter in front of it leaves, and units are given back; those behind do not move either.
#[test]
fn a_told_place_stays_where_it_is() {
    let mut key = slow();
    for _ in 0..3 {
        key.ask(0, 1, None);
    }
    let told = key.tell(0, 1, None);
    assert_eq!(place(told), (3, 3 * SECOND));
    assert_eq!(place(key.ask(0, 1, None)), (4, 4 * SECOND));
    assert!(key.leave(SECOND / 2, 1));
    assert!(!key.leave(SECOND / 2, 3), "it does not wait");
    assert_eq!(key.give_back(SECOND / 2, 1).reset_after, 9 * SECOND / 2);
    assert_eq!(key.releases(3 * SECOND), [(0, 0), (2, SECOND)], "the line does not move");
    assert_eq!(key.releases(9 * SECOND), [(4, 4 * SECOND)], "behind what was told");
}

/// Goal: a spacing that is no whole number of ticks is kept exactly, and told rounded up.
/// Method: three per second, and a fourth that starts on the second.
#[test]
fn a_third_of_a_second_is_kept_exactly() {
    let mut key = Queue::new(3, SECOND, 4, None);
    let ticks = [0, 333_334, 666_667, 1_000_000];
    for tick in ticks {
        assert_eq!(key.ask(0, 1, None).delay, tick);
    }
    assert_eq!(key.ask(0, 1, None).answer.retry_after, Retry::After(333_334));
    assert_eq!(key.peek(0).reset_after, 1_333_334);
    assert_eq!(key.releases(333_333), [(0, 0)]);
    assert_eq!(key.releases(SECOND), [(1, 333_334), (2, 666_667), (3, SECOND)]);
}

/// Goal: the rule's longest wait and the caller's refuse what would start later, and say exactly
/// when it would not.
/// Method: waits of a second each, then of a third of a second.
#[test]
fn a_longest_wait_refuses_until_it_is_kept() {
    let mut key = Queue::new(1, SECOND, 10, Some(2 * SECOND));
    assert_eq!(key.ask(0, 1, None).answer.remaining, 9);
    assert_eq!(key.ask(0, 1, Some(0)).answer.retry_after, Retry::After(SECOND));
    assert_eq!(key.ask(0, 1, Some(9 * SECOND)).answer.remaining, 8);
    assert_eq!(key.ask(0, 8, Some(SECOND)).answer.retry_after, Retry::After(SECOND));
    assert_eq!(key.ask(0, 1, Some(2 * SECOND)).answer.remaining, 0, "the next waits three");
    assert_eq!(key.ask(0, 1, Some(9 * SECOND)).answer.retry_after, Retry::After(SECOND));
    assert_eq!(key.ask(0, 9, None).answer.retry_after, Retry::After(2 * SECOND), "room is later");
    assert_eq!(key.ask(SECOND, 1, None).delay, 2 * SECOND);

    let mut key = Queue::new(3, SECOND, 10, Some(500_000));
    assert_eq!((key.ask(0, 1, None).delay, key.ask(0, 1, None).delay), (0, 333_334));
    assert_eq!(key.ask(0, 1, None).answer.retry_after, Retry::After(166_667));
    assert_eq!(key.ask(166_666, 1, None).id, None);
    assert_eq!(key.ask(166_667, 1, None).delay, 500_000);
}

/// Goal: units given back shorten the work to be done, not beyond now; where somebody waits they move
/// nothing.
/// Method: a charge of three at zero, alone, and with two waiters behind it.
#[test]
fn what_is_given_back_moves_nobody_who_waits() {
    let mut alone = slow();
    alone.ask(0, 3, None);
    assert_eq!(alone.give_back(SECOND, 1).reset_after, SECOND);
    assert_eq!(alone.give_back(SECOND, 9).reset_after, 0);
    assert_eq!(alone.ask(SECOND, 1, None).delay, 0);

    let mut key = slow();
    for cost in [3, 1, 1] {
        key.ask(0, cost, None);
    }
    assert_eq!(key.give_back(SECOND, 5).reset_after, 4 * SECOND);
    assert_eq!(key.releases(9 * SECOND), [(0, 0), (1, 3 * SECOND), (2, 4 * SECOND)]);
}

/// Goal: a reset gives the first who waits its turn now, and the others follow at their pace.
/// Method: a charge of three at zero, two waiters behind it, and a reset in the middle of a second.
#[test]
fn a_reset_begins_the_line_now() {
    let mut key = slow();
    for cost in [3, 2, 1] {
        key.ask(0, cost, None);
    }
    let now = 3 * SECOND / 2;
    key.reset(now);
    assert_eq!(key.peek(now).reset_after, 3 * SECOND);
    assert_eq!(key.releases(9 * SECOND), [(0, 0), (1, now), (2, now + 2 * SECOND)]);
}

/// Goal: while nobody leaves and there is no longest wait, a queue answers as the bucket does, also
/// with places that were told; a cost of zero takes no place.
/// Method: the same requests to both, for a rate of seven per 24 ticks.
#[test]
fn a_queue_answers_as_the_bucket_does() {
    let (mut queue, mut bucket) = (Queue::new(7, 24, 5, None), Bucket::new(7, 24, 5));
    let mut now = 1_000;
    for step in 0_u64..2_000 {
        now += step * step % 11;
        let cost = step * 5 % 7;
        let tells = step % 3 == 0;
        let entry = if tells { queue.tell(now, cost, None) } else { queue.ask(now, cost, None) };
        let answer = ask(&mut bucket, now, cost);
        assert_eq!(entry.answer, answer, "step {step}");
        assert_eq!(entry.id.is_some(), cost > 0 && answer.retry_after == Retry::Now);
    }
}
