//! Which rules are for a request: method, host, path, header fields.

use super::{Site, get, on_paths, patterns, rule, set};
use proptest::prelude::*;
use ratekeeper::rule::pattern::HostPattern;
use ratekeeper::rule::{Match, RuleSpec};
use ratekeeper::{Request, RuleSet};

fn matching(id: &str, matches: Match) -> RuleSpec {
    RuleSpec { matches, ..rule(id, "9/day") }
}

fn texts(texts: &[&str]) -> Vec<std::sync::Arc<str>> {
    texts.iter().map(|text| (*text).into()).collect()
}

/// Goal: a rule is for its methods, in any case, and one for `GET` also for `HEAD`.
/// Method: every pair.
#[test]
fn methods_are_matched_in_any_case() {
    let rules =
        [("any", &[][..]), ("get", &["GET"]), ("head", &["HEAD"]), ("two", &["POST", "PUT"])];
    let site =
        Site::of(rules.map(|(id, methods)| {
            matching(id, Match { methods: texts(methods), ..Match::default() })
        }));
    for (method, expected) in [
        ("GET", &["any", "get"][..]),
        ("get", &["any", "get"]),
        ("HEAD", &["any", "get", "head"]),
        ("head", &["any", "get", "head"]),
        ("POST", &["any", "two"]),
        ("pOsT", &["any", "two"]),
        ("PUT", &["any", "two"]),
        ("OPTIONS", &["any"]),
        ("", &["any"]),
        ("GETX", &["any"]),
    ] {
        assert_eq!(site.applied(&Request { method, ..get("/") }), expected, "{method}");
    }
}

/// Goal: a rule is for its hosts, in any spelling; without a host only rules for all apply.
/// Method: a name, names below one, and both, for spellings of hosts.
#[test]
fn hosts_are_matched_in_any_spelling() {
    let hosts = |names: &[&str]| Match {
        hosts: names.iter().map(|name| HostPattern::parse(name).unwrap()).collect(),
        ..Match::default()
    };
    let rules =
        [("any", &[][..]), ("name", &["b.c"]), ("below", &["*.b.c"]), ("both", &["b.c", "*.b.c"])];
    let site = Site::of(rules.map(|(id, names)| matching(id, hosts(names))));
    for (host, expected) in [
        (Some("b.c"), &["any", "name", "both"][..]),
        (Some("B.C.:443"), &["any", "name", "both"]),
        (Some("a.b.c"), &["any", "below", "both"]),
        (Some("A.b.C:1"), &["any", "below", "both"]),
        (Some("ab.c"), &["any"]),
        (Some(""), &["any"]),
        (None, &["any"]),
    ] {
        assert_eq!(site.applied(&Request { host, ..get("/") }), expected, "{host:?}");
    }
}

/// Goal: every rule that matches applies, in the order of the file, and `except` takes away no more than
/// it says.
/// Method: patterns that overlap, for spellings of paths.
#[test]
fn paths_are_matched_in_any_spelling() {
    let except =
        Match { except: patterns(&["/api/export", "/api/x/**"]), ..on_paths(&["/api/**"]) };
    let site = Site::of([
        matching("all", Match::default()),
        matching("api", except),
        matching("one", on_paths(&["/api/*"])),
        matching("exact", on_paths(&["/api/export", "/login"])),
    ]);
    for (path, expected) in [
        ("/api/a", &["all", "api", "one"][..]),
        ("//api/./a?q", &["all", "api", "one"]),
        ("/API/A", &["all", "api", "one"]),
        ("/api/a/b", &["all", "api"]),
        ("/api/export", &["all", "one", "exact"]),
        ("/api/export?x=/api/a", &["all", "one", "exact"]),
        ("/api/x/y/z", &["all"]),
        ("/api/y/../x/z", &["all"]),
        ("/api/xy/z", &["all", "api"]),
        ("/login", &["all", "exact"]),
        ("/log%69n", &["all", "exact"]),
        ("/other", &["all"]),
    ] {
        assert_eq!(site.applied(&get(path)), expected, "{path}");
    }
}

