//! Hosts: the one form of a name, and patterns of names.
//!
//! Invariant: the canonical form of a host is its own canonical form.

use super::PatternError;
use std::borrow::Cow;
use std::fmt;
use std::net::Ipv6Addr;

/// Longest name that the domain name system has.
const NAME_MAX: usize = 253;

/// Longest part between two dots.
const LABEL_MAX: usize = 63;

/// A host in lower case, without port and dot at the end. Addresses of IPv6 are in brackets and in
/// their shortest spelling. What is no host at all comes out in lower case, and matches no pattern.
pub fn canonical_host(host: &str) -> Cow<'_, str> {
    // Most are in this form already.
    let is_plain = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
    };
    if host.bytes().all(is_plain) && !host.ends_with('.') {
        return Cow::Borrowed(host);
    }
    let host = host.trim_end_matches('.');
    let bare = without_port(host).trim_end_matches('.');
    let inner = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(bare);
    if inner.contains(':')
        && let Ok(address) = inner.parse::<Ipv6Addr>()
    {
        let shortest = format!("[{address}]");
        return if shortest == bare { Cow::Borrowed(bare) } else { Cow::Owned(shortest) };
    }
    match bare.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(bare.to_ascii_lowercase()),
        false => Cow::Borrowed(bare),
    }
}

/// A port is digits, or none, after the only colon or after a bracket.
fn without_port(host: &str) -> &str {
    let Some((before, port)) = host.rsplit_once(':') else { return host };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let bracketed = before.starts_with('[') && before.trim_end_matches('.').ends_with(']');
    match is_port && (bracketed || !before.contains(':')) {
        true => before,
        false => host,
    }
}

/// A pattern of hosts: a name, or `*.` and a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPattern {
    name: Box<str>,
    /// Whether it is for the names below this one instead.
    below: bool,
}

impl HostPattern {
    /// Reads a pattern such as `api.example.com`, `*.example.com` or `[::1]`.
    pub fn parse(text: &str) -> Result<HostPattern, PatternError> {
        read(text).map_err(|fault| PatternError::new("host pattern", text, fault))
    }

    /// Whether a [canonical](canonical_host) host is one of these.
    pub fn matches(&self, canonical: &str) -> bool {
        if !self.below {
            return *canonical == *self.name;
        }
        let front = canonical.strip_suffix(&*self.name).and_then(|rest| rest.strip_suffix('.'));
        front.is_some_and(|front| !front.is_empty())
    }

    /// The name without `*.`, in canonical form.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is for the names below its own, and not for that.
    pub(crate) fn is_below(&self) -> bool {
        self.below
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.below { "*." } else { "" }, self.name)
    }
}

fn read(text: &str) -> Result<HostPattern, &'static str> {
    if text.len() > NAME_MAX + 2 {
        return Err("is longer than any name; write one such as `example.com`");
    }
    if text == "*" {
        return Err("is any host; leave `host` out");
    }
    let (below, name) = text.strip_prefix("*.").map_or((false, text), |name| (true, name));
    if name.contains('*') {
        return Err("has a `*` elsewhere than in front; write `*.example.com`");
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let bracketed = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = bracketed.filter(|_| !below) {
        return match address.parse::<Ipv6Addr>() {
            Ok(address) => Ok(HostPattern { name: format!("[{address}]").into(), below }),
            Err(_) => Err("has no address in its brackets; write one such as `[::1]`"),
        };
    }
    if !name.is_ascii() {
        return Err("has letters beyond ASCII; write the name as `xn--…`");
    }
    if name.contains(':') {
        return Err("has a `:`; leave the port out, and write addresses of IPv6 as `[::1]`");
    }
    let is_label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.len() <= LABEL_MAX && label.bytes().all(plain)
    };
    match name.len() <= NAME_MAX && name.split('.').all(is_label) {
        true => Ok(HostPattern { name: name.to_ascii_lowercase().into(), below }),
        false => Err("is not a name; write one such as `example.com` or `*.example.com`"),
    }
}
