//! Rows 9 to 12 of the twenty attacks, at the level of patterns: a spelling is refused, or it meets
//! the rule.

use super::{canonical, path, pattern};
use ratekeeper::request::path::PathFault;
use ratekeeper::rule::method::{canonical_method, method_matches};
use std::sync::Arc;

/// Goal: row 9, slashes, dots, case, parameters, query and fragment.
/// Method: every spelling in the row is accepted, and meets the rule for `/x`; an exception for `/x`
/// is for none but the plain ones.
#[test]
fn row_9_slashes_case_parameters_and_queries_meet_the_rule() {
    let rule = pattern("/x");
    let spellings = [
        "/x", "//x", "/x/", "/X", "/x/.", "/x;a=1", "/x?", "/x#", "/./x", "/y/../x", "///x//",
        "/x;", "/X;A/", "/%78", "/%58", "/;a/x", "/x/;a", "/x%3Ba", "/x?/../y", "/x#/y",
    ];
    for target in spellings {
        assert!(rule.matches(&path(target)), "{target}");
    }
    let plain = ["/x", "//x", "/x?", "/x#", "/./x", "/y/../x", "/%78", "/x?/../y", "/x#/y"];
    for target in spellings {
        let path = path(target);
        assert_eq!(rule.matches_strictly(&path), plain.contains(&target), "{target}");
    }
    for target in ["/", "/xx", "/x/y", "/y/x", "/x.", "*"] {
        assert!(!rule.matches(&path(target)), "{target}");
    }
}

/// Goal: row 10, escapes, backslashes, forms of UTF-8 that are too long, and dots at the end.
/// Method: each is refused, or leads to the path that the rule is for.
#[test]
fn row_10_escapes_are_refused_or_meet_the_rule() {
    let refused = [
        "/api%2Fx",
        "/api%2fx",
        "/api%5Cx",
        "/api\\x",
        "/api%252Fx",
        "/api/x%00",
        "/api/%C0%AEx",
        "/api%C0%AFx",
        "/api/%E0%80%AFx",
        "/api../",
        "/api/x/..%2F",
        "/public/..%2fapi/x",
        "/public/..;/api/x",
        "/public//../api/x",
        "/public/%252e%252e/api/x",
        "/public\\..\\api/x",
    ];
    for target in refused {
        assert!(canonical(target).is_err(), "{target}");
    }
    let accepted = [
        "/public/%2e%2e/api/x",
        "/public/%2E%2E/api/x",
        "/public/.%2e/api/x",
        "/%61pi/x",
        "/api/%2e/x",
        "/API/%58",
        "/./api/x",
        "/public/../api/x",
    ];
    for target in accepted {
        let path = path(target);
        assert!(pattern("/api/x").matches(&path), "{target}");
        assert!(pattern("/api/**").matches(&path), "{target}");
        assert!(!pattern("/public/**").matches_strictly(&path), "{target}");
    }
}

/// Goal: a delimiter that most servers decode before they route is no way around a rule.
/// Method: each of them escaped and not, in the rule and in the path.
#[test]
fn row_10_escaped_delimiters_meet_the_rule() {
    for delimiter in "!$&'()*+,=@:".chars() {
        let escaped = format!("/a%{:02x}b", u32::from(delimiter));
        let plain = format!("/a{delimiter}b");
        let [as_escaped, as_plain] = [&escaped, &plain].map(|target| path(target));
        assert_ne!(as_escaped, as_plain);
        assert!(pattern(&escaped).matches(&as_plain), "{plain}");
        assert!(pattern(&escaped).matches(&as_escaped), "{plain}");
        assert!(!pattern(&escaped).matches_strictly(&as_plain), "{plain}");
        if delimiter != '*' {
            assert!(pattern(&plain).matches(&as_escaped), "{plain}");
            assert!(!pattern(&plain).matches_strictly(&as_escaped), "{plain}");
        }
    }
}

/// Goal: row 11, forms of targets. What is not a path is refused, so that no rule misses it.
/// Method: each form; `*` is accepted, and is for rules for everything alone.
#[test]
fn row_11_only_origin_form_and_the_asterisk_are_accepted() {
    let others = [
        "x",
        "api/x",
        "http://example.com/x",
        "https://example.com",
        "example.com:443",
        "grpc.Service/Method",
        "",
        "?x",
        "**",
        "*/x",
        "*?x",
    ];
    for target in others {
        assert_eq!(canonical(target), Err(PathFault::NotOriginForm), "{target}");
    }
    let asterisk = path("*");
    for (rule, is) in
        [("/**", true), ("/**/**", true), ("/*", false), ("/", false), ("/%2A", false)]
    {
        assert_eq!(pattern(rule).matches(&asterisk), is, "{rule}");
        assert_eq!(pattern(rule).matches_strictly(&asterisk), is, "{rule}");
    }
    for rule in ["/*/**", "/**/*", "/a/**"] {
        assert!(!pattern(rule).matches(&asterisk), "{rule}");
    }
}

/// Goal: row 12, as far as methods go: case, and `HEAD` for `GET`.
/// Method: both ways round.
#[test]
fn row_12_methods_in_any_case_and_head_for_get() {
    let methods = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect::<Vec<_>>();
    for (rule, method, is) in [
        (&["GET"][..], "GET", true),
        (&["GET"], "get", true),
        (&["GET"], "HEAD", true),
        (&["GET"], "head", true),
        (&["POST", "GET"], "HEAD", true),
        (&["HEAD"], "GET", false),
        (&["HEAD"], "HEAD", true),
        (&["POST"], "GET", false),
        (&["GET"], "OPTIONS", false),
        (&[], "PROPFIND", true),
        (&["GET"], "", false),
        (&[], "", true),
    ] {
        assert_eq!(method_matches(&methods(rule), method), is, "{rule:?} {method}");
    }
    assert_eq!(canonical_method("gEt"), "GET");
    assert_eq!(canonical_method("HEAD"), "HEAD");
    assert!(matches!(canonical_method("M-SEARCH"), std::borrow::Cow::Borrowed("M-SEARCH")));
}
