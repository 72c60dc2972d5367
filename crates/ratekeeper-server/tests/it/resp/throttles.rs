//! `CL.THROTTLE` as redis-cell answers, and `THROTTLE` as throttlecrab does: they differ in every place but two.

use super::{Stand, Value, list};
use std::time::Duration;

fn stand() -> Stand {
    Stand::by("rules: []")
}

/// Goal: the example of redis-cell's own pages, and its table of cases, come out as they are there.
/// Method: a burst of 4 at one a second; the times and figures are those of redis-cell's test of its algorithm.
#[test]
fn cl_throttle_answers_as_redis_cell() {
    let stand = stand();
    let mut client = stand.client();
    assert_eq!(
        client.ask(&["CL.THROTTLE", "user123", "15", "30", "60", "1"]),
        list!(0, 16, 15, -1, 2)
    );
    assert_eq!(client.ask(&["CL.THROTTLE", "user123", "15", "30", "60"]), list!(0, 16, 14, -1, 4));
    // When, how much; limited, remaining, seconds to wait, seconds until all is there again.
    let mut now = 0;
    for (at, quantity, limited, remaining, retry, reset) in [
        (0, "6", 1, 5, -1, 0),
        (0, "1", 0, 4, -1, 1),
        (0, "1", 0, 3, -1, 2),
        (0, "1", 0, 2, -1, 3),
        (0, "1", 0, 1, -1, 4),
        (0, "1", 0, 0, -1, 5),
        (0, "1", 1, 0, 1, 5),
        (3_000, "1", 0, 2, -1, 3),
        (3_100, "1", 0, 1, -1, 4),
        (4_000, "1", 0, 1, -1, 4),
        (8_000, "1", 0, 4, -1, 1),
        (9_500, "1", 0, 4, -1, 1),
        (9_500, "0", 0, 4, -1, 1),
        (9_500, "2", 0, 2, -1, 3),
        (9_500, "5", 1, 2, 3, 3),
    ] {
        stand.clock.advance(Duration::from_millis(at - now));
        now = at;
        let told = client.ask(&["cl.throttle", "foo", "4", "1", "1", quantity]);
        assert_eq!(told, list!(limited, 5, remaining, retry, reset), "{quantity} at {at}");
    }
}

/// Goal: throttlecrab's reply has the answer the other way round, its limit is the burst as it was said, and the
/// times are the other way round, too.
/// Method: a burst of two, refused, asked for too much, and looked at; whole replies.
#[test]
fn throttle_answers_as_throttlecrab() {
    let stand = stand();
    let mut client = stand.client();
    for (remaining, reset) in [(1, 10), (0, 20)] {
        let told = client.ask(&["THROTTLE", "alice", "2", "6", "60"]);
        assert_eq!(told, list!(1, 2, remaining, reset, 0));
    }
    stand.clock.advance(Duration::from_millis(9_100));
    assert_eq!(
        client.ask(&["THROTTLE", "alice", "2", "6", "60", "1"]),
        list!(0, 2, 0, 11, 1),
        "0.9 s is a second"
    );
    assert_eq!(
        client.ask(&["THROTTLE", "alice", "2", "6", "60", "3"]),
        list!(0, 2, 0, 11, -1),
        "it never fits"
    );
    assert_eq!(client.ask(&["THROTTLE", "alice", "2", "6", "60", "0"]), list!(1, 2, 0, 11, 0));
    stand.clock.advance(Duration::from_millis(900));
    assert_eq!(client.ask(&["THROTTLE", "alice", "2", "6", "60"]), list!(1, 2, 0, 20, 0));
}

/// Goal: the two do not count each other's, a key under other numbers is counted by itself, and a changed burst keeps
/// what was used.
/// Method: one key under both commands and three sets of numbers.
#[test]
fn numbers_are_part_of_the_name() {
    let stand = stand();
    let mut client = stand.client();
    assert_eq!(client.ask(&["CL.THROTTLE", "k", "1", "1", "60"]), list!(0, 2, 1, -1, 60));
    assert_eq!(client.ask(&["THROTTLE", "k", "2", "1", "60"]), list!(1, 2, 1, 60, 0));
    assert_eq!(client.ask(&["CL.THROTTLE", "k", "1", "2", "60"]), list!(0, 2, 1, -1, 30));
    assert_eq!(client.ask(&["CL.THROTTLE", "k", "9", "1", "60"]), list!(0, 10, 8, -1, 120));
}

/// Goal: numbers that make no limit are told, and nothing overflows.
/// Method: numbers on the wrong side of each bound, and the largest that there are.
#[test]
fn bad_numbers_are_told() {
    let stand = stand();
    let mut client = stand.client();
    let most = i64::MAX.to_string();
    for words in [
        ["CL.THROTTLE", "k", "-1", "1", "1", "1"],
        ["CL.THROTTLE", "k", "1", "0", "1", "1"],
        ["CL.THROTTLE", "k", "1", "1", "0", "1"],
        ["CL.THROTTLE", "k", "1", "1", "-5", "1"],
        ["CL.THROTTLE", "k", &most, "1", "1", "1"],
        ["CL.THROTTLE", "k", "1", &most, "1", "1"],
        ["CL.THROTTLE", "k", "1", "1", &most, "1"],
        ["CL.THROTTLE", "k", "1", "1", "1", "-1"],
        ["CL.THROTTLE", "k", "1", "1", "1", "9223372036854775808"],
        ["CL.THROTTLE", "k", "x", "1", "1", "1"],
        ["CL.THROTTLE", "", "1", "1", "1", "1"],
        ["THROTTLE", "k", "0", "1", "1", "1"],
        ["THROTTLE", "k", "1", "1", "1", "-1"],
    ] {
        let told = client.ask(&words);
        assert!(
            matches!(&told, Value::Error(text) if text.starts_with("ERR ")),
            "{words:?}: {told:?}"
        );
    }
    assert_eq!(client.ask(&["CL.THROTTLE", "k", "1", "1", "1", &most]), list!(1, 2, 2, -1, 0));
    assert_eq!(client.ask(&["PING"]), "PONG".into());
}

/// Goal: limits that callers choose do not pass the cap of keys: there is no shared bucket for each of them.
/// Method: a store of two hundred keys, all of them refusing; then a thousand limits for one more key.
#[test]
fn limits_of_callers_keep_to_the_cap() {
    let stand = Stand::by("memory: {keys: 200}\nrules: []");
    let mut client = stand.client();
    for number in (0..400).flat_map(|number| [number, number]) {
        client.ask(&["CL.THROTTLE", &format!("key{number}"), "0", "1", "3600"]);
    }
    let before = stand.app.limiter.stats().keys;
    let mut refused = 0;
    for number in 1..=1_000 {
        let told = client.ask(&["CL.THROTTLE", "another", "0", "1", &(4_000 + number).to_string()]);
        refused += i64::from(
            matches!(told, Value::List(items) if items[..1] == [1.into()] && items[3] == 1.into()),
        );
    }
    let after = stand.app.limiter.stats().keys;
    assert!(
        after <= before.max(200) && refused > 900,
        "{before} keys, then {after}, {refused} refused"
    );
}
