//! Both sides of every bound.

use super::{canonical, path, pattern};
use ratekeeper::request::path::{PATH_MAX, PathFault, SEGMENTS_MAX};
use ratekeeper::rule::pattern::{self, PathPattern};

/// Goal: a path has at most `PATH_MAX` bytes, before and after; a query does not count.
/// Method: as long as may be, and one more.
#[test]
fn paths_are_of_bounded_length() {
    let longest = format!("/{}", "a".repeat(PATH_MAX - 1));
    assert_eq!(canonical(&longest).as_ref(), Ok(&longest));
    assert_eq!(canonical(&format!("{longest}a")), Err(PathFault::TooLong));
    assert_eq!(canonical(&format!("{longest}?{}", "q".repeat(PATH_MAX))), Ok(longest));
    // Two bytes become six.
    let fits = format!("/a{}", "é".repeat((PATH_MAX - 2) / 6));
    assert_eq!(canonical(&fits).unwrap().len(), PATH_MAX - (PATH_MAX - 2) % 6);
    assert_eq!(canonical(&format!("{fits}é")), Err(PathFault::TooLong));
    assert_eq!(canonical(&"x".repeat(1 << 20)), Err(PathFault::TooLong));
}

/// Goal: a path has at most `SEGMENTS_MAX` segments, however many were merged or taken away.
/// Method: as many as may be, and one more.
#[test]
fn paths_have_a_bounded_number_of_segments() {
    let most = "/a".repeat(SEGMENTS_MAX);
    assert_eq!(canonical(&most).as_ref(), Ok(&most));
    assert_eq!(canonical(&format!("{most}/")), Ok(format!("{most}/")));
    assert_eq!(canonical(&format!("/b/..{}{most}", "/".repeat(600))), Ok(most.clone()));
    assert_eq!(canonical(&format!("{most}/a")), Err(PathFault::TooManySegments));
}

/// Goal: patterns are bounded in length, segments and `**`.
/// Method: as much as may be, and one more.
#[test]
fn patterns_are_bounded() {
    let longest = format!("/{}", "a".repeat(pattern::PATTERN_MAX - 1));
    assert!(pattern(&longest).matches(&path(&longest)));
    let segments = "/*".repeat(pattern::SEGMENTS_MAX);
    assert!(pattern(&segments).matches(&path(&"/a".repeat(pattern::SEGMENTS_MAX))));
    let [plain, slash] = ["", "/"].map(|end| "/a".repeat(pattern::SEGMENTS_MAX) + end);
    assert!(pattern(&format!("{segments}/")).matches_strictly(&path(&slash)));
    assert!(!pattern(&format!("{segments}/")).matches_strictly(&path(&plain)));
    let any = "/a/**".repeat(pattern::ANY_MAX);
    assert!(pattern(&any).matches(&path("/a/b/a/a/a")));
    let cases = [
        (format!("{longest}a"), "is longer than 1024 bytes; write a shorter one"),
        (format!("{segments}/*"), "has more than 64 segments; end it sooner, with `**`"),
        (format!("{any}/**"), "has more than 4 `**`; write `*` for single segments"),
    ];
    for (text, fault) in cases {
        let message = PathPattern::parse(&text).unwrap_err().to_string();
        assert!(message.ends_with(&format!(": {fault}")), "{message}");
    }
}
