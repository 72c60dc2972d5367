//! Proxies, the header and the prefix.
//!
//! Invariant: the default trusts nobody; a setting is taken whole or refused.

use super::refused;
use proptest::prelude::*;
use ratekeeper::Identity;
use std::net::IpAddr;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Goal: names of header fields are taken, in any case, and nothing else is.
/// Method: names on both sides of each rule.
#[test]
fn the_header_is_one_name() {
    let long = "x".repeat(64);
    for name in ["X-Forwarded-For", "forwarded", "CF-Connecting-IP", "x", &long] {
        assert!(Identity::default().client_ip_header(name).is_ok(), "{name}");
    }
    let longer = "x".repeat(65);
    for name in [
        "",
        " ",
        "X-Real-IP ",
        "X-Real-IP, X-Forwarded-For",
        "X_Forwarded_For",
        "x:y",
        "\u{e9}",
        "a\nb",
        &longer,
    ] {
        let text = refused(Identity::default().client_ip_header(name), "client_ip_header");
        assert!(text.ends_with("write `X-Forwarded-For`"), "{text}");
    }
}

/// Goal: prefixes from 32 to 128 are taken, and no others.
/// Method: all there are.
#[test]
fn the_prefix_is_from_32_to_128() {
    for bits in 0..=u8::MAX {
        let built = Identity::default().ipv6_prefix(bits);
        match (32..=128).contains(&bits) {
            true => assert!(built.is_ok(), "{bits}"),
            false => assert!(
                refused(built, "ipv6_prefix").contains(&format!("{bits} is not from 32 to 128"))
            ),
        }
    }
}

/// Goal: nobody is trusted unless said, and what was said last counts.
/// Method: the default, and networks given twice.
#[test]
fn nobody_is_trusted_unless_said() {
    for peer in ["127.0.0.1", "::1", "10.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"] {
        assert!(!Identity::default().trusts(ip(peer)), "{peer}");
    }
    let twice = Identity::default().trusted_proxies(["10.0.0.0/8".parse().unwrap()]);
    let twice = twice.trusted_proxies(["192.0.2.0/24".parse().unwrap()]);
    assert!(!twice.trusts(ip("10.0.0.1")) && twice.trusts(ip("192.0.2.1")));
    assert!(!twice.trusted_proxies([]).trusts(ip("192.0.2.1")));
}

proptest! {
    /// Goal: a peer is trusted if one of the networks holds it, however many there are, and whether or
    /// not they overlap.
    /// Method: random networks near each other, against asking them one by one.
    #[test]
    fn a_peer_is_trusted_if_one_network_holds_it(
        nets in proptest::collection::vec((any::<u16>(), 16..=32_u8, any::<bool>()), 0..12),
        peers in proptest::collection::vec((any::<u16>(), any::<bool>()), 1..20),
    ) {
        let place = |low: u16, v6: bool| -> IpAddr {
            let bits = 0xc000_0000 | u32::from(low);
            if v6 { IpAddr::V6((0x2001_u128 << 112 | u128::from(bits) << 64).into()) } else { IpAddr::V4(bits.into()) }
        };
        let nets: Vec<ipnet::IpNet> = nets.into_iter()
            .map(|(low, bits, v6)| ipnet::IpNet::new(place(low, v6), if v6 { bits + 32 } else { bits }).unwrap())
            .collect();
        let identity = Identity::default().trusted_proxies(nets.clone());
        for (low, v6) in peers {
            let peer = place(low, v6);
            prop_assert_eq!(identity.trusts(peer), nets.iter().any(|net| net.contains(&peer)), "{} {:?}", peer, nets);
        }
    }
}

/// Goal: what an identity says of itself helps.
/// Method: its text has the networks, the header and the prefix.
#[test]
fn an_identity_says_what_it_trusts() {
    let identity = Identity::default().trusted_proxies(["10.0.0.0/8".parse().unwrap()]);
    let shown = format!("{:?}", identity.client_ip_header("X-Real-IP").unwrap());
    for part in ["10.0.0.0..=10.255.255.255", "x-real-ip", "64"] {
        assert!(shown.contains(part), "{shown}");
    }
}
