//! Other limits for single keys.

use super::{Site, by, get, ip, keyed, limits, rule, same, set};
use crate::one_key::TICK;
use ratekeeper::rule::{KeyKind, KeySpec, Limits, Override, RuleSpec};
use ratekeeper::{Request, RuleSet};
use std::time::Duration;

fn other(key: &[(Option<KeyKind>, &str)], limit: &str) -> Override {
    let key = key.iter().map(|(kind, value)| (kind.clone(), (*value).into())).collect();
    Override { rule: "keyed".into(), key, limits: limits(&[limit]), until: None, reason: None }
}

/// One rule with this key and a limit of 5, and one override of 50.
fn site(kinds: &[&[KeyKind]], key: &[(Option<KeyKind>, &str)]) -> Site {
    let spec = RuleSpec { limits: same("5/day"), ..keyed(kinds) };
    let overrides = vec![other(key, "50/day")];
    Site::new(RuleSet { overrides, ..set([spec]) })
}

fn has(site: &Site, request: &Request<'_>) -> bool {
    match site.peek(request).limit() {
        50 => true,
        5 => false,
        other => unreachable!("{other}"),
    }
}

/// Goal: an override is for its key, and no other.
/// Method: keys that are nearly the same.
#[test]
fn an_override_is_for_its_key_alone() {
    let site = site(&[&[KeyKind::User]], &[(None, "acme")]);
    assert!(has(&site, &by("acme")));
    for user in ["Acme", "acme ", "acm", "acmee", "a\0cme", "ＡＣＭＥ"] {
        assert!(!has(&site, &by(user)), "{user:?}");
    }
    assert!(!has(&site, &get("/")), "nobody");
    assert!(site.ask(&Request { cost: Some(20), ..by("acme") }).is_allowed());
    assert_eq!(site.peek(&by("other")).remaining(), 5, "nothing was charged to others");
}

/// Goal: a tuple is overridden as a whole.
/// Method: parts that are cut elsewhere, are the other way round, or too few.
#[test]
fn an_override_of_a_tuple_is_for_all_its_parts() {
    let kinds: [&[KeyKind]; 2] = [&[KeyKind::User], &[KeyKind::Method]];
    let exact = site(&kinds, &[(None, "acme"), (None, "GET")]);
    assert!(has(&exact, &by("acme")));
    assert!(!has(&exact, &Request { method: "POST", ..by("acme") }));
    assert!(!has(&exact, &by("other")));
    for key in [&[(None, "acmeG"), (None, "ET")][..], &[(None, "GET"), (None, "acme")]] {
        assert!(!has(&site(&kinds, key), &by("acme")));
    }
    for key in [&[(None, "acme")][..], &[], &[(None, "acme"), (None, "GET"), (None, "")]] {
        assert!(!has(&site(&kinds, key), &by("acme")), "not for a key of another length");
    }
}

/// Goal: a value is the alternative that it is said to be; unsaid, an address where it reads as one, else
/// the first other.
/// Method: `first: [user, ip]`, a user who is called like the address.
#[test]
fn an_override_says_which_alternative_it_is() {
    let kinds: [&[KeyKind]; 1] = [&[KeyKind::User, KeyKind::Ip]];
    let called = by("192.0.2.1");
    let (from, named) = (get("/"), by("acme"));
    for (said, value, [of_called, of_from, of_named]) in [
        (None, "192.0.2.1", [false, true, false]),
        (Some(KeyKind::Ip), "192.0.2.1", [false, true, false]),
        (Some(KeyKind::User), "192.0.2.1", [true, false, false]),
        (None, "acme", [false, false, true]),
        (Some(KeyKind::User), "acme", [false, false, true]),
        (Some(KeyKind::ApiKey), "acme", [false, false, false]),
    ] {
        let site = site(&kinds, &[(said.clone(), value)]);
        let seen = [&called, &from, &named].map(|request| has(&site, request));
        assert_eq!(seen, [of_called, of_from, of_named], "{said:?} {value}");
    }
}

/// Goal: an override of an address is for what that address is counted by, however it is written.
/// Method: spellings of an IPv4 and an IPv6 address; neighbours of the same /64 are the same caller.
#[test]
fn an_override_of_an_address_is_for_its_network() {
    let from = |peer| Request { peer: Some(ip(peer)), ..Request::new("GET", "/") };
    for value in ["192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201"] {
        let site = site(&[&[KeyKind::Ip]], &[(None, value)]);
        assert!(has(&site, &from("192.0.2.1")), "{value}");
        assert!(has(&site, &from("::ffff:192.0.2.1")), "{value}");
        assert!(!has(&site, &from("192.0.2.2")), "{value}");
    }
    for value in ["2001:db8::", "2001:db8::1", "2001:DB8:0:0::ffff"] {
        let site = site(&[&[KeyKind::Ip]], &[(None, value)]);
        assert!(has(&site, &from("2001:db8::1")), "{value}");
        assert!(has(&site, &from("2001:db8::2")), "{value}");
        assert!(!has(&site, &from("2001:db8:0:1::1")), "{value}");
    }
}

