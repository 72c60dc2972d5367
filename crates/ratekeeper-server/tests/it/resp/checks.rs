//! `RK.CHECK` and its kin: whole replies, figure by figure.

use super::{RULES, Stand, Value, list};
use std::time::Duration;

/// A reply without a permit.
fn told(figures: [i64; 6]) -> Value {
    let mut all: Vec<Value> = figures.into_iter().map(Value::from).collect();
    all.extend(["store".into(), Value::Null]);
    Value::List(all)
}

/// Goal: a check says all that is known, exactly, and a refusal charges nothing.
/// Method: a limit of two; costs that fit, that do not, and that never will; both sides of the told wait.
#[test]
fn a_check_says_all_that_is_known() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    assert_eq!(client.ask(&["RK.CHECK", "small", "alice"]), told([1, 2, 1, -1, 30_000, -1]));
    assert_eq!(
        client.ask(&["rk.check", "small", "alice", "cost", "3"]),
        told([0, 2, 1, -2, 30_000, -1])
    );
    assert_eq!(
        client.ask(&["RK.CHECK", "small", "alice", "COST", "2"]),
        told([0, 2, 1, 30_000, 30_000, -1])
    );
    assert_eq!(client.ask(&["RK.CHECK", "small", "alice"]), told([1, 2, 0, -1, 60_000, -1]));
    assert_eq!(client.ask(&["RK.PEEK", "small", "alice"]), told([1, 2, 0, -1, 60_000, -1]));
    stand.clock.advance(Duration::from_micros(29_999_999));
    assert_eq!(client.ask(&["RK.CHECK", "small", "alice"]), told([0, 2, 0, 1, 30_001, -1]));
    stand.clock.advance(Duration::from_micros(1));
    assert_eq!(client.ask(&["RK.CHECK", "small", "alice"]), told([1, 2, 0, -1, 60_000, -1]));
    assert_eq!(client.ask(&["RK.CHECK", "small", "bob", "COST", "0"]), told([1, 2, 2, -1, 0, -1]));
}

/// Goal: tiers, keys of several parts, overrides, unlimited rules and rules in shadow are as they are elsewhere.
/// Method: one check or two under each kind of rule; whether it passes, and the limit.
#[test]
fn rules_mean_what_they_mean_elsewhere() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    let mut limit = |words: &[&str]| match client.ask(words) {
        Value::List(items) => (items[0].clone(), items[1].clone()),
        other => (other.clone(), other),
    };
    let yes = |limit: i64| (Value::from(1), Value::from(limit));
    let no = |limit: i64| (Value::from(0), Value::from(limit));
    assert_eq!(limit(&["RK.CHECK", "tiers", "alice"]), yes(1));
    assert_eq!(limit(&["RK.CHECK", "tiers", "alice", "TIER", "pro", "COST", "3"]), yes(3));
    assert_eq!(limit(&["RK.CHECK", "pair", "alice", "example.com"]), yes(1));
    assert_eq!(limit(&["RK.CHECK", "pair", "alice", "EXAMPLE.com"]), no(1));
    assert_eq!(
        limit(&["RK.CHECK", "pair", "alice", "COST", "COST", "1"]),
        yes(1),
        "a key may be any word"
    );
    assert_eq!(limit(&["RK.CHECK", "small", "vip", "COST", "9"]), yes(9));
    assert_eq!(limit(&["RK.CHECK", "free", "alice"]), yes(-1));
    assert_eq!(limit(&["RK.CHECK", "shadow", "alice"]), yes(-1));
    assert_eq!(limit(&["RK.CHECK", "shadow", "alice"]), yes(-1), "a shadow refuses nothing");
    let closed = limit(&["RK.CHECK", "closed", "alice"]);
    assert_eq!(closed, no(0), "a closed rule refuses");
}

/// Goal: turns are told, permits have names, and are given back once.
/// Method: a queue of three, and a permit that is asked for, given back, and given back again.
#[test]
fn turns_and_permits_are_told() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    for delay in [0, 1_000, 2_000] {
        let Value::List(items) = client.ask(&["RK.CHECK", "queue", "alice"]) else { panic!() };
        assert_eq!((&items[0], &items[5]), (&1.into(), &delay.into()));
    }
    let Value::List(items) = client.ask(&["RK.CHECK", "exports", "alice"]) else { panic!() };
    let Value::Text(permit) = &items[7] else { panic!("there is no permit in {items:?}") };
    let Value::List(refused) = client.ask(&["RK.CHECK", "exports", "alice"]) else { panic!() };
    assert_eq!((&refused[0], &refused[3], &refused[7]), (&0.into(), &(-1).into(), &Value::Null));
    assert_eq!(client.ask(&["RK.RELEASE", permit]), 1.into());
    assert_eq!(client.ask(&["RK.RELEASE", permit]), 0.into());
    let Value::List(items) = client.ask(&["RK.CHECK", "exports", "alice"]) else { panic!() };
    assert_eq!(items[0], 1.into());
}

