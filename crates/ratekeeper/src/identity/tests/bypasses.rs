//! Known ways around limiters, by their numbers in the list of the twenty to try first, and the off
//! state of each switch of trust.
//!
//! Invariant: over all spellings a caller stays one caller, and no other is drawn in.

use super::{PROXY, STRANGER, address, ask, behind, behind_by, callers, fault, ip, network, sent};
use crate::identity::Identity;

/// Header fields by which somebody speaks for others, with a value for each number.
fn claims(number: u32) -> Vec<(&'static str, String)> {
    let address = format!("198.51.{}.{}", number >> 8 & 255, number & 255);
    let mut claims: Vec<_> = [
        "X-Forwarded-For",
        "X-Real-IP",
        "True-Client-IP",
        "CF-Connecting-IP",
        "X-Client-IP",
        "X-Cluster-Client-IP",
        "Fastly-Client-IP",
    ]
    .map(|name| (name, address.clone()))
    .into();
    claims.push(("Forwarded", format!("for={address}")));
    claims
}

/// Goal: row 1. Whoever is not trusted stays who it is, whatever it writes.
/// Method: a thousand requests of one stranger, each with new values in every such field, with trust
/// off and with trust in somebody else, for each header that can be configured.
#[test]
fn row_1_forwarded_fields_of_a_stranger_are_not_read() {
    for header in
        ["X-Forwarded-For", "Forwarded", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP"]
    {
        for identity in [
            Identity::default(),
            Identity::default().client_ip_header(header).unwrap(),
            behind_by(header),
        ] {
            let all = (0..1000).map(|number| {
                let claims = claims(number);
                let headers: Vec<_> =
                    claims.iter().map(|(name, value)| (*name, &**value)).collect();
                let found = ask(&identity, STRANGER, &sent(&headers), |caller| {
                    assert!(caller.distrusted() && !caller.is_forwarded());
                    caller.network().map_err(Clone::clone)
                });
                assert_eq!(found, Ok(ip(STRANGER)));
                found
            });
            assert_eq!(callers(all), 1);
        }
    }
}

/// Goal: what a stranger writes cannot even be malformed, since it is not read.
/// Method: headers that a trusted proxy would be refused for.
#[test]
fn the_fields_of_a_stranger_cannot_be_malformed() {
    let long = "1.2.3.4,".repeat(10_000);
    for (header, value) in
        [("X-Forwarded-For", &*long), ("X-Forwarded-For", "\u{e9}"), ("Forwarded", "for=\"")]
    {
        assert_eq!(address(&behind_by(header), STRANGER, &[(header, value)]), Ok(ip(STRANGER)));
        fault(address(&behind_by(header), PROXY, &[(header, value)]));
    }
}

/// Goal: exactly one header is read, even from a trusted proxy.
/// Method: all others are there with other values; the configured one is absent, and then there.
#[test]
fn only_the_configured_header_is_read() {
    for header in
        ["X-Forwarded-For", "Forwarded", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP"]
    {
        let claims = claims(7);
        let mut others: Vec<_> = claims
            .iter()
            .filter(|(name, _)| *name != header)
            .map(|(name, value)| (*name, &**value))
            .collect();
        assert_eq!(address(&behind_by(header), PROXY, &others), Ok(ip(PROXY)));
        others.push((header, if header == "Forwarded" { "for=192.0.2.5" } else { "192.0.2.5" }));
        assert_eq!(address(&behind_by(header), PROXY, &others), Ok(ip("192.0.2.5")));
    }
}

/// Goal: row 2. Behind one trusted proxy a client stays who the proxy saw.
/// Method: what a client can put to the left of the proxy's own entry: fakes, trusted addresses,
/// ports, brackets, junk, quotes, lines of their own.
#[test]
fn row_2_what_a_client_writes_before_the_proxy_changes_nothing() {
    let lefts = [
        "1.2.3.4",
        "10.0.0.9",
        "1.2.3.4:80",
        "[::1]:80",
        "unknown",
        "",
        "junk",
        "\"",
        "1.2.3.4, 10.0.0.7",
        "fe80::1%eth0",
        "_hidden, 8.8.8.8",
        "203.0.113.1, 203.0.113.2, 203.0.113.3",
        ",,,",
        "192.0.2.66;for=1.1.1.1",
    ];
    for left in lefts {
        let one_line = format!("{left}, 192.0.2.5");
        for headers in [
            vec![("X-Forwarded-For", &*one_line)],
            vec![("X-Forwarded-For", left), ("X-Forwarded-For", "192.0.2.5")],
            vec![("X-Forwarded-For", left), ("x-forwarded-for", "192.0.2.5:4711, 10.2.3.4")],
        ] {
            assert_eq!(network(&behind(), PROXY, &headers), Ok(ip("192.0.2.5")), "{left}");
        }
    }
}

/// Goal: row 2, ten thousand entries. They are refused by name of the bound, and not parsed.
/// Method: in one line, in as many lines, and as empty entries that are few bytes.
#[test]
fn row_2_ten_thousand_entries_are_refused() {
    let line = vec!["1.2.3.4"; 10_000].join(",");
    assert!(fault(address(&behind(), PROXY, &[("x-forwarded-for", &line)])).contains("4096 bytes"));
    let lines = vec![("x-forwarded-for", "1.2.3.4"); 10_000];
    assert!(fault(address(&behind(), PROXY, &lines)).contains("4096 bytes"));
    let empty = vec![("x-forwarded-for", ""); 10_000];
    assert!(fault(address(&behind(), PROXY, &empty)).contains("32 entries"));
    assert!(
        fault(address(&behind(), PROXY, &[("x-forwarded-for", &",".repeat(4000))]))
            .contains("32 entries")
    );
}

/// Goal: row 2, duplicates. A field that holds one address and is there twice is refused.
/// Method: two lines of `X-Real-IP`, the same and different; one line is read, as a list too.
#[test]
fn row_2_a_single_field_on_two_lines_is_refused() {
    let identity = behind_by("X-Real-IP");
    for second in ["192.0.2.1", "192.0.2.2"] {
        let headers = [("X-Real-IP", "192.0.2.1"), ("x-real-ip", second)];
        assert!(fault(address(&identity, PROXY, &headers)).contains("`x-real-ip` is on 2 lines"));
    }
    assert_eq!(address(&identity, PROXY, &[("X-Real-IP", "192.0.2.1")]), Ok(ip("192.0.2.1")));
    assert_eq!(
        address(&identity, PROXY, &[("X-Real-IP", "192.0.2.1, 10.3.3.3")]),
        Ok(ip("192.0.2.1"))
    );
}

/// Goal: row 3. `Connection` takes no field away.
/// Method: it names every field that we read; the caller is the same with it and without.
#[test]
fn row_3_connection_cannot_take_the_header_away() {
    let connection = ("Connection", "close, X-Forwarded-For, X-Api-Key, Authorization");
    let forwarded = ("X-Forwarded-For", "192.0.2.5");
    for headers in [vec![forwarded], vec![connection, forwarded], vec![forwarded, connection]] {
        assert_eq!(address(&behind(), PROXY, &headers), Ok(ip("192.0.2.5")));
    }
}

/// Goal: row 4. Names that look like the header are not it; the header in another case is.
/// Method: underscores, a space at either end, and capitals; a folded value is refused.
#[test]
fn row_4_names_that_pass_for_the_header_are_not_read() {
    for alias in [
        "X_Forwarded_For",
        "x_forwarded_for",
        "X-Forwarded_For",
        "X-Forwarded-For ",
        " X-Forwarded-For",
        "X-Forwarded-For:",
    ] {
        let headers = [(alias, "1.2.3.4"), ("X-Forwarded-For", "192.0.2.5")];
        assert_eq!(address(&behind(), PROXY, &headers), Ok(ip("192.0.2.5")), "{alias}");
        assert_eq!(address(&behind(), PROXY, &headers[..1]), Ok(ip(PROXY)), "{alias}");
    }
    for same in ["x-forwarded-for", "X-FORWARDED-FOR", "x-FoRwArDeD-fOr"] {
        assert_eq!(address(&behind(), PROXY, &[(same, "192.0.2.5")]), Ok(ip("192.0.2.5")));
    }
    for folded in
        ["1.2.3.4\r\n 192.0.2.5", "1.2.3.4\n", "1.2.3.4\0", "1.2.3.4\u{7f}", "1.2.3.4\u{a0}"]
    {
        assert!(
            fault(address(&behind(), PROXY, &[("x-forwarded-for", folded)]))
                .contains("not printable ASCII")
        );
    }
    let underscored =
        ask(&behind(), STRANGER, &sent(&[("X_Forwarded_For", "1.2.3.4")]), |caller| {
            Ok(caller.distrusted())
        });
    assert_eq!(underscored, Ok(true));
}

/// Goal: row 5. Ten thousand addresses of one /64 are one caller, and its neighbours others.
/// Method: as peers and as forwarded clients.
#[test]
fn row_5_a_64_is_one_caller_and_its_neighbour_another() {
    let of = |prefix: &str| {
        let hosts = (0..10_000_u64).map(|host| host.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let prefix = prefix.to_owned();
        hosts.map(move |host| {
            let groups = [host >> 48, host >> 32 & 0xffff, host >> 16 & 0xffff, host & 0xffff];
            format!("{prefix}:{}", groups.map(|group| format!("{group:x}")).join(":"))
        })
    };
    let one = || of("2001:db8:1:1");
    assert_eq!(callers(one().map(|peer| network(&behind(), &peer, &[]))), 1);
    assert_eq!(
        callers(one().map(|client| network(&behind(), PROXY, &[("x-forwarded-for", &client)]))),
        1
    );
    let both = one().chain(of("2001:db8:1:2")).chain(of("2001:db8:1:0"));
    assert_eq!(callers(both.map(|peer| network(&behind(), &peer, &[]))), 3);
}

/// Goal: row 6. A hundred IPv4 clients over a socket of both families stay a hundred.
/// Method: as peers in IPv6 form, and as forwarded clients in its two spellings; an address with a
/// zone is none.
#[test]
fn row_6_ipv4_clients_in_ipv6_form_stay_apart() {
    let clients = || 0..100_u32;
    let dotted = |host| format!("::ffff:192.0.2.{host}");
    let hex = |host| format!("::FFFF:c000:2{host:02x}");
    for spelled in [&dotted as &dyn Fn(u32) -> String, &hex] {
        let peers = clients().map(|host| network(&behind(), &spelled(host), &[]));
        assert_eq!(callers(peers), 100);
        let forwarded =
            clients().map(|host| network(&behind(), PROXY, &[("x-forwarded-for", &spelled(host))]));
        assert_eq!(callers(forwarded), 100);
    }
    let all = clients().flat_map(|host| [dotted(host), hex(host), format!("192.0.2.{host}")]);
    assert_eq!(callers(all.map(|peer| network(&behind(), &peer, &[]))), 100);
    assert_eq!(network(&behind(), PROXY, &[("x-forwarded-for", "fe80::1%eth0")]), Ok(ip(PROXY)));
}

/// Goal: with no switch set nothing but the connection and the application is believed.
/// Method: a request that brings everything, through the default.
#[test]
fn the_default_believes_the_connection_alone() {
    let headers = sent(&[
        ("X-Forwarded-For", "192.0.2.1"),
        ("Forwarded", "for=192.0.2.1"),
        ("X-Api-Key", "secret"),
        ("X-User", "root"),
        ("Authorization", "Bearer a.b.c"),
        ("Authorization", "Bearer a.b.c"),
    ]);
    let nobody = ask(&Identity::default(), STRANGER, &headers, |caller| {
        assert_eq!(
            (caller.user(), caller.tier(), caller.api_key()),
            (Ok(None), Ok(None), Ok(None))
        );
        assert_eq!(caller.claim("sub"), Ok(None));
        caller.address().map_err(Clone::clone)
    });
    assert_eq!(nobody, Ok(ip(STRANGER)));
}