/// Goal: what is no address is never taken for the bytes of one.
/// Method: four letters on a rule of addresses, and the address that has their codes.
#[test]
fn text_is_not_an_address() {
    for said in [None, Some(KeyKind::Ip)] {
        let site = site(&[&[KeyKind::Ip]], &[(said, "acme")]);
        let same_bytes = Request { peer: Some(ip("97.99.109.101")), ..Request::new("GET", "/") };
        assert!(!has(&site, &same_bytes));
    }
}

/// Goal: who is counted by address because the user is missing can be given another limit, too.
/// Method: a rule of users, an override that says `ip`.
#[test]
fn an_override_reaches_the_address_that_stands_in() {
    let site = site(&[&[KeyKind::User]], &[(Some(KeyKind::Ip), "192.0.2.1")]);
    assert!(has(&site, &get("/")));
    assert!(!has(&site, &by("acme")));
    assert!(!has(&site, &by("192.0.2.1")));
}

/// Goal: an override of a rule whose key is left to the door is for whom the door counts.
/// Method: the default key; a user, then an address.
#[test]
fn an_override_reaches_keys_that_the_door_gives() {
    let default = |value| {
        let spec = RuleSpec { key: KeySpec::default(), limits: same("5/day"), ..keyed(&[]) };
        Site::new(RuleSet { overrides: vec![other(&[(None, value)], "50/day")], ..set([spec]) })
    };
    let site = default("acme");
    assert!(has(&site, &by("acme")));
    assert!(!has(&site, &by("other")) && !has(&site, &get("/")));
    let site = default("192.0.2.1");
    assert!(has(&site, &get("/")));
    assert!(!has(&site, &by("192.0.2.1")));
}

/// Goal: an override ends at its end, to the tick, and what was used stays used.
/// Method: a tick before, and then.
#[test]
fn an_override_ends_to_the_tick() {
    let mut set = set([RuleSpec { limits: same("5/day"), ..keyed(&[&[KeyKind::User]]) }]);
    let clock = ratekeeper::ManualClock::new();
    let until = Some(clock.now().as_secs() + 60);
    set.overrides.push(Override { until, ..other(&[(None, "acme")], "50/day") });
    let site = Site::new(set);
    site.clock.advance(Duration::from_secs(60) - TICK);
    assert!(has(&site, &by("acme")));
    site.clock.advance(TICK);
    assert!(!has(&site, &by("acme")));
}

/// Goal: an override is the key's limit in every tier, on a rule that has them.
/// Method: a rule of two tiers; the key in each, and another key.
#[test]
fn an_override_is_for_every_tier() {
    let tiered = Limits::ByTier(vec![limits(&["5/day"]), limits(&["500/day"])]);
    let spec = RuleSpec { limits: tiered, ..keyed(&[&[KeyKind::User]]) };
    let tiers = ["free".into(), "pro".into()].to_vec();
    let overrides = vec![other(&[(None, "acme")], "50/day")];
    let site = Site::new(RuleSet { tiers, overrides, ..set([spec]) });
    for (tier, user, limit) in
        [("free", "acme", 50), ("pro", "acme", 50), ("free", "other", 5), ("pro", "other", 500)]
    {
        let request = Request { tier: Some(tier), ..by(user) };
        assert_eq!(site.peek(&request).limit(), limit, "{tier} {user}");
    }
}

/// Goal: an override opens a rule that lets nobody pass, for its key; and one for a rule that is not there
/// changes nothing.
/// Method: a closed rule.
#[test]
fn an_override_opens_a_closed_rule() {
    let spec = RuleSpec { limits: Limits::Closed, ..keyed(&[&[KeyKind::User]]) };
    let stray = Override { rule: "stray".into(), ..other(&[(None, "other")], "50/day") };
    let overrides = vec![stray, other(&[(None, "acme")], "50/day")];
    let site = Site::new(RuleSet { overrides, ..set([spec, rule("b", "9/day")]) });
    assert!(site.ask(&by("acme")).is_allowed());
    assert!(site.ask(&by("other")).is_never());
}
