//! The walk from proxy to proxy, from right to left.
//!
//! Invariant: the client is the rightmost hop that is not trusted, however the hops are written and
//! whatever stands to their left.

use super::{PROXY, Sent, address, ask, behind, behind_by, fault, ip};
use crate::identity::Identity;
use crate::request::Rejected;
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn trusted() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 3]>().prop_map(|[b, c, d]| IpAddr::V4(Ipv4Addr::new(10, b, c, d))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(0xfd << 120 | bits >> 8))),
    ]
}

fn stranger() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        (11..=255_u8, any::<[u8; 3]>())
            .prop_map(|(a, [b, c, d])| IpAddr::V4(Ipv4Addr::new(a, b, c, d))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(0x2 << 124 | bits >> 4))),
    ]
}

/// The address in one of the ways in which proxies write it.
fn spelled(address: IpAddr, way: u8, port: u16) -> String {
    let groups =
        |address: Ipv6Addr| address.segments().map(|group| format!("{group:04X}")).join(":");
    match (address, way % 6) {
        (IpAddr::V4(v4), 0) => v4.to_string(),
        (IpAddr::V4(v4), 1) => format!("{v4}:{port}"),
        (IpAddr::V4(v4), 2) => format!("::ffff:{v4}"),
        (IpAddr::V4(v4), 3) => format!("[::FFFF:{v4}]:{port}"),
        (IpAddr::V4(v4), 4) => groups(v4.to_ipv6_mapped()),
        (IpAddr::V4(v4), _) => format!("[{}]", groups(v4.to_ipv6_mapped())),
        (IpAddr::V6(v6), 0) => v6.to_string(),
        (IpAddr::V6(v6), 1) => format!("[{v6}]"),
        (IpAddr::V6(v6), 2) => format!("[{v6}]:{port}"),
        (IpAddr::V6(v6), 3) => groups(v6),
        (IpAddr::V6(v6), 4) => v6.to_string().to_uppercase(),
        (IpAddr::V6(v6), _) => format!("[{}]:{port}", groups(v6)),
    }
}

/// How one hop is written: its spelling, port, and what comes between it and the next.
fn style() -> impl Strategy<Value = (u8, u16, u8)> {
    any::<(u8, u16, u8)>()
}

/// Entries as lines of a header: each joint is a comma with some space, or a new line. The joint of
/// the last leads nowhere.
fn lines(header: &str, entries: &[(String, u8)]) -> Sent {
    let mut lines: Vec<String> = Vec::new();
    let mut before = 0;
    for (entry, joint) in entries {
        match lines.last_mut() {
            Some(line) if before % 4 != 0 => {
                *line += [",", ", ", " ,\t"][usize::from(before % 3)];
                *line += entry;
            }
            _ => lines.push(entry.clone()),
        }
        before = *joint;
    }
    lines.into_iter().map(|line| (header.to_owned(), line.into_bytes())).collect()
}

/// Whether the address stands in one of these values, perhaps with backslashes in it and a port.
fn is_in(address: IpAddr, values: &[Vec<u8>]) -> bool {
    let part = |c: char| c.is_ascii_hexdigit() || ".:".contains(c);
    values.iter().any(|value| {
        let text = String::from_utf8_lossy(value).replace('\\', "");
        let mut runs = text.split(|c| !part(c)).flat_map(|run| {
            [Some(run), run.rsplit_once(':').map(|(before, _)| before)].into_iter().flatten()
        });
        runs.any(|run| run.parse::<IpAddr>().is_ok_and(|sent| sent.to_canonical() == address))
    })
}

/// Nearly an entry, of either form.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let start = "(for=)?\"?\\[?[0-9]{1,2}[.][0-9]{1,2}[.]\\\\?[0-9][.][0-9]{1,2}";
    (start, "\\]?[:,; =\"0-9a-f]{0,9}").prop_map(|(start, end)| (start + &end).into_bytes())
}

