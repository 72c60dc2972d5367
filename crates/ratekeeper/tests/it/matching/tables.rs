//! Tables of patterns, and patterns that leave nothing for others.
//!
//! Invariant: what is expected comes from single patterns, which are tried elsewhere.

use super::{path, pattern};
use proptest::prelude::*;
use ratekeeper::rule::pattern::{PathPattern, PathTable};

/// Few letters, so that there is much to match.
const PATTERN: &str = r"(/(a|B|a;|%2C|\*|\*\*)){1,5}/?|/";
const PATH: &str = r"(/(a|b|A|B|a;b|;|;a|,|c)){1,6}/?|/|\*";

fn patterns() -> impl Strategy<Value = Vec<PathPattern>> {
    let parsed = |texts: Vec<String>| -> Vec<PathPattern> {
        texts.iter().filter_map(|text| PathPattern::parse(text).ok()).collect()
    };
    prop::collection::vec(PATTERN, 0..12).prop_map(parsed)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, ..ProptestConfig::with_cases(2_000)
    })]

    /// Goal: a table finds the pattern that trying each in order finds.
    /// Method: any patterns and paths.
    #[test]
    fn a_table_finds_the_first(
        patterns in patterns(),
        targets in prop::collection::vec(PATH, 4),
    ) {
        let table = PathTable::new(&patterns);
        for target in &targets {
            let path = path(target);
            let first = patterns.iter().position(|pattern| pattern.matches(&path));
            prop_assert_eq!(table.first(&path), first, "{}", target);
        }
    }

    /// Goal: a pattern that covers another matches whatever the other does.
    /// Method: any two patterns; where one covers the other, any paths.
    #[test]
    fn what_covers_matches_as_much(
        texts in (PATTERN, PATTERN),
        targets in prop::collection::vec(PATH, 8),
    ) {
        let (Ok(one), Ok(other)) = (PathPattern::parse(&texts.0), PathPattern::parse(&texts.1))
        else { return Ok(()) };
        if one.covers_generously(&other) {
            for target in &targets {
                let path = path(target);
                prop_assert!(one.matches(&path) || !other.matches(&path), "{}", target);
            }
        }
    }
}

/// Goal: the plain cases of covering are seen, and none that is not one.
/// Method: pairs, written down.
#[test]
fn plain_cases_of_covering_are_seen() {
    for (one, other, covers) in [
        ("/**", "/", true),
        ("/**", "/**", true),
        ("/api/**", "/api", true),
        ("/api/**", "/API/*/x/", true),
        ("/api/**", "/apis", false),
        ("/api/*", "/api/x", true),
        ("/api/*", "/api/**", false),
        ("/api/*", "/api", false),
        ("/**/x", "/a/**/b/x", true),
        ("/**/x", "/a/**", false),
        ("/*/**", "/**", false),
        ("/a", "/a/", true),
        ("/a;v=1", "/A", true),
    ] {
        assert_eq!(pattern(one).covers_generously(&pattern(other)), covers, "{one} {other}");
    }
}

/// Goal: an empty table finds nothing, and `OPTIONS *` only what is for all paths.
/// Method: both.
#[test]
fn a_table_may_find_nothing() {
    assert_eq!(PathTable::new([]).first(&path("/")), None);
    let patterns = ["/*", "/**", "/**/a"].map(pattern);
    let table = PathTable::new(&patterns);
    assert_eq!(table.first(&path("*")), Some(1));
    assert_eq!(table.first(&path("/x/a")), Some(1));
    assert_eq!(table.first(&path("/x")), Some(0));
}
