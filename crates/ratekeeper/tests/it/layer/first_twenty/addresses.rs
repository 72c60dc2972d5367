//! Rows 1 to 6: one caller with many addresses, and many with one.
//!
//! Invariant: without a proxy that is trusted, a caller is the other end of its connection.

use super::{MOST, OTHER, PROXY, attack, behind_a_proxy, five};
use crate::layer::{Door, door, from, get, with};
use http::{HeaderName, Request};

const SPOKESMEN: [&str; 8] = [
    "X-Forwarded-For",
    "X-Real-IP",
    "True-Client-IP",
    "Forwarded",
    "CF-Connecting-IP",
    "X-Client-IP",
    "Client-IP",
    "X-Cluster-Client-IP",
];

/// Goal: row 1. Who is not trusted cannot say which address it has.
/// Method: rotate every field that names an address, from an address that is no proxy.
#[test]
fn row_01_rotating_addresses_from_a_stranger() {
    let rotate = |nth: usize| {
        let (name, value) = (SPOKESMEN[nth % 8], format!("198.51.100.{}", nth % 250));
        let value = if name == "Forwarded" { format!("for={value}") } else { value };
        with(get("/"), name, value)
    };
    attack(&door([five()]), (0..400).map(rotate));
    attack(&behind_a_proxy(), (0..400).map(rotate));
}

/// A request that the proxy passes on, with the caller's address where the proxy puts it.
fn proxied(lines: &[&str]) -> Request<()> {
    lines
        .iter()
        .fold(from(PROXY, "GET", "/"), |request, line| with(request, "x-forwarded-for", line))
}

/// Goal: row 2. Behind a proxy only what it has written counts: the last entry that is no proxy's.
/// Method: whatever a caller can put to the left of it, on one line or on two, with ports and brackets.
#[test]
fn row_02_entries_on_the_left() {
    let long = "198.51.100.9, ".repeat(20) + "198.51.100.7";
    let lines: [&[&str]; 14] = [
        &["198.51.100.7"],
        &["198.51.100.1, 198.51.100.7"],
        &["198.51.100.2", "198.51.100.7"],
        &["10.0.0.9, 198.51.100.7"],
        &["198.51.100.7:4711"],
        &["[::ffff:198.51.100.7]:80"],
        &["::ffff:c633:6407"],
        &["junk, <script>, 198.51.100.7"],
        &["unknown,,, 198.51.100.7"],
        &[" \t198.51.100.7\t "],
        &["198.51.100.3, 198.51.100.7, 10.2.2.2"],
        &["198.51.100.7,10.2.2.2", "10.3.3.3"],
        &["127.0.0.1,::1,0.0.0.0,198.51.100.7"],
        &[&long],
    ];
    attack(&behind_a_proxy(), lines.map(proxied));
}

/// Goal: row 2. A list that no proxy writes is refused, and charges nobody.
/// Method: ten thousand entries, on one line and on many.
#[test]
fn row_02_ten_thousand_entries() {
    let door = behind_a_proxy();
    let line = "198.51.100.1,".repeat(10_000) + "198.51.100.7";
    assert_eq!(door.status(proxied(&[&line])), 400);
    assert_eq!(door.status(proxied(&["198.51.100.7"; 10_000])), 400);
    assert_eq!(door.calls(), 0);
    attack(&door, [(); 9].map(|()| proxied(&["198.51.100.7"])));
}

/// Goal: row 3. A caller cannot have the fields that it is known by taken away.
/// Method: name them in `Connection`.
#[test]
fn row_03_connection_names_our_fields() {
    let names = [
        "X-Forwarded-For",
        "X-Forwarded-For, X-Api-Key",
        "close, x-forwarded-for, RateLimit, X-RateLimit-Remaining, Retry-After",
    ];
    let ask = |nth: usize| with(proxied(&["198.51.100.7"]), "Connection", names[nth % 3]);
    let door = behind_a_proxy();
    attack(&door, (0..9).map(ask));
    let told = door.ask(ask(0));
    assert!(told.field("retry-after").is_some() && told.field("ratelimit").is_some());
}

