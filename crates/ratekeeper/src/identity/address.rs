//! The client's address: the peer's, or the one that trusted proxies vouch for.
//!
//! Each proxy appends the address of whom it speaks to on the right, so the list is walked from
//! there: every hop is believed only because the one that wrote it is trusted. Invariant: the result
//! is an address that a trusted hop has seen, or the peer itself; what stands to the left of the
//! first hop that is not trusted, or not an address, is never looked at.

use super::forwarded::{self, Form};
use super::{IPV6_PREFIX_MAX, Identity};
use crate::request::{Headers, Rejected, Request};
use ipnet::IpNet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Most hops in the header; real chains have a handful.
pub(super) const ENTRIES_MAX: usize = 32;

/// Most bytes of the header, over all of its lines.
pub(super) const BYTES_MAX: usize = 4096;

/// Where a request comes from.
pub(super) struct Found {
    pub(super) address: IpAddr,
    /// Whether the header says so, and not the connection.
    pub(super) forwarded: bool,
}

/// The client's address.
pub(super) fn find(identity: &Identity, request: &Request<'_>) -> Result<Found, Rejected> {
    let Some(peer) = request.peer else { return Err(no_peer()) };
    let peer = peer.to_canonical();
    if !identity.trusted.contains(peer) {
        return Ok(Found { address: peer, forwarded: false });
    }
    let header = &*identity.header;
    let lines = Lines::read(request.headers, header)?;
    match identity.form {
        Form::OneLine if lines.count > 1 => Err(Rejected::malformed(format!(
            "`{header}` is on {} lines; send it once",
            lines.count
        ))),
        Form::OneLine | Form::List => {
            let commas = lines.each().map(|line| line.iter().filter(|byte| **byte == b',').count());
            if lines.count + commas.sum::<usize>() > ENTRIES_MAX {
                return Err(too_many(header));
            }
            let entries = lines.each().rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
            Ok(walk(&identity.trusted, peer, entries.map(forwarded::node)))
        }
        Form::Forwarded => {
            let (mut hops, mut count) = ([None; ENTRIES_MAX], 0);
            for line in lines.each() {
                forwarded::elements(line, &mut |hop| {
                    if let Some(place) = hops.get_mut(count) {
                        *place = hop;
                    }
                    count += 1;
                })
                .map_err(|fault| Rejected::malformed(format!("`{header}` {fault}")))?;
            }
            let hops = hops.get(..count).ok_or_else(|| too_many(header))?;
            Ok(walk(&identity.trusted, peer, hops.iter().rev().copied()))
        }
    }
}

/// From hop to hop, nearest first, to the first that is not trusted; an entry that is no address ends
/// the walk at the hop that wrote it.
fn walk(trusted: &Trusted, peer: IpAddr, hops: impl Iterator<Item = Option<IpAddr>>) -> Found {
    let mut found = Found { address: peer, forwarded: false };
    for hop in hops {
        let Some(address) = hop else { break };
        found = Found { address, forwarded: true };
        if !trusted.contains(address) {
            break;
        }
    }
    found
}

#[cold]
fn no_peer() -> Rejected {
    Rejected::unknown(
        "the door gives no peer address, so that there is nobody to count; with axum, serve by \
         `into_make_service_with_connect_info::<SocketAddr>()`, elsewhere set `Request::peer`",
    )
}

#[cold]
fn too_many(header: &str) -> Rejected {
    Rejected::malformed(format!("`{header}` has more than {ENTRIES_MAX} entries; send fewer"))
}

/// The lines of a header field, in order.
struct Lines<'h> {
    lines: [&'h [u8]; ENTRIES_MAX],
    count: usize,
}

