//! One address in many spellings, and many addresses of one subscriber.
//!
//! Invariant: a caller cannot become two by how its address is written, or by choosing another of
//! those it has; and no two callers become one by it.

use super::{PROXY, STRANGER, address, behind, callers, ip, network};
use crate::identity::Identity;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv6Addr};

/// Goal: every spelling of an address is one caller.
/// Method: one IPv6 and one IPv4 address as proxies write them.
#[test]
fn every_spelling_of_an_address_is_one_caller() {
    let v6 = [
        "2001:db8::1",
        "2001:DB8::1",
        "2001:0db8:0000:0000:0000:0000:0000:0001",
        "2001:db8:0:0:0:0:0:1",
        "2001:db8::0:1",
        "[2001:db8::1]",
        "[2001:db8::1]:443",
        "2001:db8::0.0.0.1",
        " 2001:db8::1\t",
    ];
    for spelling in v6 {
        assert_eq!(
            address(&behind(), PROXY, &[("x-forwarded-for", spelling)]),
            Ok(ip("2001:db8::1")),
            "{spelling}"
        );
        assert_eq!(
            network(&behind(), PROXY, &[("x-forwarded-for", spelling)]),
            Ok(ip("2001:db8::")),
            "{spelling}"
        );
    }
    let v4 = [
        "192.0.2.1",
        "192.0.2.1:443",
        "::ffff:192.0.2.1",
        "::FFFF:192.0.2.1",
        "::ffff:c000:201",
        "0:0:0:0:0:ffff:c000:0201",
        "[::ffff:192.0.2.1]",
        "[::ffff:c000:201]:443",
    ];
    for spelling in v4 {
        assert_eq!(
            network(&behind(), PROXY, &[("x-forwarded-for", spelling)]),
            Ok(ip("192.0.2.1")),
            "{spelling}"
        );
    }
}

/// Goal: an IPv6 address that ends in dots is no IPv4 address.
/// Method: two that differ in the dots only, and one in the old compatible form.
#[test]
fn an_address_that_ends_in_dots_stays_ipv6() {
    for spelling in ["2001:db8::1.2.3.4", "2001:db8::5.6.7.8"] {
        assert_eq!(
            network(&behind(), PROXY, &[("x-forwarded-for", spelling)]),
            Ok(ip("2001:db8::"))
        );
        assert_eq!(network(&behind(), spelling, &[]), Ok(ip("2001:db8::")));
    }
    assert_eq!(address(&behind(), "::1.2.3.4", &[]), Ok(ip("::1.2.3.4")));
}

/// Goal: an IPv4 proxy or network is the same in IPv6 form, and `::/0` trusts no IPv4 peer.
/// Method: each spelling of the network with each of the peer.
#[test]
fn trust_is_compared_by_bits() {
    for net in ["10.0.0.0/8", "::ffff:10.0.0.0/104", "::ffff:a00:0/104", "10.9.9.9/8"] {
        let identity = Identity::default().trusted_proxies([net.parse().unwrap()]);
        for (peer, trusted) in [
            ("10.0.0.0", true),
            ("10.255.255.255", true),
            ("::ffff:10.0.0.1", true),
            ("::ffff:a00:1", true),
            ("9.255.255.255", false),
            ("11.0.0.0", false),
            ("::ffff:11.0.0.1", false),
            ("::a00:1", false),
        ] {
            assert_eq!(identity.trusts(ip(peer)), trusted, "{net} {peer}");
        }
    }
    let all_v6 = Identity::default().trusted_proxies(["::/0".parse().unwrap()]);
    assert!(all_v6.trusts(ip("2001:db8::1")) && !all_v6.trusts(ip("192.0.2.1")));
    let all_v4 = Identity::default().trusted_proxies(["::ffff:0:0/96".parse().unwrap()]);
    assert!(all_v4.trusts(ip("255.255.255.255")) && !all_v4.trusts(ip("2001:db8::1")));
}

/// Goal: without a peer nobody is counted, and the fault is the set-up's.
/// Method: a request without one, with headers that name somebody.
#[test]
fn without_a_peer_there_is_an_error_and_no_caller() {
    let headers = super::sent(&[("x-forwarded-for", "192.0.2.1")]);
    let request = crate::Request { headers: &headers, ..crate::Request::new("GET", "/") };
    let identity = behind();
    let caller = super::Caller::new(&identity, &request);
    let rejected = caller.network().unwrap_err();
    assert_eq!((rejected.kind(), rejected.status()), (crate::request::Rejection::Unknown, 500));
    assert!(
        rejected.to_string().contains("no peer address")
            && rejected.to_string().contains("`Request::peer`")
    );
    assert!(!caller.is_forwarded() && !caller.distrusted());
}

proptest! {
    /// Goal: the prefix says which IPv6 addresses are one caller, and nothing else does.
    /// Method: an address and one that differs in a single bit are one if that bit is behind the
    /// prefix; IPv4 addresses are never put together.
    #[test]
    fn one_bit_apart_is_one_caller_only_behind_the_prefix(
        bits in any::<u128>(), bit in 0..128_u8, prefix in 32..=128_u8, v4 in any::<u32>(),
    ) {
        // Global addresses: not IPv4 in disguise.
        let bits = bits >> 4 | 0x2 << 124;
        prop_assume!(bit > 3);
        let identity = Identity::default().ipv6_prefix(prefix).unwrap();
        let of = |bits| network(&identity, &Ipv6Addr::from_bits(bits).to_string(), &[]);
        let neighbour = bits ^ (1 << (127 - bit));
        prop_assert_eq!(callers([of(bits), of(neighbour)]), if bit < prefix { 2 } else { 1 });
        let (one, other) = (IpAddr::V4(v4.into()), IpAddr::V4((v4 ^ 1 << (bit % 32)).into()));
        prop_assert_eq!(network(&identity, &one.to_string(), &[]), Ok(one));
        prop_assert_eq!(network(&identity, &other.to_string(), &[]), Ok(other));
    }
}

/// Goal: the address itself keeps all its bits; only what is counted by is cut.
/// Method: a peer and a client of the same /64.
#[test]
fn the_address_is_whole_and_the_network_is_cut() {
    assert_eq!(address(&behind(), "2001:db8::7", &[]), Ok(ip("2001:db8::7")));
    assert_eq!(network(&behind(), "2001:db8::7", &[]), Ok(ip("2001:db8::")));
    assert_eq!(network(&behind(), STRANGER, &[]), Ok(ip(STRANGER)));
}
