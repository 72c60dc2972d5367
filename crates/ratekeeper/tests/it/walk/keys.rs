//! Who is counted: keys that differ in anything are counted apart, and spellings of one thing together.

use super::{Site, by, get, ip, keyed, on_paths};
use proptest::prelude::*;
use ratekeeper::rule::{KeyKind, RuleSpec};
use ratekeeper::{Limiter, Request};

fn header(name: &str) -> KeyKind {
    KeyKind::Header(name.into())
}

/// Values that joiners, hashes and text forms get wrong: separators, NUL, braces, CR LF, forms of Unicode.
const NASTY: [&str; 30] = [
    "a",
    "b",
    "ab",
    "a_b",
    "b_c",
    "a:b",
    "a|b",
    "a/b",
    "a{b}",
    "{a}b",
    "a\0",
    "\0a",
    "a\0b",
    "a\r\nb",
    "A",
    "é",
    "e\u{301}",
    "K",
    "\u{212a}",
    "k",
    "ß",
    "ss",
    "ﬁ",
    "fi",
    "%61",
    "a%00",
    "192.0.2.1",
    "\u{1}\u{0}\u{0}\u{0}a",
    "null",
    "alice",
];

/// Goal: no two tuples are one key.
/// Method: all pairs of two values, by users and header fields; each is asked once, and has exactly one
/// used.
#[test]
fn no_two_tuples_are_one_key() {
    let site = Site::of([keyed(&[&[KeyKind::User], &[header("x-org")]])]);
    for user in NASTY {
        for org in NASTY {
            let fields = [("X-Org", org)];
            let decisions = site.ask(&Request { headers: &fields, ..by(user) });
            assert_eq!(decisions.remaining(), 999_999, "{user:?} {org:?}");
        }
    }
}

/// Goal: values that agree in the first 256 bytes, or in all but one of many, are different keys.
/// Method: long values that differ at the end, in length, and in the middle; one of a megabyte.
#[test]
fn long_values_are_kept_whole() {
    let site = Site::of([keyed(&[&[KeyKind::User]])]);
    let long = "x".repeat(256);
    let huge = "y".repeat(1 << 20);
    let mut values: Vec<String> = ["", "a", "b", "aa", "ab"].map(|end| long.clone() + end).into();
    values.extend((0..64).map(|length| "z".repeat(length + 1)));
    values.extend([format!("{huge}a"), format!("{huge}b"), format!("a{huge}")]);
    for value in &values {
        assert_eq!(site.ask(&by(value)).remaining(), 999_999, "{} bytes", value.len());
    }
    for value in &values {
        assert_eq!(site.ask(&by(value)).remaining(), 999_998, "{} bytes", value.len());
    }
}

/// Goal: what a part is belongs to the key: a user called like an address is not the address, and the
/// same value in two header fields is not the same.
/// Method: alternatives, each met by a request of its own with the same text.
#[test]
fn what_a_part_is_belongs_to_the_key() {
    let kinds = [KeyKind::User, header("a"), header("b"), KeyKind::Ip];
    let site = Site::of([keyed(&[&kinds])]);
    let (a, b) = ([("A", "192.0.2.1")], [("B", "192.0.2.1")]);
    let requests = [
        by("192.0.2.1"),
        Request { headers: &a, ..get("/") },
        Request { headers: &b, ..get("/") },
        get("/"),
        by("\u{c0}\0\u{2}\u{1}"),
    ];
    for request in &requests {
        assert_eq!(site.ask(request).remaining(), 999_999);
    }
}

/// Goal: the same tuple of parts in another order, or with a part elsewhere, is another key.
/// Method: rules of alternatives in both places; (a, missing) and (missing, a).
#[test]
fn where_a_part_stands_belongs_to_the_key() {
    let site =
        Site::of([keyed(&[&[header("a"), KeyKind::Global], &[header("b"), KeyKind::Global]])]);
    let fields = [
        vec![("a", "x")],
        vec![("b", "x")],
        vec![("a", "x"), ("b", "x")],
        vec![("a", "xx")],
        vec![],
    ];
    for own in &fields {
        assert_eq!(site.ask(&Request { headers: own, ..get("/") }).remaining(), 999_999, "{own:?}");
    }
}

proptest! {
    #![proptest_config(crate::laws::cases(400))]

    /// Goal: keys are injective.
    /// Method: random tuples of bytes in header fields, in a fresh limiter: those are counted together
    /// that are equal, and no others.
    #[test]
    fn tuples_are_one_key_if_they_are_equal(
        one in prop::collection::vec("[ab\u{0}:_/{}é]{1,3}", 3),
        other in prop::collection::vec("[ab\u{0}:_/{}é]{1,3}", 3),
    ) {
        let site = Site::of([keyed(&[&[header("x")], &[KeyKind::User], &[header("y")]])]);
        let (first, second) = ([("x", &one[0]), ("y", &one[2])], [("x", &other[0]), ("y", &other[2])]);
        let first = Request { headers: &first, ..by(&one[1]) };
        let second = Request { headers: &second, ..by(&other[1]) };
        prop_assert_eq!(site.together(&first, &second), one == other);
    }
}

