//! What proxies write about whom they speak for: lists of addresses, and RFC 7239's `Forwarded`.
//!
//! Invariant: whatever is read here was parsed to bits; what is no address, such as `unknown`, a name
//! that hides one (`_proxy`) or an address with a zone (`fe80::1%eth0`), is `None` and not a guess.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How the header is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Addresses between commas, on any number of lines.
    List,
    /// RFC 7239.
    Forwarded,
    /// Addresses between commas, on one line.
    OneLine,
}

impl Form {
    /// That of this header, whose name is in lower case.
    pub(super) fn of(header: &str) -> Form {
        match header {
            "x-forwarded-for" => Form::List,
            "forwarded" => Form::Forwarded,
            _ => Form::OneLine,
        }
    }
}

/// Header fields other than `Forwarded` and those that begin with `X-Forwarded-` by which somebody
/// speaks for others.
const SPOKESMEN: [&str; 9] = [
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "client-ip",
    "fastly-client-ip",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "x-real-ip",
];

/// Whether a header field of this name speaks for others, such as `Forwarded` and `X-Real-IP`: what a
/// peer that is not trusted sends under it is not to be passed on. `_` passes for `-`, as it does in
/// servers.
pub fn is_forwarding_name(name: &str) -> bool {
    let dash = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    let is = |wanted: &str, name: &str| {
        name.len() == wanted.len() && name.bytes().map(dash).eq(wanted.bytes())
    };
    let family = "x-forwarded-";
    is("forwarded", name)
        || name.get(..family.len()).is_some_and(|start| is(family, start))
        || SPOKESMEN.iter().any(|other| is(other, name))
}

/// The address of one entry, with or without a port and brackets; IPv4 in its own form.
pub(super) fn node(entry: &[u8]) -> Option<IpAddr> {
    let entry = str::from_utf8(trimmed(entry)).ok()?;
    if let Some(rest) = entry.strip_prefix('[') {
        let (inside, rest) = rest.split_once(']')?;
        let address = inside.parse::<Ipv6Addr>().ok()?;
        let whole = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        return whole.then(|| address.to_canonical());
    }
    if let Ok(address) = entry.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let (address, port) = entry.split_once(':')?;
    let address = address.parse::<Ipv4Addr>().ok()?;
    is_port(port).then_some(IpAddr::V4(address))
}

/// A number, or as RFC 7239 allows, a name that hides one.
fn is_port(port: &str) -> bool {
    if let Some(name) = port.strip_prefix('_') {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        return !name.is_empty() && name.bytes().all(plain);
    }
    port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
}

/// Hands over what each element of a line of `Forwarded` says of `for`: its address, if it is one.
pub(super) fn elements(
    line: &[u8],
    found: &mut impl FnMut(Option<IpAddr>),
) -> Result<(), &'static str> {
    let mut reader = Reader { rest: line };
    loop {
        let (hop, more) = reader.element()?;
        found(hop);
        if !more {
            return Ok(());
        }
    }
}

/// Reads a line of `Forwarded` from left to right; all of it is printable ASCII, spaces and tabs.
struct Reader<'l> {
    rest: &'l [u8],
}

impl<'l> Reader<'l> {
    /// Pairs up to a comma or the end, and whether there was a comma.
    fn element(&mut self) -> Result<(Option<IpAddr>, bool), &'static str> {
        let mut hop = None;
        loop {
            self.skip_space();
            if !matches!(self.rest.first(), None | Some(b',' | b';')) {
                let (name, value) = self.pair()?;
                if name.eq_ignore_ascii_case(b"for") {
                    if hop.is_some() {
                        return Err("says `for` twice of one hop; say it once");
                    }
                    hop = Some(node(&value));
                }
                self.skip_space();
            }
            match self.take() {
                Some(b';') => {}
                Some(b',') => return Ok((hop.flatten(), true)),
                None => return Ok((hop.flatten(), false)),
                Some(_) => return Err("has something after a value; write `,` or `;` between two"),
            }
        }
    }

    fn pair(&mut self) -> Result<(&'l [u8], Cow<'l, [u8]>), &'static str> {
        let name = self.token();
        if name.is_empty() || self.take() != Some(b'=') {
            return Err("has a hop that is no `name=value`; write such as `for=192.0.2.1`");
        }
        if self.rest.first() == Some(&b'"') {
            return Ok((name, self.quoted()?));
        }
        match self.token() {
            [] => Err("has a name without a value; write such as `for=192.0.2.1`"),
            value => Ok((name, Cow::Borrowed(value))),
        }
    }

    fn token(&mut self) -> &'l [u8] {
        let end = self.rest.iter().position(|byte| !is_token_char(*byte));
        let (token, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        token
    }

    /// What is between quotes, without the backslashes that are there to protect a character.
    fn quoted(&mut self) -> Result<Cow<'l, [u8]>, &'static str> {
        self.take();
        let text = self.rest;
        let (mut end, mut escapes) = (0, 0);
        loop {
            match text.get(end) {
                Some(b'"') => break,
                Some(b'\\') => (end, escapes) = (end + 2, escapes + 1),
                Some(_) => end += 1,
                None => return Err("has a quote that is not closed; close it"),
            }
        }
        let (inside, rest) = text.split_at(end);
        self.rest = &rest[1..];
        if escapes == 0 {
            return Ok(Cow::Borrowed(inside));
        }
        let (mut plain, mut bytes) = (Vec::with_capacity(inside.len()), inside.iter());
        while let Some(byte) = bytes.next() {
            plain.push(if *byte == b'\\' { *bytes.next().unwrap_or(byte) } else { *byte });
        }
        Ok(Cow::Owned(plain))
    }

    fn take(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip_space(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }
}

/// A character of a name of a header field, and of a value without quotes.
pub(super) fn is_token_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Without spaces and tabs on both sides.
pub(super) fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}