fn list(hops: &[(IpAddr, (u8, u16, u8))]) -> Vec<(String, u8)> {
    hops.iter().map(|(hop, (way, port, joint))| (spelled(*hop, *way, *port), *joint)).collect()
}

fn elements(hops: &[(IpAddr, (u8, u16, u8))]) -> Vec<(String, u8)> {
    let element = |(hop, (way, port, joint)): &(IpAddr, (u8, u16, u8))| {
        let node = spelled(*hop, *way, *port);
        let element = match port % 4 {
            0 => format!("for=\"{node}\""),
            1 => format!("For=\"{node}\";proto=https"),
            2 => format!("by=_us;FOR=\"{node}\";host=\"a, b;c=\\\"d\\\"\""),
            _ => format!("proto=http; fOr=\"{node}\" ;by=\"[::1]:1\""),
        };
        (element, *joint)
    };
    hops.iter().map(element).collect()
}

fn found(identity: &Identity, headers: &Sent) -> Result<IpAddr, Rejected> {
    ask(identity, PROXY, headers, |caller| {
        assert_eq!(caller.is_forwarded(), caller.address().is_ok_and(|found| found != ip(PROXY)));
        caller.address().map_err(Clone::clone)
    })
}

proptest! {
    /// Goal: the client is the rightmost hop that is not trusted.
    /// Method: hops of any kind, then a stranger, then proxies, each in a random spelling, cut into
    /// random lines; as a list and as `Forwarded`.
    #[test]
    fn the_client_is_the_rightmost_stranger(
        left in vec((prop_oneof![trusted(), stranger()], style()), 0..8),
        client in (stranger(), style()),
        right in vec((trusted(), style()), 0..8),
    ) {
        let hops: Vec<_> = left.into_iter().chain([client]).chain(right).collect();
        let as_list = lines("X-Forwarded-For", &list(&hops));
        prop_assert_eq!(found(&behind(), &as_list), Ok(client.0), "{:?}", as_list);
        let as_elements = lines("Forwarded", &elements(&hops));
        prop_assert_eq!(found(&behind_by("Forwarded"), &as_elements), Ok(client.0), "{:?}", as_elements);
    }

    /// Goal: where every hop is trusted, the client is the one that spoke first.
    /// Method: proxies only, in random spellings and lines.
    #[test]
    fn if_all_are_trusted_the_leftmost_is_the_client(hops in vec((trusted(), style()), 1..16)) {
        let expected = Ok(hops[0].0);
        let headers = lines("X-Forwarded-For", &list(&hops));
        prop_assert_eq!(ask(&behind(), PROXY, &headers, |c| c.address().map_err(Clone::clone)), expected.clone());
        let headers = lines("Forwarded", &elements(&hops));
        let identity = behind_by("Forwarded");
        prop_assert_eq!(ask(&identity, PROXY, &headers, |c| c.address().map_err(Clone::clone)), expected);
    }

    /// Goal: what is no address ends the walk at the last hop that is one.
    /// Method: any text without a comma that is none, with strangers to its left that must not be
    /// found, and proxies to its right.
    #[test]
    fn junk_ends_the_walk_at_the_last_good_hop(
        left in vec((stranger(), style()), 0..4),
        junk in prop_oneof![
            Just(String::new()), Just("unknown".to_owned()), Just("_hidden".to_owned()),
            Just("fe80::1%eth0".to_owned()), Just("1.2.3".to_owned()), Just("01.2.3.4".to_owned()),
            Just("1.2.3.4:".to_owned()), Just("1.2.3.4:65536".to_owned()), Just("[::1".to_owned()),
            Just("[1.2.3.4]".to_owned()), Just("::1]:80".to_owned()), Just("[::1]80".to_owned()),
            Just("1.2.3.4:+80".to_owned()), Just("1.2.3.4 5.6.7.8".to_owned()),
            "[g-z +*/_-]{1,20}",
        ],
        right in vec((trusted(), style()), 0..4),
    ) {
        let last_good = right.first().map_or(ip(PROXY), |(hop, _)| *hop);
        let mut entries = list(&left);
        entries.push((junk.clone(), 1));
        let forwarded: Vec<_> = elements(&left).into_iter()
            .chain([(format!("for=\"{junk}\""), 1)]).chain(elements(&right)).collect();
        entries.extend(list(&right));
        let headers = lines("X-Forwarded-For", &entries);
        let read = |identity: &Identity, headers| ask(identity, PROXY, headers, |c| c.address().map_err(Clone::clone));
        prop_assert_eq!(read(&behind(), &headers), Ok(last_good), "{:?}", headers);
        let headers = lines("Forwarded", &forwarded);
        prop_assert_eq!(read(&behind_by("Forwarded"), &headers), Ok(last_good), "{:?}", headers);
    }

    /// Goal: no header, whatever its bytes, makes an address that nobody sent, or ends the program.
    /// Method: random bytes in each kind of header; the answer is a refusal, the proxy, or an address
    /// that stands in the header.
    #[test]
    fn any_bytes_are_refused_or_name_an_address_that_was_sent(
        values in vec(prop_oneof![vec(any::<u8>(), 0..60), nearly()], 1..4),
    ) {
        for header in ["X-Forwarded-For", "Forwarded", "X-Real-IP"] {
            let headers: Sent = values.iter().map(|value| (header.to_owned(), value.clone())).collect();
            match ask(&behind_by(header), PROXY, &headers, |c| c.address().map_err(Clone::clone)) {
                Err(rejected) => prop_assert_eq!(rejected.status(), 400),
                Ok(address) => prop_assert!(address == ip(PROXY) || is_in(address, &values)),
            }
        }
    }
}

