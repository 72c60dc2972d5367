//! `Forwarded` as RFC 7239 writes it, and the names of its family.
//!
//! Invariant: a line that breaks the grammar is refused as a whole, so that no quote that a client
//! left open can swallow what a proxy wrote behind it.

use super::{PROXY, STRANGER, address, ask, behind_by, fault, ip, sent};
use crate::identity::is_forwarding_name;

fn forwarded(value: &str) -> Result<std::net::IpAddr, crate::Rejected> {
    address(&behind_by("Forwarded"), PROXY, &[("Forwarded", value)])
}

/// Goal: what the standard shows is read.
/// Method: its own examples, and their like.
#[test]
fn examples_of_the_standard_are_read() {
    for (value, client) in [
        ("for=192.0.2.43", "192.0.2.43"),
        ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
        ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
        ("for=192.0.2.43, for=198.51.100.17", "198.51.100.17"),
        ("for=198.51.100.17, for=10.0.0.3", "198.51.100.17"),
        ("for=\"192.0.2.43:_port\"", "192.0.2.43"),
        ("for=\"192.0.2.\\43\"", "192.0.2.43"),
        (";for=192.0.2.43;", "192.0.2.43"),
        ("host=\"a\\\"b,c\";for=192.0.2.43", "192.0.2.43"),
        // Nobody, and so the proxy itself.
        ("", PROXY),
        ("for=\"_gazonk\"", PROXY),
        ("for=unknown", PROXY),
        ("for=192.0.2.1, proto=https", PROXY),
        ("for=192.0.2.1,", PROXY),
        ("for=\"\"", PROXY),
        ("xfor=192.0.2.1", PROXY),
    ] {
        assert_eq!(forwarded(value), Ok(ip(client)), "{value}");
    }
}

/// Goal: what breaks the grammar is refused, with what to write.
/// Method: each rule broken once; among them a client's open quote before a proxy's own words.
#[test]
fn what_breaks_the_grammar_is_refused() {
    for value in [
        "for",
        "for=",
        "=192.0.2.1",
        "192.0.2.1",
        "for=192.0.2.1 for=192.0.2.2",
        "for=192.0.2.1:80",
        "for=[::1]",
        "for =192.0.2.1",
        "for= 192.0.2.1",
        "for=\"192.0.2.1",
        "for=\"192.0.2.1\\",
        "for=\"192.0.2.1\\\"",
        "for=\"a\"b",
        "for=1.2.3.4;for=192.0.2.1",
        "For=1.2.3.4;proto=http;FOR=unknown",
        "for=a/b",
        "for=\"x, for=192.0.2.1",
        "for=\"x, for=\"192.0.2.1\"",
        "for=\"x\\, for=\"[2001:db8::1]:80\";proto=http",
    ] {
        let fault = fault(forwarded(value));
        assert!(fault.starts_with("`forwarded` ") && fault.contains("; "), "{value}: {fault}");
    }
    // On a line of its own an open quote is no less refused.
    let lines = [("Forwarded", "for=\"x"), ("Forwarded", "for=192.0.2.1\"")];
    fault(address(&behind_by("Forwarded"), PROXY, &lines));
}

/// Goal: nothing that a caller sent is repeated in a refusal.
/// Method: a word that our texts do not have, in every kind of fault.
#[test]
fn a_refusal_repeats_nothing_of_what_was_sent() {
    let long = "SECRET,".repeat(1000);
    let many = "SECRET,".repeat(40);
    for value in [
        "for=SECRET;for=SECRET",
        "SECRET",
        "SECRET=",
        "for=\"SECRET",
        "for=\"SECRET\"x",
        "SECRET\u{e9}",
        &long,
        &many,
    ] {
        assert!(!fault(forwarded(value)).contains("SECRET"), "{value}");
    }
}

/// Goal: fields by which strangers speak for others are known, and others are not.
/// Method: names of the family in several spellings, and names near it.
#[test]
fn names_of_the_family_are_known() {
    for name in [
        "Forwarded",
        "FORWARDED",
        "X-Forwarded-For",
        "x_forwarded_for",
        "X-Forwarded-Host",
        "X-Forwarded-Anything",
        "X-Real-IP",
        "x_real_ip",
        "True-Client-IP",
        "CF-Connecting-IP",
        "X-Original-Forwarded-For",
    ] {
        assert!(is_forwarding_name(name), "{name}");
    }
    for name in [
        "",
        "x",
        "X-Forwarded",
        "Forwarded-For",
        "X-Real-IPs",
        "Host",
        "X-Api-Key",
        "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
    ] {
        assert!(!is_forwarding_name(name), "{name}");
    }
}

/// Goal: a diagnosis is made only of a peer that is not trusted and speaks for others.
/// Method: the header that was configured, one of the family, another; a trusted peer and a stranger.
#[test]
fn who_speaks_for_others_without_trust_is_noticed() {
    let identity = behind_by("X-Edge-Client");
    for (peer, header, noticed) in [
        (STRANGER, "X-Edge-Client", true),
        (STRANGER, "x-edge-client", true),
        (STRANGER, "X-Forwarded-Proto", true),
        (STRANGER, "Accept", false),
        (PROXY, "X-Edge-Client", false),
        (PROXY, "X-Forwarded-Proto", false),
    ] {
        let headers = sent(&[("Host", "a"), (header, "192.0.2.1")]);
        assert_eq!(
            ask(&identity, peer, &headers, |caller| Ok(caller.distrusted())),
            Ok(noticed),
            "{peer} {header}"
        );
    }
}
