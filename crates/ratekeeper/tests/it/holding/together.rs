//! Several rules and limits at once: all of them hold, or none does.
//!
//! Invariant: what one of them refuses, none has charged, permits included.

use crate::one_key::{OneKey, TICK, millis, one_key, secs};
use crate::store::race;
use ratekeeper::{Hold, Limit, LimitBuilder, Limiter, ManualClock};

/// A rule of each kind.
fn limiter() -> (Limiter, ManualClock) {
    let clock = ManualClock::new();
    let builder = Limiter::memory().clock(&clock).rule("tokens", "10/minute").unwrap();
    let builder = builder.rule("slots", "2 concurrent").unwrap();
    let builder = builder.rule("line", Limit::per_second(1).burst(5).shaping()).unwrap();
    (builder.build(), clock)
}

fn left(limiter: &Limiter) -> [u64; 3] {
    ["tokens", "slots", "line"]
        .map(|rule| limiter.rule(rule).unwrap().peek("alice").try_now().unwrap().remaining())
}

const ALL: [(&str, &str); 3] = [("tokens", "alice"), ("slots", "alice"), ("line", "alice")];

/// Goal: if one rule refuses, no rule is charged, whichever it is.
/// Method: use each of three up in turn, and reserve, check and settle over all of them.
#[test]
fn if_one_rule_refuses_nothing_is_held() {
    for (used_up, cost) in [("tokens", 10), ("slots", 2), ("line", 5)] {
        let (limiter, _clock) = limiter();
        let rule = limiter.rule(used_up).unwrap();
        assert!(rule.check("alice").cost(cost).try_now().unwrap().is_allowed());
        let before = left(&limiter);
        let hold = limiter.reserve_all(ALL, 1).unwrap().try_now().unwrap();
        assert!(hold.is_refused(), "{used_up}");
        assert_eq!((hold.rule(), hold.permit()), (Some(used_up), None));
        hold.settle(3).try_now().unwrap();
        let check = limiter.check_all(ALL).unwrap().try_now().unwrap();
        assert!(check.is_refused() && check.permit().is_none(), "{used_up}");
        assert_eq!(left(&limiter), before, "{used_up}");
    }
}

/// Goal: a reservation over several rules holds in all of them; settling settles the rates, and its
/// end gives the permits back, whether it is settled or dropped.
/// Method: settle one below, drop another.
#[test]
fn a_reservation_over_several_rules_ends_in_all_of_them() {
    let (limiter, _clock) = limiter();
    let hold = limiter.reserve_all(ALL, 2).unwrap().try_now().unwrap();
    assert!(hold.is_allowed() && hold.permit().is_none());
    assert_eq!((left(&limiter), hold.units()), ([8, 0, 3], 2));
    hold.settle(1).try_now().unwrap();
    assert_eq!(left(&limiter), [9, 2, 4]);
    drop(limiter.reserve_all(ALL, 1).unwrap().try_now().unwrap());
    assert_eq!(left(&limiter), [8, 2, 3], "dropped, it stays charged; permits are back");
    let hold = limiter.reserve_all(ALL, 1).unwrap().try_now().unwrap();
    assert_eq!(hold.delay(), Some(secs(2)), "the turn is the line's");
    hold.cancel().try_now().unwrap();
    assert_eq!(left(&limiter), [8, 2, 3]);
}

/// Goal: the end of a reservation gives its own permits back, once, and nobody else's.
/// Method: settle, cancel and drop one beside a permit that stays.
#[test]
fn a_reservation_gives_back_its_own_permits_alone() {
    let key = one_key(["100/minute", "4 concurrent"]);
    let slots = |key: &OneKey| key.peek().remaining();
    let stays = key.rule.acquire("alice").cost(2).try_now().unwrap();
    let ends: [fn(Hold); 3] =
        [drop, |hold| hold.cancel().try_now().unwrap(), |hold| hold.settle(9).try_now().unwrap()];
    for end in ends {
        let hold = key.rule.reserve("alice", 1).try_now().unwrap();
        assert_eq!(slots(&key), 1);
        end(hold);
        assert_eq!(slots(&key), 2, "two of four are held");
    }
    drop(stays);
    assert_eq!(slots(&key), 4);
}