/// Goal: 32 entries are read and 33 refused, at once, on however many lines.
/// Method: both sides of the bound, for lists and `Forwarded`, in one line and in many.
#[test]
fn more_than_32_entries_are_refused() {
    for (header, entry) in [("x-forwarded-for", "192.0.2.7"), ("forwarded", "for=192.0.2.7")] {
        let (identity, name) = (behind_by(header), header);
        for (count, whole) in [(32, true), (33, false)] {
            let joined = vec![entry; count].join(",");
            let apart = vec![(name, entry); count];
            for headers in [vec![(name, &*joined)], apart] {
                match address(&identity, PROXY, &headers) {
                    Ok(found) => assert!(whole && found == ip("192.0.2.7")),
                    refused => {
                        assert!(!whole);
                        assert!(fault(refused).contains("more than 32 entries"));
                    }
                }
            }
        }
    }
}

/// Goal: 4096 bytes are read and 4097 refused, over all lines.
/// Method: spaces before an address fill both sides of the bound, in one line and in two.
#[test]
fn more_than_4096_bytes_are_refused() {
    for (bytes, whole) in [(4096, true), (4097, false)] {
        let entry = format!("{:>bytes$}", "192.0.2.7");
        let first = format!("{:>width$}", "192.0.2.7", width = bytes - 9);
        for headers in [
            vec![("x-forwarded-for", &*entry)],
            vec![("x-forwarded-for", &*first), ("x-forwarded-for", "192.0.2.7")],
        ] {
            match address(&behind(), PROXY, &headers) {
                Ok(found) => assert!(whole && found == ip("192.0.2.7")),
                refused => {
                    assert!(!whole);
                    assert!(fault(refused).contains("more than 4096 bytes"));
                }
            }
        }
    }
}

/// Goal: a trusted proxy that names nobody is itself the client.
/// Method: no header, and headers that are not the one that is read.
#[test]
fn without_the_header_the_proxy_is_the_client() {
    assert_eq!(address(&behind(), PROXY, &[]), Ok(ip(PROXY)));
    assert_eq!(address(&behind(), PROXY, &[("x-real-ip", "192.0.2.1")]), Ok(ip(PROXY)));
    assert_eq!(
        address(&behind_by("x-real-ip"), PROXY, &[("x-forwarded-for", "192.0.2.1")]),
        Ok(ip(PROXY))
    );
}
