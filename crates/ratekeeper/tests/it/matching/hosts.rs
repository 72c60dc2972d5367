//! Hosts and their patterns.

use proptest::prelude::*;
use ratekeeper::rule::pattern::{HostPattern, canonical_host};

/// Goal: one form for each host.
/// Method: spellings beside the form, written down.
#[test]
fn spellings_of_a_host_have_one_form() {
    for (host, form) in [
        ("example.com", "example.com"),
        ("EXAMPLE.com:8080", "example.com"),
        ("example.com.", "example.com"),
        ("example.com.:80", "example.com"),
        ("example.com:", "example.com"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[::1]:80", "[::1]"),
        ("[0:0:0::0001]:80", "[::1]"),
        ("[2001:DB8::A]", "[2001:db8::a]"),
        ("::1", "[::1]"),
        ("a:b", "a:b"),
        ("a:1:2", "a:1:2"),
        ("[::1]x", "[::1]x"),
        ("", ""),
    ] {
        assert_eq!(canonical_host(host), form, "{host}");
    }
}

/// Goal: a name is for itself; `*.` and a name for all below it, and not for itself.
/// Method: written down.
#[test]
fn patterns_are_for_a_name_or_for_those_below() {
    for (pattern, host, is) in [
        ("b.c", "b.c", true),
        ("B.C", "b.c", true),
        ("b.c.", "b.c", true),
        ("b.c", "a.b.c", false),
        ("*.b.c", "a.b.c", true),
        ("*.b.c", "x.a.b.c", true),
        ("*.b.c", "b.c", false),
        ("*.b.c", "ab.c", false),
        ("*.b.c", ".b.c", false),
        ("[0::1]", "[::1]", true),
        ("localhost", "localhost", true),
        ("a_b-1.example", "a_b-1.example", true),
    ] {
        assert_eq!(HostPattern::parse(pattern).unwrap().matches(host), is, "{pattern} {host}");
    }
    assert_eq!(HostPattern::parse("*.Example.COM").unwrap().to_string(), "*.example.com");
}

/// Goal: what is no host is refused, in words that help.
/// Method: whole messages, and both sides of the bounds.
#[test]
fn what_is_no_host_is_refused() {
    let name = "is not a name; write one such as `example.com` or `*.example.com`";
    let colon = "has a `:`; leave the port out, and write addresses of IPv6 as `[::1]`";
    let star = "has a `*` elsewhere than in front; write `*.example.com`";
    for (text, fault) in [
        ("*", "is any host; leave `host` out"),
        ("", name),
        ("*.", name),
        ("a..b", name),
        (".a", name),
        ("a b", name),
        ("a/b", name),
        ("*.[::1]", colon),
        ("a:80", colon),
        ("::1", colon),
        ("a.*.b", star),
        ("*a", star),
        ("[x]", "has no address in its brackets; write one such as `[::1]`"),
        ("bücher.de", "has letters beyond ASCII; write the name as `xn--…`"),
    ] {
        let message = HostPattern::parse(text).unwrap_err().to_string();
        assert_eq!(message, format!("host pattern `{text}`: {fault}"));
    }
    let label = "a".repeat(63);
    assert!(HostPattern::parse(&label).is_ok());
    assert!(HostPattern::parse(&format!("{label}a")).is_err());
    let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    assert!(HostPattern::parse(&longest).is_ok());
    assert!(HostPattern::parse(&format!("*.{longest}")).is_ok());
    assert!(HostPattern::parse(&format!("{longest}a")).is_err());
    assert!(HostPattern::parse(&format!("*.{longest}aa")).is_err());
}

proptest! {
    #![proptest_config(crate::laws::cases(2000))]

    /// Goal: the canonical form is its own, and any text has one.
    /// Method: text of the signs that matter, and any.
    #[test]
    fn canonical_twice_is_canonical_once(near in r"[aB0-2.:\[\]]{0,10}", any in ".{0,20}") {
        for host in [near, any] {
            let once = canonical_host(&host).into_owned();
            prop_assert_eq!(&canonical_host(&once), &once, "{}", host);
        }
    }

    /// Goal: a pattern reads back as itself, and is for the name that it has.
    /// Method: whatever is accepted.
    #[test]
    fn patterns_read_back(text in r"(\*\.)?([aB1_-]{1,3}\.){0,2}([aB1]{1,3}|\[[1:]{2,5}\])\.?") {
        if let Ok(pattern) = HostPattern::parse(&text) {
            let shown = pattern.to_string();
            prop_assert_eq!(HostPattern::parse(&shown), Ok(pattern.clone()));
            let host = shown.replace('*', "x");
            prop_assert!(pattern.matches(&canonical_host(&format!("{host}.:1"))), "{}", host);
        }
    }
}
