//! Permits by name, for holders elsewhere: each ends with its time, or when it is given back.
//!
//! Invariant: a name gives back once.

use crate::one_key::{OneKey, TICK, millis, one_key, secs};
use crate::store::race;
use ratekeeper::{Decision, Limit, Limiter, ManualClock, PermitId, Source};
use std::collections::BTreeSet;
use std::sync::Mutex;

fn named(key: &OneKey) -> PermitId {
    key.ask(1).permit().expect("one is free")
}

/// Goal: a permit by name ends exactly with its time: a tick earlier it is held.
/// Method: a hold of 1.5 s; look, take and acquire on both sides of its end.
#[test]
fn a_named_permit_ends_with_its_time() {
    let key = one_key(Limit::concurrent(2).hold(millis(1_500)));
    let first = named(&key);
    key.wait(millis(500));
    let second = named(&key);
    key.wait(secs(1) - TICK);
    assert_eq!(key.peek().remaining(), 0);
    assert!(key.ask(1).is_refused() && key.rule.acquire("alice").try_now().unwrap().is_refused());
    key.wait(TICK);
    assert!(!key.limiter.release(first).try_now().unwrap(), "its time is over");
    assert_eq!(key.peek().remaining(), 1);
    assert!(key.limiter.release(second).try_now().unwrap());
    assert_eq!(key.peek().remaining(), 2);
}

/// Goal: whoever asks next finds the end of a permit, by whatever call.
/// Method: each kind of call is the first after the end.
#[test]
fn every_call_notices_the_end_of_a_permit() {
    let calls: [fn(&OneKey) -> bool; 6] = [
        |key| key.peek().remaining() == 1,
        |key| key.ask(1).is_allowed(),
        |key| key.rule.acquire("alice").try_now().unwrap().is_allowed(),
        |key| key.rule.reserve("alice", 1).try_now().unwrap().is_allowed(),
        |key| key.rule.refund("alice", 1).try_now().unwrap().remaining() == 1,
        |key| key.rule.check_many(&["alice"]).try_now().unwrap()[0].is_allowed(),
    ];
    for (number, call) in calls.iter().enumerate() {
        let key = one_key(Limit::concurrent(1).hold(secs(1)));
        named(&key);
        key.wait(secs(1));
        assert!(call(&key), "call {number}");
    }
}

/// Goal: a name gives back once, and an unknown one nothing.
/// Method: release twice, release what never was, and what was another's.
#[test]
fn a_name_gives_back_once() {
    let key = one_key("3 concurrent");
    let (first, second) = (named(&key), named(&key));
    assert!(
        key.limiter.release(first).try_now().unwrap()
            && !key.limiter.release(first).try_now().unwrap()
    );
    assert_eq!(key.peek().remaining(), 2);
    let made_up: PermitId = "00000000000000ab".parse().unwrap();
    assert!(!key.limiter.release(made_up).try_now().unwrap());
    let other = one_key("3 concurrent");
    assert!(!other.limiter.release(second).try_now().unwrap(), "a name of another limiter");
    let again: PermitId = second.to_string().parse().unwrap();
    assert!(
        key.limiter.release(again).try_now().unwrap(),
        "a name survives the way through a text"
    );
    assert_eq!(key.peek().remaining(), 3);
}

/// Goal: a refusal and a look have no permit; an admitted check has one of its own.
/// Method: take all of four, one by one and with costs.
#[test]
fn only_what_was_taken_has_a_name() {
    let key = one_key("4 concurrent");
    assert_eq!((key.peek().permit(), key.ask(0).permit(), key.ask(5).permit()), (None, None, None));
    let names: BTreeSet<PermitId> = [1, 1, 2].map(|cost| key.ask(cost).permit().unwrap()).into();
    assert_eq!((names.len(), key.peek().remaining()), (3, 0));
    assert_eq!(key.ask(1).permit(), None);
    let released =
        names.into_iter().filter(|name| key.limiter.release(*name).try_now().unwrap()).count();
    assert_eq!((released, key.peek().remaining()), (3, 4));
}

/// Goal: permits of both kinds share one count; a reset gives back those by name alone.
/// Method: two of each of five; reset; then the holders in this process end.
#[test]
fn a_reset_frees_the_named_ones_alone() {
    let key = one_key("5 concurrent");
    let held: Vec<_> = (0..2).map(|_| key.rule.acquire("alice").try_now().unwrap()).collect();
    let names = [named(&key), named(&key)];
    let bob = key.rule.try_check("bob").unwrap().permit().unwrap();
    assert_eq!(key.peek().remaining(), 1);
    assert_eq!(key.rule.reset("alice").try_now().unwrap().remaining(), 3);
    assert!(
        names.into_iter().all(|name| !key.limiter.release(name).try_now().unwrap()),
        "they are given back"
    );
    drop(held);
    assert_eq!(key.peek().remaining(), 5);
    assert!(key.limiter.release(bob).try_now().unwrap(), "another key's permit is its own");
}

