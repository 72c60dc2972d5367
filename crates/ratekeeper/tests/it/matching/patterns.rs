//! Patterns of paths: what they match, what they cover, and what is no pattern.

use super::{path, pattern};
use proptest::prelude::*;
use ratekeeper::rule::pattern::PathPattern;

/// Goal: stars and names mean what the rule file says they do.
/// Method: pattern, path, and whether it matches generously and strictly, written down.
#[test]
fn stars_and_names_mean_what_is_said() {
    for (text, target, generously, strictly) in [
        ("/", "/", true, true),
        ("/", "/a", false, false),
        ("/", "/;x", true, false),
        ("/api/**", "/api", true, true),
        ("/api/**", "/api/", true, true),
        ("/api/**", "/api/a/b", true, true),
        ("/api/**", "/apis", false, false),
        ("/api/**", "/API/a", true, false),
        ("/api/**", "/api;v=2/a", true, false),
        ("/api/**", "/api/A;b", true, true),
        ("/api/*", "/api", false, false),
        ("/api/*", "/api/", false, false),
        ("/api/*", "/api/a", true, true),
        ("/api/*", "/api/a/", true, false),
        ("/api/*", "/api/a/b", false, false),
        ("/api/*", "/api/;x", true, true),
        ("/api/*/c", "/api/;x/c", true, true),
        ("/api/c", "/api/;x/c", true, false),
        ("/x/", "/x", true, false),
        ("/x/", "/x/", true, true),
        ("/X;a=1", "/x", true, false),
        ("/X;a=1", "/X;a=1", true, true),
        ("/**/z", "/z", true, true),
        ("/**/z", "/a/b/z", true, true),
        ("/**/z", "/a/b/z/", true, false),
        ("/**/z", "/a/b/z/c", false, false),
        ("/a/**/b/**/c", "/a/b/c", true, true),
        ("/a/**/b/**/c", "/a/x/b/b/y/c", true, true),
        ("/a/**/b/**/c", "/a/c/b", false, false),
        ("/**", "/", true, true),
        ("/**/", "/a", true, false),
        ("/**/", "/a/", true, true),
        ("/café", "/caf%c3%a9", true, true),
        ("/a%2Ab", "/a*b", true, false),
    ] {
        let (pattern, path) = (pattern(text), path(target));
        assert_eq!(pattern.matches(&path), generously, "{text} {target}");
        assert_eq!(pattern.matches_strictly(&path), strictly, "{text} {target} strictly");
        assert_eq!(pattern.to_string(), text);
    }
}

/// Goal: what is no pattern is refused, in words that help.
/// Method: whole messages.
#[test]
fn what_is_no_pattern_is_refused() {
    let front = "does not begin with `/`; write one such as `/api/**`, or `/**` for all";
    let query = "has a query; leave out the `?` or `#` and what follows";
    let or = "or `*` for a whole segment";
    let star = format!("has a `*` inside a segment; write `%2A` for the sign itself, {or}");
    let brace = format!("has a brace; write `%7B` and `%7D` for the signs, {or}");
    let colon = format!("has a `:` before a name; write `%3A` for the sign itself, {or}");
    let dots = "has a `.` or `..`; write the path that it leads to";
    for (text, fault) in [
        ("", front),
        ("*", front),
        ("api", front),
        ("/a?b", query),
        ("/a#b", query),
        ("/a*b", &*star),
        ("/***", &*star),
        ("/*.json", &*star),
        ("/users/{id}", &*brace),
        ("/users/:id", &*colon),
        ("/a/./b", dots),
        ("/**/../b", dots),
        ("/a/%2e%2E/b", dots),
        ("/a b", "has a space; write it as `%20`"),
        ("/a%2Fb", "has an escaped slash; write `/`, or leave it out"),
        ("/a..", "has a segment that ends in `..`; name it otherwise"),
    ] {
        let message = PathPattern::parse(text).unwrap_err().to_string();
        assert_eq!(message, format!("path pattern `{text}`: {fault}"));
    }
}

