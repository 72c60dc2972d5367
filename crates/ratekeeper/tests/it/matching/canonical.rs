//! What the canonical form of a path is.

use super::{canonical, path};

/// Goal: one form for each path, as RFC 3986 has it, with slashes merged.
/// Method: spellings beside the form, written down.
#[test]
fn spellings_have_one_form() {
    let forms = [
        ("/", "/"),
        ("*", "*"),
        ("/a", "/a"),
        ("/a/", "/a/"),
        ("//a", "/a"),
        ("///a///b///", "/a/b/"),
        ("/a?q=/../%zz\\", "/a"),
        ("/a#f?g", "/a"),
        ("/?", "/"),
        ("/./a", "/a"),
        ("/a/.", "/a/"),
        ("/a/./", "/a/"),
        ("/a/..", "/"),
        ("/a/b/..", "/a/"),
        ("/a/b/../c", "/a/c"),
        ("/a/%2e%2E/b", "/b"),
        ("/a/.%2e/b", "/b"),
        ("/a/%2E/b", "/a/b"),
        ("/%61%7E%2d", "/a~-"),
        ("/%3a%3B%2a", "/%3A%3B%2A"),
        ("/:;*@!$&'()+,=", "/:;*@!$&'()+,="),
        ("/a%20b", "/a%20b"),
        ("/é%c3%a9", "/%C3%A9%C3%A9"),
        ("/%e2%82%ac/😀", "/%E2%82%AC/%F0%9F%98%80"),
        ("/{a}|^`\"<>[b]", "/%7Ba%7D%7C%5E%60%22%3C%3E%5Bb%5D"),
        ("/%25", "/%25"),
        ("/%25g0", "/%25g0"),
        ("/%25a", "/%25a"),
        ("/X;a=1/y;b", "/X;a=1/y;b"),
        ("/..a/.b/c.", "/..a/.b/c."),
        ("/;x", "/;x"),
    ];
    for (target, form) in forms {
        assert_eq!(canonical(target).as_deref(), Ok(form), "{target}");
    }
}

/// Goal: segments are what is between slashes, and a slash at the end is followed by one.
/// Method: written down.
#[test]
fn segments_are_between_slashes() {
    let cases: [(&str, &[&str]); 5] = [
        ("/", &[""]),
        ("*", &[]),
        ("/a", &["a"]),
        ("/a/b/", &["a", "b", ""]),
        ("//a//b", &["a", "b"]),
    ];
    for (target, segments) in cases {
        assert_eq!(path(target).segments().collect::<Vec<_>>(), segments, "{target}");
    }
}

/// Goal: the common case costs no memory.
/// Method: the text of a path that is canonical already lies within what it was read from.
#[test]
fn what_is_canonical_is_not_copied() {
    for target in ["/", "/a/b", "/a;x=1/", "/%C3%A9/%20%25", "/a/b?query", "*"] {
        let path = path(target);
        assert!(target.as_bytes().as_ptr_range().contains(&path.as_str().as_ptr()), "{target}");
        assert_eq!(path.as_str(), target.split('?').next().unwrap());
    }
}