impl<'h> Lines<'h> {
    fn read(headers: &'h dyn Headers, header: &str) -> Result<Lines<'h>, Rejected> {
        let (mut lines, mut count, mut bytes) = ([b"".as_slice(); ENTRIES_MAX], 0, 0_usize);
        headers.each(header, &mut |line| {
            if let Some(place) = lines.get_mut(count) {
                *place = line;
            }
            count += 1;
            bytes = bytes.saturating_add(line.len());
        });
        if bytes > BYTES_MAX {
            return Err(Rejected::malformed(format!(
                "`{header}` has more than {BYTES_MAX} bytes; send fewer"
            )));
        }
        if count > ENTRIES_MAX {
            return Err(too_many(header));
        }
        let lines = Lines { lines, count };
        // Without a way out of the loop, which lets it take many bytes at a time.
        let printable = |good, byte: &u8| good & matches!(byte, b' '..=b'~' | b'\t');
        if !lines.each().all(|line| line.iter().fold(true, printable)) {
            return Err(Rejected::malformed(format!(
                "`{header}` has bytes that are not printable ASCII; leave them out"
            )));
        }
        Ok(lines)
    }

    fn each(&self) -> impl DoubleEndedIterator<Item = &'h [u8]> {
        self.lines.iter().take(self.count).copied()
    }
}

/// The network that an address is counted by: IPv6 without what is behind the prefix.
pub fn network(address: IpAddr, ipv6_prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let rest = u32::from(IPV6_PREFIX_MAX.saturating_sub(ipv6_prefix));
            let mask = u128::MAX.checked_shl(rest).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

/// Networks, as ranges that are sorted and apart, so that a search halves them.
#[derive(Default)]
pub(super) struct Trusted {
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

impl Trusted {
    pub(super) fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }

    /// Whether an address, IPv4 in its own form, is in one of them.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => holds(&self.v4, address.to_bits()),
            IpAddr::V6(address) => holds(&self.v6, address.to_bits()),
        }
    }
}

impl FromIterator<IpNet> for Trusted {
    fn from_iter<T: IntoIterator<Item = IpNet>>(nets: T) -> Trusted {
        let mut trusted = Trusted::default();
        for net in nets {
            match (net.network(), net.broadcast()) {
                (IpAddr::V4(first), IpAddr::V4(last)) => {
                    trusted.v4.push((first.to_bits(), last.to_bits()));
                }
                (IpAddr::V6(first), IpAddr::V6(last)) => {
                    match (first.to_ipv4_mapped(), last.to_ipv4_mapped()) {
                        (Some(first), Some(last)) => {
                            trusted.v4.push((first.to_bits(), last.to_bits()));
                        }
                        _ => trusted.v6.push((first.to_bits(), last.to_bits())),
                    }
                }
                // A network has one family.
                _ => {}
            }
        }
        Trusted { v4: apart(trusted.v4), v6: apart(trusted.v6) }
    }
}

/// The same ranges, sorted, and those that overlap as one.
fn apart<T: Ord + Copy>(mut ranges: Vec<(T, T)>) -> Vec<(T, T)> {
    ranges.sort_unstable();
    let mut apart: Vec<(T, T)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match apart.last_mut() {
            Some(before) if first <= before.1 => before.1 = before.1.max(last),
            _ => apart.push((first, last)),
        }
    }
    apart
}

fn holds<T: Ord + Copy>(ranges: &[(T, T)], wanted: T) -> bool {
    let begun = ranges.partition_point(|(first, _)| *first <= wanted);
    ranges[..begun].last().is_some_and(|(_, last)| wanted <= *last)
}

impl fmt::Debug for Trusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v4 = |bits| IpAddr::V4(Ipv4Addr::from_bits(bits));
        let v6 = |bits| IpAddr::V6(Ipv6Addr::from_bits(bits));
        let v4 = self.v4.iter().map(|(first, last)| v4(*first)..=v4(*last));
        let v6 = self.v6.iter().map(|(first, last)| v6(*first)..=v6(*last));
        f.debug_list().entries(v4.chain(v6)).finish()
    }
}