/// Goal: row 4. A name that only looks like a field is none; one in other case is the same.
/// Method: underscores from the proxy, other case, and names that no server may pass on at all.
#[test]
fn row_04_names_that_look_alike() {
    let door = behind_a_proxy();
    let alias = |nth: usize| {
        let name = ["X_Forwarded_For", "x_forwarded-for", "X-Forwarded_For", "X_REAL_IP"][nth % 4];
        with(proxied(&["198.51.100.7"]), name, format!("203.0.113.{nth}"))
    };
    attack(&door, (0..20).map(alias));
    let other_case = |nth: usize| {
        let name = ["X-FORWARDED-FOR", "x-forwarded-for", "X-ForWarded-For"][nth % 3];
        with(from(PROXY, "GET", "/"), name, "198.51.100.8")
    };
    assert_eq!(door.admits((0..9).map(other_case)), MOST);
    for name in ["x-forwarded-for ", "x-forwarded-for\t", " x-forwarded-for", "x-forwarded-for:"] {
        assert!(
            HeaderName::from_bytes(name.as_bytes()).is_err(),
            "such a name cannot be in a request"
        );
    }
    assert!(http::HeaderValue::from_bytes(b"a\r\n 198.51.100.9").is_err(), "nor such a fold");
}

/// Goal: row 5. A subscriber with a /64 is one caller, and its neighbour another.
/// Method: ten thousand addresses of one, then one of the next.
#[test]
fn row_05_ten_thousand_addresses_of_one_network() {
    let door = door([five()]);
    let own = |nth: usize| from(&format!("2001:db8:0:7::{:x}:{nth:x}", nth % 977), "GET", "/");
    attack(&door, (0..10_000).map(own));
    for neighbour in ["2001:db8:0:8::1", "2001:db8:0:6:ffff:ffff:ffff:ffff"] {
        assert_eq!(door.admits([(); 9].map(|()| from(neighbour, "GET", "/"))), MOST, "{neighbour}");
    }
}

/// Goal: row 6. One address in every spelling is one caller.
/// Method: what a proxy may write for an address of IPv6, and of IPv4.
#[test]
fn row_06_one_address_in_every_spelling() {
    let six = [
        "2001:db8::a",
        "2001:DB8::A",
        "2001:0db8:0000:0000:0000:0000:0000:000a",
        "2001:db8:0:0::a",
        "[2001:db8::a]",
        "[2001:db8::A]:443",
        "2001:db8::0.0.0.10",
    ];
    attack(&behind_a_proxy(), six.map(|own| proxied(&[own])));
    let four = [
        "198.51.100.7",
        "::ffff:198.51.100.7",
        "::FFFF:c633:6407",
        "0:0:0:0:0:ffff:c633:6407",
        "[::ffff:198.51.100.7]",
        "198.51.100.7:1",
    ];
    attack(&behind_a_proxy(), four.map(|own| proxied(&[own])));
    let zones = (0..9).map(|nth| format!("fe80::1%eth{nth}"));
    let door = behind_a_proxy();
    assert_eq!(
        door.admits(zones.map(|zone| proxied(&[&zone]))),
        MOST,
        "the proxy itself is counted"
    );
    assert_eq!(door.admits([(); 9].map(|()| proxied(&[OTHER]))), MOST);
}

/// Goal: row 6. Callers over a socket for both families are apart, and the same as over one for IPv4.
/// Method: a hundred addresses, each in both forms.
#[test]
fn row_06_a_hundred_callers_over_one_socket() {
    let door: Door = door([five()]);
    for caller in 0..100 {
        let forms = [format!("::ffff:192.0.2.{caller}"), format!("192.0.2.{caller}")];
        let asks = (0..12).map(|nth| from(&forms[nth % 2], "GET", "/"));
        assert_eq!(door.admits(asks), MOST);
    }
}
