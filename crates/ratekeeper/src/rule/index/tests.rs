//! The index against each pattern by itself, and the work that it does.
//!
//! Invariant: what is expected comes from the patterns, which are tried elsewhere.

use super::{Entry, Index};
use crate::request::path::CanonicalPath;
use crate::rule::pattern::{HostPattern, PathPattern, canonical_host};
use proptest::prelude::*;

#[derive(Debug)]
struct Rule {
    hosts: Vec<HostPattern>,
    paths: Vec<PathPattern>,
}

fn rule(hosts: &[&str], paths: &[&str]) -> Rule {
    Rule {
        hosts: hosts.iter().map(|text| HostPattern::parse(text).unwrap()).collect(),
        paths: paths.iter().map(|text| PathPattern::parse(text).unwrap()).collect(),
    }
}

fn index(rules: &[Rule]) -> Index {
    let entry = |(own, rule): (&'_ Rule, u32)| (rule, own.hosts.clone(), own.paths.clone());
    let entries: Vec<_> = rules.iter().zip(0..).map(entry).collect();
    Index::new(entries.iter().map(|(rule, hosts, paths)| Entry { rule: *rule, hosts, paths }))
}

fn found(index: &Index, host: Option<&str>, path: Option<&str>) -> Vec<(u32, Option<u32>)> {
    let path = path.map(|path| CanonicalPath::new(path).unwrap());
    let found = index.find(host, path.as_ref());
    found.iter().map(|found| (found.rule, found.pattern)).collect()
}

/// What trying each rule by itself finds.
fn tried(rules: &[Rule], host: Option<&str>, path: Option<&str>) -> Vec<(u32, Option<u32>)> {
    let host = host.map(canonical_host);
    let path = path.map(|path| CanonicalPath::new(path).unwrap());
    let mut found = Vec::new();
    for (own, rule) in rules.iter().zip(0..) {
        let of_host =
            |pattern: &HostPattern| host.as_ref().is_some_and(|host| pattern.matches(host));
        let of_path =
            |pattern: &PathPattern| path.as_ref().is_some_and(|path| pattern.matches(path));
        if !own.hosts.is_empty() && !own.hosts.iter().any(of_host) {
            continue;
        }
        let first = own.paths.iter().zip(0..).find(|(pattern, _)| of_path(pattern));
        if first.is_some() || own.paths.is_empty() {
            found.push((rule, first.map(|(_, number)| number)));
        }
    }
    found
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let host = r"(\*\.)?(a\.)?b(\.c)?";
    let path = r"(/(a|B|a;|;|\*|\*\*)){1,5}/?|/";
    let parsed = (prop::collection::vec(host, 0..3), prop::collection::vec(path, 0..4));
    let parsed = parsed.prop_map(|(hosts, paths)| Rule {
        hosts: hosts.iter().filter_map(|text| HostPattern::parse(text).ok()).collect(),
        paths: paths.iter().filter_map(|text| PathPattern::parse(text).ok()).collect(),
    });
    prop::collection::vec(parsed, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, ..ProptestConfig::with_cases(4000)
    })]

    /// Goal: the index finds what trying each pattern by itself finds.
    /// Method: few letters, so that there is much to find.
    #[test]
    fn it_finds_what_can_be_tried(
        rules in rules(),
        host in prop::option::of(r"([aA]\.){0,2}b(\.c)?(\.|:80)?"),
        paths in prop::collection::vec(r"(/(a|b|A|B|a;b|;|;a|c)){1,6}/?|/|\*", 4),
    ) {
        let index = index(&rules);
        for path in paths.iter().map(|path| Some(&**path)).chain([None]) {
            let host = host.as_deref();
            prop_assert_eq!(found(&index, host, path), tried(&rules, host, path), "{:?}", path);
        }
    }
}

/// Goal: each rule is found once, with its first pattern, whichever host or path led to it.
/// Method: rules that match in many ways, written down.
#[test]
fn each_rule_is_found_once_with_its_first_pattern() {
    let rules = [
        rule(&["a.b", "*.b"], &["/x/**", "/**", "/x"]),
        rule(&[], &["/y", "/**/x", "/*"]),
        rule(&[], &[]),
        rule(&["*.b"], &[]),
        rule(&["b"], &["/x"]),
    ];
    let index = index(&rules);
    let all = [(0, Some(0)), (1, Some(1)), (2, None), (3, None)];
    assert_eq!(found(&index, Some("A.b:80"), Some("/X/")), all);
    assert_eq!(found(&index, None, Some("/x")), [(1, Some(1)), (2, None)]);
    assert_eq!(found(&index, Some("a.b"), Some("*")), [(0, Some(1)), (2, None), (3, None)]);
    assert_eq!(found(&index, Some("b"), Some("/x")), [(1, Some(1)), (2, None), (4, Some(0))]);
    assert_eq!(found(&index, Some("a.b"), None), [(2, None), (3, None)]);
    assert_eq!(found(&Index::new([]), Some("a"), Some("/")), []);
}

/// Goal: rules that are not for a request cost it nothing.
/// Method: the nodes that are looked at are as many with 100 000 such rules as with 10.
#[test]
fn work_does_not_grow_with_other_rules() {
    let visited = |others: usize| {
        let mut rules = vec![rule(&[], &["/api/*/x"]), rule(&["*.b.c"], &["/api/**"])];
        rules.extend((0..others).map(|number| match number % 5 {
            0 => rule(&[], &[&*format!("/other{number}/**")]),
            1 => rule(&[], &[&*format!("/api/v1/z{number}")]),
            2 => rule(&[&*format!("h{number}.b.c")], &["/**"]),
            3 => rule(&[&*format!("*.h{number}.b.c")], &["/**/x"]),
            _ => rule(&[], &[&*format!("/api/*/y{number}/*")]),
        }));
        let index = index(&rules);
        let path = CanonicalPath::new("/api/v1/x").unwrap();
        let (found, visited) = index.find_counting(Some("a.b.c"), Some(&path));
        assert_eq!(found.len(), 2);
        visited
    };
    assert_eq!(visited(10), visited(100_000));
}

/// Goal: the work is bounded by nodes and segments where many ways lead to the same place.
/// Method: the longest path of what may be skipped or repeated, through patterns of many `**`.
#[test]
fn many_ways_to_one_place_are_one() {
    let rules =
        [rule(&[], &["/**/a/**/a/**/a/**/a", "/*/*/*/*/*/*/*/*"]), rule(&[], &["/**/*/**/a"])];
    let index = index(&rules);
    for segment in ["/a", "/;x"] {
        let path = segment.repeat(256);
        let path = CanonicalPath::new(&path).unwrap();
        let (_, visited) = index.find_counting(None, Some(&path));
        assert!((1..=index.tree.len() * 257).contains(&visited), "{visited}");
    }
}

/// Goal: a walk may be at more places than fit its own memory.
/// Method: every mixture of a name and `*`, six segments long: the path takes all of them.
#[test]
fn a_walk_may_be_at_many_places() {
    let mixture = |number: u32| -> String {
        (0..6).map(|at| if number >> at & 1 == 1 { "/a" } else { "/*" }).collect()
    };
    let rules: Vec<Rule> = (0..64).map(|number| rule(&[], &[&*mixture(number)])).collect();
    let index = index(&rules);
    let all: Vec<_> = (0..64).map(|number| (number, Some(0))).collect();
    assert_eq!(found(&index, None, Some("/a/a/a/a/a/a")), all);
    assert_eq!(found(&index, None, Some("/b/b/b/b/b/b")), [(0, Some(0))]);
}
