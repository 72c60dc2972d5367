//! Rules of a domain, and descriptors.

use super::{Site, by, get, keyed, on_paths, rule};
use proptest::prelude::*;
use ratekeeper::Request;
use ratekeeper::rule::{KeyKind, Match, OnMissing, RuleSpec};

/// Descriptors that a rule asks for, each with a value or with any.
type Asked<'a> = &'a [(&'a str, Option<&'a str>)];

fn asking(entries: Asked<'_>) -> Match {
    let each = entries.iter().map(|(name, value)| ((*name).into(), value.map(Into::into)));
    Match { descriptors: each.collect(), ..Match::default() }
}

/// A rule of the domain `envoy`, for everybody together.
fn of_envoy(id: &str, entries: Asked<'_>) -> RuleSpec {
    let everybody = keyed(&[&[KeyKind::Global]]);
    RuleSpec { id: id.into(), domain: Some("envoy".into()), matches: asking(entries), ..everybody }
}

fn described<'a>(domain: &'a str, descriptors: &'a [(&'a str, &'a str)]) -> Request<'a> {
    Request { domain: Some(domain), descriptors, ..Request::new("", "") }
}

/// Goal: rules with a domain serve it alone, and others never do.
/// Method: rules of two domains and of none, asked from each, and from one that has no rules.
#[test]
fn domains_are_apart() {
    let other = RuleSpec { domain: Some("other".into()), ..of_envoy("other", &[]) };
    let path = RuleSpec { matches: on_paths(&["/**"]), ..rule("path", "9/day") };
    let site = Site::of([rule("plain", "9/day"), of_envoy("envoy", &[]), other, path]);
    assert_eq!(site.applied(&described("envoy", &[])), ["envoy"]);
    assert_eq!(site.applied(&described("other", &[("a", "b")])), ["other"]);
    assert_eq!(site.applied(&described("unknown", &[])), [""; 0]);
    assert_eq!(site.applied(&described("", &[])), [""; 0]);
    assert_eq!(site.applied(&by("alice")), ["plain", "path"]);
    let both = Request { descriptors: &[("a", "b")], ..get("/") };
    assert_eq!(site.applied(&both), ["plain", "path"], "descriptors alone are no domain");
}

/// Goal: a rule applies if the descriptor has all entries that it names; one without a value matches any,
/// also an empty one.
/// Method: written down.
#[test]
fn all_named_entries_have_to_be_there() {
    let site = Site::of([
        of_envoy("all", &[]),
        of_envoy("any", &[("scope", None)]),
        of_envoy("ip", &[("scope", Some("ip"))]),
        of_envoy("two", &[("user", None), ("scope", Some("ip"))]),
    ]);
    for (descriptors, expected) in [
        (&[][..], &["all"][..]),
        (&[("scope", "user")], &["all", "any"]),
        (&[("scope", "")], &["all", "any"]),
        (&[("scope", "ip")], &["all", "any", "ip"]),
        (&[("scope", "IP")], &["all", "any"]),
        (&[("Scope", "ip")], &["all"]),
        (&[("user", "a")], &["all"]),
        (&[("scope", "ip"), ("user", "a")], &["all", "any", "ip", "two"]),
        (&[("user", "a"), ("other", "x"), ("scope", "ip")], &["all", "any", "ip", "two"]),
    ] {
        assert_eq!(site.applied(&described("envoy", descriptors)), expected, "{descriptors:?}");
    }
}

proptest! {
    #![proptest_config(crate::laws::cases(300))]

    /// Goal: the rules that are found are those that match, in the order of the file.
    /// Method: random rules and entries; each rule tried by itself.
    #[test]
    fn the_rules_found_are_those_that_match(
        rules in prop::collection::vec(
            prop::collection::vec((0..3_usize, prop::option::of(0..2_usize)), 0..3), 0..8),
        entries in prop::collection::vec((0..3_usize, 0..2_usize), 0..4),
    ) {
        const NAMES: [&str; 3] = ["a", "b", "c"];
        const VALUES: [&str; 2] = ["x", "y"];
        let site = Site::of(rules.iter().enumerate().map(|(number, asked)| {
            let asked: Vec<_> =
                asked.iter().map(|(name, value)| (NAMES[*name], value.map(|own| VALUES[own]))).collect();
            of_envoy(&number.to_string(), &asked)
        }));
        let given: Vec<_> = entries.iter().map(|(name, value)| (NAMES[*name], VALUES[*value])).collect();
        let has = |name: usize, value: Option<usize>| {
            entries.iter().any(|own| own.0 == name && value.is_none_or(|value| value == own.1))
        };
        let expected: Vec<String> = rules
            .iter()
            .enumerate()
            .filter(|(_, asked)| asked.iter().all(|(name, value)| has(*name, *value)))
            .map(|(number, _)| number.to_string())
            .collect();
        prop_assert_eq!(site.applied(&described("envoy", &given)), expected);
    }
}

/// Goal: a descriptor matches only if it has the entries of the key, too.
/// Method: a rule that counts by one entry: without it the rule does not apply, whatever `on_missing` says,
/// and nobody is counted as somebody else.
#[test]
fn the_entries_of_the_key_have_to_be_there() {
    let key = [KeyKind::Descriptor("remote_address".into())];
    for on_missing in [OnMissing::Ip, OnMissing::Skip, OnMissing::Deny] {
        let spec = RuleSpec { key: keyed(&[&key]).key, on_missing, ..of_envoy("edge", &[]) };
        let site = Site::of([spec, of_envoy("all", &[])]);
        assert_eq!(site.applied(&described("envoy", &[])), ["all"], "{on_missing:?}");
        assert_eq!(site.applied(&described("envoy", &[("other", "x")])), ["all"]);
        let from = |address| [("remote_address", address)];
        let (one, other) = (from("192.0.2.1"), from("192.0.2.2"));
        let (one, other) = (described("envoy", &one), described("envoy", &other));
        assert_eq!(site.applied(&one), ["edge", "all"]);
        assert_eq!(site.ask(&one).rules()[0].remaining(), 999_999);
        assert_eq!(site.ask(&other).rules()[0].remaining(), 999_999);
        assert_eq!(site.ask(&one).rules()[0].remaining(), 999_998);
    }
}

/// Goal: an entry that is there and empty is counted, so that nobody passes by leaving it empty.
/// Method: the same rule, an empty value.
#[test]
fn an_empty_entry_is_counted() {
    let key = [KeyKind::Descriptor("tenant".into())];
    let site = Site::of([RuleSpec { key: keyed(&[&key]).key, ..of_envoy("edge", &[]) }]);
    let (empty, named) = ([("tenant", "")], [("tenant", "a")]);
    let (empty, named) = (described("envoy", &empty), described("envoy", &named));
    assert_eq!(site.ask(&empty).remaining(), 999_999);
    assert_eq!(site.ask(&empty).remaining(), 999_998);
    assert_eq!(site.ask(&named).remaining(), 999_999);
}