/// Whether segments match steps, tried one after the other.
fn tried(steps: &[&str], segments: &[&str]) -> bool {
    match (steps, segments) {
        ([], []) => true,
        (["**", rest @ ..], _) => {
            (0..=segments.len()).any(|skipped| tried(rest, &segments[skipped..]))
        }
        ([step, steps @ ..], [segment, segments @ ..]) => {
            (step == segment || *step == "*" && !segment.is_empty()) && tried(steps, segments)
        }
        _ => false,
    }
}

fn split(text: &str) -> Vec<&str> {
    text.split('/').skip(1).collect()
}

fn plain(segment: &str) -> String {
    segment.split(';').next().unwrap().to_lowercase()
}

/// Whether it matches generously: some choice of which segments without a name are there at all does.
fn tried_generously(text: &str, target: &str) -> bool {
    let steps: Vec<String> = split(text).into_iter().map(plain).filter(|s| !s.is_empty()).collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let segments: Vec<&str> = split(target).into_iter().filter(|s| !s.is_empty()).collect();
    (0..1_u32 << segments.len()).any(|there| {
        let choice =
            segments.iter().enumerate().map(|(at, segment)| (there >> at & 1 == 1, segment));
        let valid = choice.clone().all(|(there, segment)| there || plain(segment).is_empty());
        // A nameless segment that is there has a name that only `*` and `**` match.
        let named = |segment: &&str| Some(plain(segment)).filter(|name| !name.is_empty());
        let kept = choice.filter(|(there, _)| *there);
        let kept: Vec<String> =
            kept.map(|(_, segment)| named(segment).unwrap_or(";".into())).collect();
        valid && tried(&steps, &kept.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

const PATTERNS: &str = r"(/(a|B|a;|;|\*|\*\*)){1,5}/?";
const PATHS: &str = r"(/(a|b|A|B|a;b|;|;a)){0,6}/?";

proptest! {
    #![proptest_config(crate::laws::cases(8000))]

    /// Goal: patterns match what trying every way one after the other matches.
    /// Method: few letters, so that both answers are frequent.
    #[test]
    fn patterns_match_what_can_be_tried(text in PATTERNS, target in PATHS) {
        let target = if target.is_empty() { "/" } else { &target };
        if let Ok(pattern) = PathPattern::parse(&text) {
            let path = path(target);
            prop_assert_eq!(pattern.matches_strictly(&path), tried(&split(&text), &split(target)));
            prop_assert_eq!(pattern.matches(&path), tried_generously(&text, target));
            prop_assert!(pattern.matches(&path) || !pattern.matches_strictly(&path));
        }
    }

    /// Goal: what a pattern covers, it matches.
    /// Method: whenever it is said to, a path that the other matches.
    #[test]
    fn what_is_covered_is_matched(
        this in r"(/(a|\*|\*\*)){1,3}/?",
        other in r"(/(a|b|\*|\*\*)){1,3}/?",
        target in PATHS,
    ) {
        let (this, other) = (pattern(&this), pattern(&other));
        for target in [&target, "/", "*"] {
            let path = path(if target.is_empty() { "/" } else { target });
            prop_assert!(
                !this.covers(&other) || !other.matches(&path) || this.matches_strictly(&path)
            );
            prop_assert!(
                !this.covers_as_written(&other)
                    || !other.matches_strictly(&path)
                    || this.matches_strictly(&path)
            );
        }
    }
}

/// Goal: the plain cases of covering are seen, and those that only look alike are not.
/// Method: written down: this, other, whether all it is for is an exception, and as written.
#[test]
fn plain_covers_are_seen() {
    for (this, other, covers, as_written) in [
        ("/**", "/**", true, true),
        ("/**", "/a/*/b", true, true),
        ("/*/**", "/a/**", true, true),
        ("/*/**", "/**", false, false),
        ("/*/**", "/", false, false),
        ("/*/*", "/a/b", false, true),
        ("/a/**", "/a/b", false, true),
        ("/a/**", "/a/**", false, true),
        ("/a/*", "/a/**", false, false),
        ("/a", "/a", false, true),
        ("/a", "/a/", false, false),
        ("/*", "/", false, false),
    ] {
        assert_eq!(pattern(this).covers(&pattern(other)), covers, "{this} {other}");
        assert_eq!(pattern(this).covers_as_written(&pattern(other)), as_written, "{this} {other}");
    }
}
