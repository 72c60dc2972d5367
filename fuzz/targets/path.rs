//! Paths: whatever comes in, the canonical form of a canonical form is itself, and patterns agree on both.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ratekeeper::request::path::CanonicalPath;
use ratekeeper::rule::pattern::PathPattern;

fuzz_target!(|text: &str| {
    let (pattern, path) = text.split_once('\n').unwrap_or(("/**", text));
    let pattern = PathPattern::parse(pattern);
    let Ok(path) = CanonicalPath::new(path) else { return };
    let again = CanonicalPath::new(path.as_str()).expect("a canonical path is a path");
    assert_eq!(path.as_str(), again.as_str());
    if let Ok(pattern) = pattern {
        assert_eq!(pattern.matches(&path), pattern.matches(&again));
        assert!(
            !pattern.matches_strictly(&path) || pattern.matches(&path),
            "strict is the stricter"
        );
        let same = PathPattern::parse(pattern.as_str()).expect("it was read once");
        assert_eq!(same.matches(&path), pattern.matches(&path));
    }
});