/// Goal: what is reserved is settled or cancelled once, and a reset forgets what was used.
/// Method: a window of a hundred; what is left after each step is known beforehand.
#[test]
fn reservations_are_settled_once() {
    let stand =
        Stand::by("rules: [{id: tokens, key: user, limit: 100/minute, algorithm: fixed_window}]");
    let mut client = stand.client();
    let reserve =
        |cost: &str| match stand.client().ask(&["RK.RESERVE", "tokens", "a", "COST", cost]) {
            Value::List(items) => (items[2].clone(), items[8].clone()),
            other => panic!("{other:?}"),
        };
    let (left, Value::Text(hold)) = reserve("60") else { panic!() };
    assert_eq!(left, 40.into());
    assert_eq!(reserve("50"), (40.into(), Value::Null), "it does not fit, so nothing is held");
    assert_eq!(client.ask(&["RK.SETTLE", &hold, "10"]), 1.into());
    assert_eq!(client.ask(&["RK.SETTLE", &hold, "10"]), 0.into());
    let (left, Value::Text(hold)) = reserve("50") else { panic!() };
    assert_eq!(left, 40.into());
    assert_eq!(client.ask(&["RK.CANCEL", &hold]), 1.into());
    assert_eq!(client.ask(&["RK.CANCEL", &hold]), 0.into());
    let Value::List(items) = client.ask(&["RK.PEEK", "tokens", "a"]) else { panic!() };
    assert_eq!(items[2], 90.into());
    assert_eq!(client.ask(&["RK.RESET", "tokens", "a"]), "OK".into());
    let Value::List(items) = client.ask(&["RK.PEEK", "tokens", "a"]) else { panic!() };
    assert_eq!(items[2], 100.into());
}

/// Goal: what is wrong with a command is told with its repair, changes nothing, and the connection goes on.
/// Method: whole errors on one connection; at the end the key is as it was.
#[test]
fn bad_commands_are_told_and_change_nothing() {
    let stand = Stand::by(RULES);
    let mut client = stand.client();
    let table: [(&[&str], &str); 16] = [
        (
            &["RK.CHECK", "none", "a"],
            "ERR no rule is named `none`; the rules are small, tiers, pair, queue, exports, shadow, closed, free",
        ),
        (&["RK.CHECK", "small"], "ERR wrong number of arguments for 'rk.check' command"),
        (&["RK.CHECK", "small", ""], "ERR the key is empty; send who is counted"),
        (
            &["RK.CHECK", "pair", "a"],
            "ERR the rule counts by 2 parts, and the key has 1; send one after the other",
        ),
        (&["RK.CHECK", "small", "a", "COST"], "ERR 'COST' has no value; send COST or TIER and one"),
        (
            &["RK.CHECK", "small", "a", "COST", "-1"],
            "ERR COST is '-1'; send a whole number from 0 to 4294967296",
        ),
        (
            &["RK.CHECK", "small", "a", "COST", "4294967297"],
            "ERR COST is '4294967297'; send a whole number from 0 to 4294967296",
        ),
        (
            &["RK.CHECK", "small", "a", "COST", "18446744073709551616"],
            "ERR COST is '18446744073709551616'; send a whole number from 0 to 4294967296",
        ),
        (
            &["RK.CHECK", "small", "a", "COST", "1", "cost", "1"],
            "ERR 'cost' is there twice; send it once",
        ),
        (
            &["RK.CHECK", "small", "a", "FOO", "1"],
            "ERR there is no option 'FOO'; send COST or TIER",
        ),
        (&["RK.PEEK", "small", "a", "COST", "1"], "ERR there is no option 'COST'; send TIER"),
        (
            &["RK.RESERVE", "small", "a", "COST", "0"],
            "ERR COST is '0'; send a whole number from 1 to 4294967296",
        ),
        (
            &["RK.SETTLE", "x", "1"],
            "ERR this is not a hold; send the one that an earlier reply gave",
        ),
        (&["RK.RELEASE", "x"], "ERR this is not a permit; send the one that an earlier reply gave"),
        (
            &["RK.RESET", "none", "a"],
            "ERR `rule` is unknown: no rule is named `none`; the rules are small, tiers, pair, queue, exports, \
             shadow, closed, free",
        ),
        (&["FOO\r\n+OK", "x"], "ERR unknown command 'FOO\\r\\n+OK'; see COMMAND LIST"),
    ];
    for (words, text) in table {
        assert_eq!(client.ask(words), Value::Error(text.to_owned()), "{words:?}");
    }
    let before = list!(1, 2, 2, -1, 0, -1, "store", Value::Null);
    assert_eq!(client.ask(&["RK.PEEK", "small", "a"]), before, "nothing was charged");
}
