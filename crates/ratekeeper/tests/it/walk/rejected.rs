//! Requests that no rule can be asked about, and rules that do not mind.

use super::{Site, by, get, keyed, on_paths, rule};
use ratekeeper::request::Rejection;
use ratekeeper::rule::{CostSpec, KeyKind, Rollout, RuleSpec};
use ratekeeper::{Request, RuleSet};

fn header(name: &str) -> KeyKind {
    KeyKind::Header(name.into())
}

/// Goal: a keying field that is there twice is the caller's fault, and charges nothing.
/// Method: twice the same, twice different, in other case; beside a rule that would charge.
#[test]
fn a_keying_field_may_be_there_once() {
    let site = Site::of([rule("first", "9/day"), keyed(&[&[header("x-org")]])]);
    for fields in [
        [("X-Org", "a"), ("X-Org", "a")],
        [("X-Org", "a"), ("x-org", "b")],
        [("X-Org", ""), ("X-ORG", "a")],
    ] {
        let rejected = site.refusal(&Request { headers: &fields, ..by("alice") });
        assert_eq!((rejected.kind(), rejected.status()), (Rejection::Malformed, 400));
        assert!(rejected.to_string().contains("`x-org`"), "{rejected}");
        assert!(rejected.to_string().contains("once"), "{rejected}");
    }
    let fields = [("x-org", "a"), ("y-org", "b")];
    let decisions = site.ask(&Request { headers: &fields, ..by("alice") });
    let left: Vec<u64> = decisions.results().map(|(_, own)| own.remaining()).collect();
    assert_eq!(left, [8, 999_999]);
}

/// Goal: rules that do not look at a field do not mind how often it is there.
/// Method: other keys, a rule elsewhere, and one that is off.
#[test]
fn a_field_that_no_rule_counts_by_may_be_there_twice() {
    let fields = [("x-org", "a"), ("x-org", "b")];
    let request = Request { headers: &fields, ..by("alice") };
    let keyed = keyed(&[&[header("x-org")]]);
    let off = RuleSpec { rollout: Rollout::Off, ..keyed.clone() };
    let elsewhere = RuleSpec { matches: on_paths(&["/elsewhere"]), ..keyed };
    for spec in [rule("a", "9/day"), off, elsewhere] {
        assert!(Site::of([spec]).ask(&request).is_allowed());
    }
}

/// Goal: a rule in shadow never refuses, not even what it cannot be asked about.
/// Method: a keying field twice, a cost that is none, and no address, in shadow and for nobody; enforced
/// they are rejected.
#[test]
fn a_rule_in_shadow_rejects_nothing() {
    let fields = [("x-org", "a"), ("x-org", "b"), ("x-cost", "none")];
    let request = Request { headers: &fields, peer: None, ..get("/") };
    let cost = CostSpec::Header { name: "x-cost".into(), default: 1, max: 9 };
    for spec in [
        keyed(&[&[header("x-org")]]),
        keyed(&[&[KeyKind::Ip]]),
        RuleSpec { cost, ..keyed(&[&[KeyKind::Global]]) },
    ] {
        for rollout in [Rollout::Shadow, Rollout::Percent(0)] {
            let site = Site::of([RuleSpec { rollout, ..spec.clone() }]);
            assert!(site.ask(&request).is_allowed(), "{:?} {rollout:?}", spec.key);
        }
        _ = Site::of([spec]).refusal(&request);
    }
}

/// Goal: a path on which servers would not agree is refused where a rule looks at paths, and nowhere else.
/// Method: an escaped slash and a path above the root.
#[test]
fn an_ambiguous_path_is_refused_where_paths_count() {
    let matching = RuleSpec { matches: on_paths(&["/a/**"]), ..rule("a", "9/day") };
    for path in ["/a%2Fb", "/a/../../b", "/a%00", "a", "http://x/", ""] {
        for spec in [matching.clone(), keyed(&[&[KeyKind::Path]]), keyed(&[&[KeyKind::Route]])] {
            let rejected = Site::of([spec]).refusal(&get(path));
            assert_eq!(rejected.kind(), Rejection::Malformed, "{path}");
        }
        assert!(Site::of([rule("a", "9/day")]).ask(&by("x")).is_allowed());
        assert!(Site::new(RuleSet::default()).ask(&get(path)).is_allowed());
    }
}
