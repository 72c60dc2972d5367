//! Rows 7, 8, 17 and 18: keys that look alike, are too long, too many, or not text at all.
//!
//! Invariant: different values are different callers, and a value is one caller.

use super::{MOST, OTHER};
use crate::layer::{Door, RateLimitLayer, by, door, from, get, limiter, rule, set, with};
use http::{HeaderValue, Request};
use ratekeeper::rule::{KeyKind, KeySpec, RuleSpec};
use ratekeeper::{Limiter, ManualClock};

fn header(name: &str) -> KeyKind {
    KeyKind::Header(name.into())
}

/// Five a minute for each pair of a user, who is whatever an extension says, and a field.
fn pairs() -> Door {
    let key = KeySpec { parts: vec![vec![KeyKind::User], vec![header("x-b")]] };
    let rules = set([RuleSpec { key, ..rule("api", "5/minute") }]);
    let layer = RateLimitLayer::new(limiter(rules).0);
    Door::new(&layer.user(|seen| seen.extensions().get::<String>().cloned()))
}

fn pair(user: &str, b: &str) -> Request<()> {
    let mut request = with(get("/"), "x-b", b);
    request.extensions_mut().insert(user.to_owned());
    request
}

/// Goal: row 7. Where one part ends and the next begins is no matter of what they hold.
/// Method: pairs that are one text when they are joined, with every sign that might join them.
#[test]
fn row_07_parts_do_not_run_together() {
    let door = pairs();
    for sign in [":", "_", "|", "/", "{}", "{", "}", "-", ",", " ", "\"", "\\", "%00", "::", ""] {
        let one = pair("a", &format!("b{sign}c"));
        let other = pair(&format!("a{sign}b"), "c");
        for request in [one, other] {
            assert_eq!(door.admits((0..9).map(|_| request.clone())), MOST, "{sign:?}");
        }
    }
    for sign in ["\0", "\r", "\n", "\r\n"] {
        let users = [format!("a{sign}b"), format!("a{sign}"), "a".to_owned()];
        for (nth, user) in users.iter().enumerate() {
            let b = format!("row{nth}{}", sign.len() + usize::from(sign.as_bytes()[0]));
            assert_eq!(door.admits((0..9).map(|_| pair(user, &b))), MOST, "{user:?}");
        }
        assert!(HeaderValue::from_bytes(sign.as_bytes()).is_err(), "it cannot be in a field");
    }
}

/// Goal: row 8. No value is folded into another: what is not the same is another caller.
/// Method: values that look alike, or become alike by case or by normal forms.
#[test]
fn row_08_values_that_look_alike() {
    let door = pairs();
    let users = [
        "caf\u{e9}",
        "cafe\u{301}",
        "K",
        "\u{212a}",
        "k",
        "\u{130}",
        "i",
        "\u{df}",
        "ss",
        "a",
        "A",
        "\u{430}",
        "\u{200b}a",
        " a",
        "a ",
    ];
    for user in users {
        assert_eq!(door.admits((0..9).map(|_| pair(user, "1"))), MOST, "{user:?}");
    }
}

/// Goal: row 8. Long values count to their last byte.
/// Method: values of a megabyte, and of 256 bytes and a little, that differ at the end.
#[test]
fn row_08_long_values_that_begin_alike() {
    let door = pairs();
    for length in [47, 48, 49, 255, 256, 257, 1 << 20] {
        for end in ["a", "b"] {
            let user = "x".repeat(length) + end;
            assert_eq!(door.admits((0..9).map(|_| pair(&user, "1"))), MOST, "{length}");
        }
    }
}

/// Goal: rows 8 and 18. Bytes that are no text are a value like any other: neither free nor refused.
/// Method: fields of bytes that are no UTF-8, which differ from one another.
#[test]
fn row_18_bytes_that_are_no_text() {
    let door = door([by(header("x-tenant"), rule("api", "5/minute"))]);
    for value in [&b"\xff"[..], b"\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\x80\x80", b"a\xff"] {
        assert_eq!(
            door.admits((0..9).map(|_| with(get("/"), "x-tenant", value))),
            MOST,
            "{value:?}"
        );
    }
}

/// Goal: row 18. What is wrong about a caller's own key does not let it pass uncounted.
/// Method: a field that is empty, that is there twice, and that is too long for most.
#[test]
fn row_18_nothing_about_a_key_is_a_way_in() {
    let door = door([by(header("x-tenant"), rule("api", "5/minute"))]);
    let twice = || with(with(get("/"), "x-tenant", "a"), "x-tenant", "b");
    assert_eq!([door.status(twice()), door.status(twice())], [400, 400]);
    let empty = (0..18).map(|nth| with(get("/"), "x-tenant", " ".repeat(nth % 3)));
    assert_eq!(door.admits(empty), MOST, "counted by address");
    let long = "x".repeat(1 << 20);
    assert_eq!(door.admits((0..9).map(|_| with(get("/"), "x-tenant", &long))), MOST);
}

/// Goal: row 17. A caller who is refused stays so, however many keys it makes up.
/// Method: fill a small store many times over with other keys, and try again.
#[test]
fn row_17_a_flood_of_new_keys() {
    let clock = ManualClock::new();
    let rules = set([by(KeyKind::Ip, rule("api", "5/minute"))]);
    let limiter = Limiter::memory().keys(1_024).clock(&clock).rules(rules).build();
    let door = Door::new(&RateLimitLayer::new(limiter));
    assert_eq!(door.admits((0..9).map(|_| get("/"))), MOST);
    for nth in 0_u32..20_000 {
        let address = std::net::Ipv4Addr::from(0x0b00_0000 + nth).to_string();
        door.ask(from(&address, "GET", "/"));
        if nth % 100 == 0 {
            assert_eq!(door.status(get("/")), 429, "after {nth} keys");
        }
    }
    assert_eq!(door.status(get("/")), 429);
    clock.advance(crate::one_key::secs(60));
    assert_eq!(door.admits((0..9).map(|_| from(OTHER, "GET", "/"))), MOST);
}
