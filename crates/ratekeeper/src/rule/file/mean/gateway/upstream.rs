//! The URL of an upstream.
//!
//! Invariant: what is returned has one spelling, so that one server is one upstream. No fault quotes
//! a URL, since somebody may have written a password into it.

use super::super::super::settings::{Scheme, Upstream};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Longest name of a host, and longest part of it between dots.
const HOST_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// What is wrong, and what to write.
type Fault = (&'static str, &'static str);

const LIKE: &str = "write one such as `http://127.0.0.1:9000`";

/// Reads `http://host:port`; the port may be left out.
pub(super) fn read(text: &str) -> Result<Upstream, Fault> {
    const SCHEME: Fault = (
        "an upstream is not a URL with a scheme that is known",
        "write `http://…`, `https://…`, or `h2c://…` for HTTP/2 in plain text",
    );
    let (scheme, rest) = text.split_once("://").ok_or(SCHEME)?;
    let scheme = Scheme::ALL.into_iter().find(|known| known.as_str() == scheme).ok_or(SCHEME)?;
    if rest.contains('@') {
        return Err(("the URL of an upstream has a user", "take out the user and the `@`"));
    }
    if rest.contains(['?', '#']) {
        let fault = "the URL of an upstream has a query";
        return Err((fault, "take out the `?` or `#` and what follows"));
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !path.is_empty() {
        let fault = "the URL of an upstream has a path, but paths are passed on as they are";
        return Err((fault, "end it after the port"));
    }
    let (host, port) = split(authority)?;
    let port = match port {
        None => scheme.default_port(),
        Some(digits) => port_of(digits)
            .ok_or(("the port of an upstream is not a number from 1 to 65535", LIKE))?,
    };
    Ok(Upstream { scheme, host, port })
}

/// The host in its one spelling, and the port if there is one.
fn split(authority: &str) -> Result<(String, Option<&str>), Fault> {
    const ADDRESS: Fault = (
        "the host of an upstream is not an address of IPv6",
        "write one such as `http://[::1]:9000`",
    );
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, rest) = rest.split_once(']').ok_or(ADDRESS)?;
        let address: Ipv6Addr = address.parse().map_err(|_| ADDRESS)?;
        let port = match rest {
            "" => None,
            rest => Some(rest.strip_prefix(':').ok_or(ADDRESS)?),
        };
        return Ok((address.to_string(), port));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    if port.is_some_and(|port| port.contains(':')) {
        return Err(ADDRESS);
    }
    if !is_host(host) {
        return Err(("the host of an upstream is neither a name nor an address", LIKE));
    }
    Ok((host.to_ascii_lowercase(), port))
}

/// A name, or an address of IPv4 in its usual form: what ends in a number is no name.
fn is_host(host: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let label = |label: &str| (1..=LABEL_MAX).contains(&label.len()) && label.bytes().all(letter);
    let last = host.rsplit('.').next().unwrap_or_default();
    // `0x7f` is a number to some resolvers, too.
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hex = last.strip_prefix("0x").or(last.strip_prefix("0X"));
    let number = last.bytes().all(|byte| byte.is_ascii_digit()) || hex.is_some_and(digits);
    match number {
        true => host.parse::<Ipv4Addr>().is_ok(),
        false => host.len() <= HOST_MAX && host.split('.').all(label),
    }
}

fn port_of(digits: &str) -> Option<u16> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|port| plain && *port > 0)
}
