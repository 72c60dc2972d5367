//! Targets that are refused, and in which words.

use super::canonical;
use proptest::prelude::*;
use ratekeeper::request::path::{CanonicalPath, PathFault};

/// Goal: whatever servers would not agree about is refused, and for the right reason.
/// Method: targets beside their faults, written down.
#[test]
fn targets_that_servers_read_differently_are_refused() {
    let cases = [
        (PathFault::NotOriginForm, vec!["", "a", "?a", "**", "*?a", "http://a/b", "a:443", " /a"]),
        (PathFault::Control, vec!["/\0", "/a\r\nb", "/\t", "/\x7f", "/%00", "/a%0d%0A", "/%7F"]),
        (PathFault::Control, vec!["/\u{85}", "/%C2%85", "/%1f"]),
        (PathFault::Space, vec!["/ ", "/a b"]),
        (PathFault::Backslash, vec!["/\\", "/a\\..\\b", "/%5C", "/%5c"]),
        (PathFault::EncodedSlash, vec!["/a%2Fb", "/a%2fb", "/..%2f", "/%2F"]),
        (PathFault::BadEscape, vec!["/%", "/%2", "/%g0", "/%0g", "/%%41", "/%+1", "/%2/f", "/%é"]),
        (PathFault::DoubleEncoding, vec!["/%252F", "/%2541", "/%25%32%46", "/%25%340", "/%25ff"]),
        (PathFault::NotUtf8, vec!["/%80", "/%C3", "/%C3a", "/%C3%", "/%C3é", "/%FF%FE"]),
        (
            PathFault::NotUtf8,
            vec!["/%C0%AF", "/%C0%80", "/%E0%80%AF", "/%ED%A0%80", "/%F5%80%80%80"],
        ),
        (PathFault::AboveRoot, vec!["/..", "/a/../..", "/./../a", "/%2e%2e/"]),
        (PathFault::AmbiguousParent, vec!["/a//..", "//../a", "/a//./../b", "/a//b/../../c"]),
        (PathFault::AmbiguousParent, vec!["/a/;x/../b", "/a/%3b/../b"]),
        (PathFault::DotParameters, vec!["/..;x", "/a/..;/b", "/.;x", "/%2e%2e;a=1", "/..%3bx"]),
        (PathFault::TrailingDots, vec!["/api../", "/a..", "/...", "/a%2e.", "/a..;x", "/a;x.."]),
    ];
    for (fault, targets) in cases {
        for target in targets {
            assert_eq!(canonical(target), Err(fault), "{target:?}");
        }
    }
}

/// Goal: a refusal says where, what and how to mend it, and repeats nothing that does harm.
/// Method: whole messages.
#[test]
fn messages_are_whole_and_harmless() {
    let message = |target: &str| CanonicalPath::new(target).unwrap_err().to_string();
    assert_eq!(
        message("/ab/c%2Fd?secret"),
        "path `/ab/c%2Fd`, byte 5: has an escaped slash; write `/`, or leave it out"
    );
    assert_eq!(
        message("/\x1b[2J\u{202e}"),
        "path `/\\u{1b}[2J\\u{202e}`, byte 1: has a control character; leave it out"
    );
    let long = format!("/{}\\", "x".repeat(100));
    assert_eq!(
        message(&long),
        format!(
            "path `/{}…`, byte 101: has a backslash; write `/` between segments",
            "x".repeat(63)
        )
    );
    let error = CanonicalPath::new("/ab/c%2Fd").unwrap_err();
    assert_eq!((error.fault(), error.at()), (PathFault::EncodedSlash, 5));
}

proptest! {
    #![proptest_config(crate::laws::cases(2000))]

    /// Goal: whatever comes in, there is an answer, and no message is long or moves the cursor.
    /// Method: any text, and text of the signs that matter.
    #[test]
    fn nothing_makes_it_stop(any in ".{0,40}", near in r"[/.;%25cCfFeE\\ \n?#*aé]{0,20}") {
        for target in [any.clone(), near.clone(), format!("/{any}"), format!("/{near}")] {
            match CanonicalPath::new(&target) {
                Ok(path) => prop_assert!(path.as_str().bytes().all(|byte| byte.is_ascii_graphic())),
                Err(error) => {
                    let message = error.to_string();
                    prop_assert!(message.chars().count() < 200, "{}", message);
                    prop_assert!(!message.chars().any(char::is_control), "{}", message);
                    prop_assert!(message.contains("; "), "{}", message);
                }
            }
        }
    }
}