/// Goal: a check over several rules gives one name for what it took, and the delay of its line.
/// Method: check all, and give the name back: the rates stay charged.
#[test]
fn a_check_over_several_rules_has_one_name() {
    let (limiter, clock) = limiter();
    let first = limiter.check_all(ALL).unwrap().try_now().unwrap();
    let second = limiter.check_all(ALL).unwrap().try_now().unwrap();
    assert_eq!((first.delay(), second.delay()), (Some(secs(0)), Some(secs(1))));
    assert_eq!(left(&limiter), [8, 0, 3]);
    assert!(limiter.release(first.permit().unwrap()).try_now().unwrap());
    assert_eq!(left(&limiter), [8, 1, 3]);
    // The second one's minute begins with its turn.
    clock.advance(secs(61) - TICK);
    assert_eq!(left(&limiter)[1], 1);
    clock.advance(TICK);
    assert!(!limiter.release(second.permit().unwrap()).try_now().unwrap(), "its minute is over");
    assert_eq!(left(&limiter)[1], 2);
}

/// Goal: a rule of a rate and a concurrency limit charges both or none, by every call.
/// Method: 3 per minute and 2 at a time.
#[test]
fn a_rule_of_rate_and_permits_takes_both_or_none() {
    let key = one_key(["3/minute", "2 concurrent"]);
    let first = key.rule.acquire("alice").try_now().unwrap();
    let name = key.ask(1).permit().expect("two at a time");
    let refused = key.rule.acquire("alice").try_now().unwrap();
    assert!(refused.is_refused() && refused.retry_after().is_none(), "nobody can say when");
    drop((first, refused));
    assert!(key.limiter.release(name).try_now().unwrap());
    let third = key.rule.reserve("alice", 1).try_now().unwrap();
    assert!(third.is_allowed(), "the refused one did not count");
    third.cancel().try_now().unwrap();
    assert!(
        key.rule.acquire("alice").try_now().unwrap().is_allowed(),
        "cancelled, it does not count"
    );
    let fourth = key.rule.acquire("alice").cost(1).try_now().unwrap();
    assert_eq!(fourth.retry_after(), Some(secs(20)), "the rate is used up");
    key.wait(secs(20));
    let both = [(); 2].map(|()| key.rule.acquire("alice").try_now().unwrap().is_allowed());
    assert_eq!(both, [true, false], "the refused ones hold no permit, and one unit is back");
}

/// Goal: a race over rate and permits takes as many of both as were admitted.
/// Method: 200 threads reserve over two rules, half in the opposite order, and keep what they get.
#[test]
fn a_race_over_rate_and_permits_takes_both_or_none() {
    let builder = Limiter::memory().clock(&ManualClock::new()).rule("rate", "90/hour").unwrap();
    let limiter = builder.rule("slots", "40 concurrent").unwrap().build();
    let kept = std::sync::Mutex::new(Vec::new());
    let admitted = race(200, |caller| {
        let mut asked = [("rate", "x"), ("slots", "x")];
        asked.rotate_left(caller % 2);
        let hold = limiter.reserve_all(asked, 1).unwrap().try_now().unwrap();
        let admitted = u64::from(hold.is_allowed());
        kept.lock().unwrap().push(hold);
        admitted
    });
    let left = |rule| limiter.rule(rule).unwrap().peek("x").try_now().unwrap().remaining();
    assert_eq!((admitted, left("rate"), left("slots")), (40, 50, 0));
    drop(kept);
    assert_eq!((left("rate"), left("slots")), (50, 40));
}

/// Goal: a request can stand in one line, so a rule of two is refused when it is built.
/// Method: the message says what to do; beside another limit a line is fine.
#[test]
fn a_rule_with_two_lines_is_refused() {
    let line = |amount| Limit::per_second(amount).shaping();
    let two: [LimitBuilder; 2] = [line(1), line(2)];
    let error = Limiter::memory().rule("rule", two).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rule `rule`: has more than one shaping limit, and a request can stand in one line; keep one"
    );
    let key = one_key([line(10), Limit::per_minute(3), Limit::concurrent(2).hold(secs(1))]);
    assert_eq!(key.ask(1).delay(), Some(secs(0)));
    assert_eq!(key.ask(1).delay(), Some(millis(100)));
    assert!(key.ask(1).is_refused(), "two at a time");
    key.wait(millis(1_100));
    let again = (key.ask(1).delay(), key.ask(1).retry_after());
    assert_eq!(again, (Some(secs(0)), Some(millis(18_900))));
}