/// Goal: a permit of several limits ends under each with that limit's time, and is given back under
/// those where it is still held.
/// Method: two at a time for a second, three at a time for two.
#[test]
fn a_permit_of_several_limits_ends_under_each_in_its_time() {
    let limits = [Limit::concurrent(2).hold(secs(1)), Limit::concurrent(3).hold(secs(2))];
    let key = one_key(limits);
    let (first, second) = (named(&key), named(&key));
    assert_eq!(key.peek().remaining(), 0, "two of two");
    key.wait(secs(1));
    assert_eq!(key.peek().remaining(), 1, "none of two, and two of three");
    assert!(
        key.limiter.release(second).try_now().unwrap()
            && !key.limiter.release(second).try_now().unwrap()
    );
    assert_eq!(key.peek().remaining(), 2, "none of two, and one of three");
    let third = named(&key);
    key.wait(secs(1));
    assert!(!key.limiter.release(first).try_now().unwrap(), "its time is over everywhere");
    assert_eq!(key.peek().remaining(), 2, "none of two, and one of three");
    assert!(key.limiter.release(third).try_now().unwrap());
    let all: Vec<_> = (0..2).map(|_| key.rule.acquire("alice").try_now().unwrap()).collect();
    assert!(all.iter().all(|permit| permit.is_allowed()));
}

/// Goal: a reset of one rule gives back what a permit holds there, and nothing elsewhere.
/// Method: one name for two rules; reset the key of one of them.
#[test]
fn a_reset_of_one_rule_leaves_the_permit_of_the_other() {
    let builder = Limiter::memory().clock(&ManualClock::new()).rule("a", "1 concurrent").unwrap();
    let limiter = builder.rule("b", "1 concurrent").unwrap().build();
    let left = || {
        ["a", "b"].map(|rule| limiter.rule(rule).unwrap().peek("x").try_now().unwrap().remaining())
    };
    let both = limiter.check_all([("a", "x"), ("b", "x")]).unwrap().try_now().unwrap();
    assert_eq!(left(), [0, 0]);
    let _ = limiter.rule("a").unwrap().reset("x").try_now().unwrap();
    assert_eq!(left(), [1, 0]);
    assert!(limiter.release(both.permit().unwrap()).try_now().unwrap());
    assert_eq!(left(), [1, 1]);
}

/// Goal: many who give the same name back at once give it back once.
/// Method: eight threads release the same two hundred names.
#[test]
fn a_race_to_give_back_gives_back_once() {
    let key = one_key("200 concurrent");
    let names: Vec<PermitId> = (0..200).map(|_| named(&key)).collect();
    let spare = key.rule.acquire("alice").cost(1).try_now().unwrap();
    assert!(spare.is_refused());
    let released = race(8, |_| {
        names.iter().map(|name| u64::from(key.limiter.release(*name).try_now().unwrap())).sum()
    });
    assert_eq!((released, key.peek().remaining()), (200, 200));
}

/// Goal: a race for permits by name lets exactly as many in as there are, each with its own name.
/// Method: 300 threads at a barrier; a hundred permits.
#[test]
fn a_race_for_names_gives_out_as_many_as_there_are() {
    let (key, names) = (one_key("100 concurrent"), Mutex::new(BTreeSet::new()));
    let admitted = race(300, |_| {
        let permit = key.ask(1).permit();
        names.lock().unwrap().extend(permit);
        u64::from(permit.is_some())
    });
    assert_eq!((admitted, names.lock().unwrap().len(), key.peek().remaining()), (100, 100, 0));
}

/// As many names as the store has keys, all under one key; the next one finds no room.
fn full(hold: u64) -> (Limiter, ManualClock, Vec<Decision>) {
    let clock = ManualClock::new();
    let limit = Limit::concurrent(100).hold(secs(hold));
    let limiter = Limiter::memory().keys(8).clock(&clock).rule("rule", limit).unwrap().build();
    let rule = limiter.rule("rule").unwrap();
    let taken: Vec<Decision> = (0..8).map(|_| rule.try_check("alice").unwrap()).collect();
    assert!(taken.iter().all(Decision::is_allowed));
    (limiter, clock, taken)
}

/// Goal: there are no more names than the store may have keys; beyond, the answer says so, and
/// nothing is taken. One that is given back makes room.
/// Method: eight names in a store for eight keys.
#[test]
fn names_have_a_bound() {
    let (limiter, _clock, taken) = full(60);
    let rule = limiter.rule("rule").unwrap();
    let refused = rule.try_check("alice").unwrap();
    assert!(refused.is_refused() && !refused.is_never());
    assert_eq!((refused.source(), refused.permit()), (Source::Overflow, None));
    assert_eq!(rule.peek("alice").try_now().unwrap().remaining(), 92);
    assert!(rule.acquire("alice").try_now().unwrap().is_allowed(), "no name is needed for that");
    assert!(limiter.release(taken[3].permit().unwrap()).try_now().unwrap());
    assert!(rule.try_check("alice").unwrap().is_allowed());
    assert!(rule.try_check("alice").unwrap().is_refused());
}

/// Goal: a cost above the limit is refused for ever, also where there is no room for another name.
/// Method: ask for 101 of 100, by one call and the other, when all names are taken.
#[test]
fn a_cost_above_the_limit_is_refused_where_names_are_out() {
    let (limiter, _clock, _taken) = full(60);
    let never = limiter.rule("rule").unwrap().check("alice").cost(101).try_now().unwrap();
    assert!(never.is_refused(), "{never}");
    assert!(never.is_never());
    let joint = limiter.check_all([("rule", "bob")]).unwrap().cost(101).try_now().unwrap();
    assert!(joint.is_never());
}

/// Goal: names whose time is over make room for others, at once.
/// Method: let all of them end; the very next check gets in.
#[test]
fn names_that_have_ended_make_room() {
    let (limiter, clock, _taken) = full(60);
    let rule = limiter.rule("rule").unwrap();
    clock.advance(secs(60));
    let next = rule.try_check("alice").unwrap();
    assert!(next.is_allowed(), "{next}");
    assert_eq!(next.remaining(), 99);
}