/// Goal: bytes that are no text are a key like any other.
/// Method: header fields of invalid UTF-8 that a lossy reader would take for each other.
#[test]
fn bytes_that_are_no_text_are_apart() {
    let site = Site::of([keyed(&[&[header("x")]])]);
    for value in [&b"\xff"[..], b"\xfe", b"\xef\xbf\xbd", b"\xc3", b"\xc3\xa9", b"\xff\xff"] {
        let fields = [("x", value)];
        assert_eq!(site.ask(&Request { headers: &fields, ..get("/") }).remaining(), 999_999);
    }
}

/// Goal: all spellings of a path are one key; other paths are others.
/// Method: `key: path`.
#[test]
fn spellings_of_a_path_are_one_key() {
    let site = Site::of([keyed(&[&[KeyKind::Path]])]);
    let spellings =
        ["/a/b", "//a//b", "/a/./b", "/x/../a/b", "/%61/b", "/a/b?q=1", "/a/b#f", "/A/B", "/a/b/"];
    for (count, path) in (1..).zip(spellings) {
        assert_eq!(site.ask(&get(path)).remaining(), 1_000_000 - count, "{path}");
    }
    for path in ["/a", "/a/c", "/a/b/c", "/", "/a/b%20"] {
        assert_eq!(site.ask(&get(path)).remaining(), 999_999, "{path}");
    }
}

/// Goal: `route` is the pattern that matched, whatever the path; `path` is the path.
/// Method: a rule of two patterns by route: paths of one pattern together, those of the other apart.
#[test]
fn a_route_is_the_pattern_that_matched() {
    let matches = on_paths(&["/users/*", "/orders/**"]);
    let by_route = RuleSpec { matches: matches.clone(), ..keyed(&[&[KeyKind::Route]]) };
    let by_path = RuleSpec { matches, ..keyed(&[&[KeyKind::Path]]) };
    for (spec, together) in [(by_route, true), (by_path, false)] {
        let site = Site::of([spec]);
        assert_eq!(site.together(&get("/users/1"), &get("/users/2")), together);
        assert_eq!(site.together(&get("/orders/1/x"), &get("/orders/2")), together);
        assert!(!site.together(&get("/users/1"), &get("/orders/1")));
    }
    let anywhere = Site::of([keyed(&[&[KeyKind::Route]])]);
    assert!(anywhere.together(&get("/a"), &get("/b")), "one pattern: any path");
}

/// Goal: methods and hosts are counted in their one form; `global` counts everybody.
/// Method: spellings together, others apart.
#[test]
fn methods_and_hosts_have_one_form() {
    let method = |method| Request { method, ..get("/") };
    let site = Site::of([keyed(&[&[KeyKind::Method]])]);
    assert!(site.together(&method("POST"), &method("post")));
    assert!(!site.together(&method("POST"), &method("PUT")));
    let host = |host| Request { host: Some(host), ..get("/") };
    let site = Site::of([keyed(&[&[KeyKind::Host]])]);
    assert!(site.together(&host("example.com"), &host("EXAMPLE.com.:8080")));
    assert!(!site.together(&host("example.com"), &host("a.example.com")));
    let site = Site::of([keyed(&[&[KeyKind::Global]])]);
    let other = Request { peer: Some(ip("198.51.100.7")), ..by("bob") };
    assert!(site.together(&by("alice"), &other));
}

/// Goal: unverified credentials open no bucket of their own.
/// Method: random API keys and tokens, with nothing configured to verify them.
#[test]
fn unverified_credentials_open_no_bucket() {
    let site =
        Site::of([keyed(&[&[KeyKind::User, KeyKind::ApiKey, KeyKind::Claim("org".into())]])]);
    for number in 1..=20 {
        let (key, token) = (format!("k{number}"), format!("Bearer e30.e30.{number}"));
        let fields = [("X-Api-Key", key), ("Authorization", token)];
        let decisions = site.ask(&Request { headers: &fields, ..get("/") });
        assert_eq!(decisions.remaining(), 1_000_000 - number);
    }
}

/// Goal: the key that a program gives is a name of its own kind, never an address.
/// Method: `rule.check` of the text of an address beside the walk from that address.
#[test]
fn a_given_key_is_not_an_address() {
    let limiter = Limiter::memory().rule("api", "10/day").unwrap().build();
    let site = Site { limiter, clock: ratekeeper::ManualClock::new() };
    assert_eq!(site.ask(&get("/")).remaining(), 9);
    let api = site.limiter.rule("api").unwrap();
    for key in ["192.0.2.1", "\u{c0}\0\u{2}\u{1}", "i\u{4}\0\0\0"] {
        assert_eq!(api.try_check(key).unwrap().remaining(), 9, "{key:?}");
    }
    assert_eq!(site.peek(&get("/")).remaining(), 9);
}