/// Goal: `except` is no door: a spelling that a server may take for another path stays limited.
/// Method: case, parameters and a slash at the end of the path that is excepted.
#[test]
fn what_is_not_exactly_excepted_is_limited() {
    let except = Match { except: patterns(&["/api/export"]), ..on_paths(&["/api/**"]) };
    let site = Site::of([matching("api", except)]);
    for path in ["/api/Export", "/api/export;a=1", "/api/export/"] {
        assert_eq!(site.applied(&get(path)), ["api"], "{path}");
    }
}

/// Goal: a header field is there, or has the value on one of its lines.
/// Method: absent, other values, other case of name and value, several lines.
#[test]
fn header_fields_are_matched_by_line() {
    let headers = |value: Option<&str>| Match {
        headers: vec![("x-plan".into(), value.map(Into::into))],
        ..Match::default()
    };
    let both = Match {
        headers: vec![("x-plan".into(), Some("pro".into())), ("x-beta".into(), None)],
        ..Match::default()
    };
    let site = Site::of([
        matching("there", headers(None)),
        matching("pro", headers(Some("pro"))),
        matching("both", both),
    ]);
    for (fields, expected) in [
        (&[][..], &[][..]),
        (&[("x-other", "pro")], &[]),
        (&[("X-Plan", "pro")], &["there", "pro"]),
        (&[("x-plan", "")], &["there"]),
        (&[("x-plan", "Pro")], &["there"]),
        (&[("x-plan", "pro,free")], &["there"]),
        (&[("x-plan", "free"), ("X-PLAN", "pro")], &["there", "pro"]),
        (&[("x-beta", ""), ("x-plan", "pro")], &["there", "pro", "both"]),
    ] {
        let fields = fields.to_vec();
        assert_eq!(site.applied(&Request { headers: &fields, ..get("/") }), expected, "{fields:?}");
    }
}

proptest! {
    #![proptest_config(crate::laws::cases(300))]

    /// Goal: a rule applies if every part of its match does, whatever else is asked for.
    /// Method: rules with random parts, so many that some are found by each of them; each part worked out
    /// by itself.
    #[test]
    fn all_parts_of_a_match_have_to_hold(
        rules in prop::collection::vec((0..3_usize, 0..3_usize, 0..3_usize, 0..3_usize, 0..5), 0..24),
        (method, path, plan, tier) in (0..2_usize, 0..2_usize, prop::option::of(0..2_usize), 0..2_usize),
    ) {
        let (methods, paths, plans) = (["GET", "POST"], ["/a/x", "/b/x"], ["free", "pro"]);
        let tiers = ["one", "two"];
        let all = rules.iter().enumerate().map(|(number, (method, path, plan, tier, except))| {
            let matches = Match {
                methods: methods.get(*method).map(|own| (*own).into()).into_iter().collect(),
                paths: patterns(["/a/*", "/b/*"].get(*path).map(std::slice::from_ref).unwrap_or_default()),
                except: patterns(if *except == 0 { &["/*/x"] } else { &[] }),
                headers: plans.get(*plan).map(|own| ("plan".into(), Some((*own).into()))).into_iter().collect(),
                tiers: Some(*tier).filter(|tier| *tier < 2).into_iter().collect(),
                ..Match::default()
            };
            matching(&number.to_string(), matches)
        });
        let tiered = RuleSet { tiers: tiers.map(Into::into).to_vec(), ..set(all) };
        let site = Site::new(tiered);
        let fields: Vec<(&str, &str)> = plan.map(|plan| ("plan", plans[plan])).into_iter().collect();
        let tier_name = Some(tiers[tier]);
        let request = Request { method: methods[method], headers: &fields, tier: tier_name, ..get(paths[path]) };
        let expected: Vec<String> = rules.iter().enumerate().filter(|(_, own)| {
            (own.0 == 2 || own.0 == method)
                && (own.1 == 2 || own.1 == path)
                && (own.2 == 2 || Some(own.2) == plan)
                && (own.3 == 2 || own.3 == tier)
                && own.4 != 0
        }).map(|(number, _)| number.to_string()).collect();
        prop_assert_eq!(site.applied(&request), expected);
    }
}
