//! Who is counted, as bytes: a tag for what each part is, and its value.
//!
//! Invariant: keys that differ in any part, in what a part is, or in where parts are cut, are different
//! bytes. A user who is called `10.0.0.1` is not that address, and a header field is not another.

use super::kind::KeyPart;
use super::method::counted_method;
use super::pattern::{PathPattern, canonical_host};
use super::{KeyKind, KeySpec};
use crate::request::path::CanonicalPath;
use std::net::IpAddr;

/// Bytes of a key that are kept without an allocation.
const SHORT: usize = 48;

/// A key in the making. Short ones are on the stack.
pub(crate) struct KeyBytes {
    short: [u8; SHORT],
    length: usize,
    long: Vec<u8>,
}

impl KeyBytes {
    pub(crate) fn new() -> KeyBytes {
        KeyBytes { short: [0; SHORT], length: 0, long: Vec::new() }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        if self.long.is_empty() { &self.short[..self.length] } else { &self.long }
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        match self.short.get_mut(self.length..end).filter(|_| self.long.is_empty()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.length = end;
            }
            None => {
                if self.long.is_empty() {
                    self.long.extend_from_slice(&self.short[..self.length]);
                }
                self.long.extend_from_slice(bytes);
            }
        }
    }

    /// One part: its tag, the name that goes with it, the value, and how long both are.
    pub(crate) fn part(&mut self, kind: &KeyKind, value: &[u8]) {
        let (tag, name) = tag(kind);
        self.push(&[tag]);
        if !name.is_empty() {
            self.push(&(name.len() as u32).to_le_bytes());
            self.push(name.as_bytes());
        }
        self.push(&(value.len() as u32).to_le_bytes());
        self.push(value);
    }

    /// A part that is an address.
    pub(crate) fn address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.part(&KeyKind::Ip, &address.octets()),
            IpAddr::V6(address) => self.part(&KeyKind::Ip, &address.octets()),
        }
    }
}

fn tag(kind: &KeyKind) -> (u8, &str) {
    match kind {
        KeyKind::Given => (b'=', ""),
        KeyKind::Ip => (b'i', ""),
        KeyKind::User => (b'u', ""),
        KeyKind::ApiKey => (b'k', ""),
        KeyKind::Tier => (b't', ""),
        KeyKind::Route => (b'r', ""),
        KeyKind::Path => (b'p', ""),
        KeyKind::Method => (b'm', ""),
        KeyKind::Host => (b'h', ""),
        KeyKind::Global => (b'g', ""),
        KeyKind::Header(name) => (b'H', name),
        KeyKind::Claim(name) => (b'c', name),
        KeyKind::Descriptor(name) => (b'd', name),
    }
}

/// What is told of the part of a key that all requests have in common.
const EVERYONE: &str = "everyone";

/// The parts of a key as people read them.
pub(crate) fn parts_of(mut rest: &[u8]) -> Vec<KeyPart> {
    let mut parts = Vec::new();
    while let Some((tag, tail)) = rest.split_first() {
        rest = tail;
        let named = matches!(tag, b'H' | b'c' | b'd');
        let name = String::from_utf8_lossy(if named { take(&mut rest) } else { &[] });
        let kind = match tag {
            b'=' => KeyKind::Given,
            b'i' => KeyKind::Ip,
            b'u' => KeyKind::User,
            b'k' => KeyKind::ApiKey,
            b't' => KeyKind::Tier,
            b'r' => KeyKind::Route,
            b'p' => KeyKind::Path,
            b'm' => KeyKind::Method,
            b'h' => KeyKind::Host,
            b'g' => KeyKind::Global,
            b'H' => KeyKind::Header(name.into()),
            b'c' => KeyKind::Claim(name.into()),
            _ => KeyKind::Descriptor(name.into()),
        };
        let bytes = take(&mut rest);
        let text = std::str::from_utf8(bytes);
        let (value, is_exact) =
            match (&kind, <[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
                (KeyKind::Ip, Ok(octets), _) => (IpAddr::from(octets).to_string(), true),
                (KeyKind::Ip, _, Ok(octets)) => (IpAddr::from(octets).to_string(), true),
                (KeyKind::Global, ..) => (EVERYONE.to_owned(), true),
                _ => match text {
                    Ok(text) => (text.to_owned(), true),
                    Err(_) => (String::from_utf8_lossy(bytes).into_owned(), false),
                },
            };
        parts.push(KeyPart { kind, value, is_exact });
    }
    parts
}

/// What follows its length.
fn take<'b>(rest: &mut &'b [u8]) -> &'b [u8] {
    let Some((length, tail)) = rest.split_first_chunk() else { return &[] };
    let (own, tail) =
        tail.split_at_checked(u32::from_le_bytes(*length) as usize).unwrap_or((tail, &[]));
    *rest = tail;
    own
}

impl KeySpec {
    /// A key of one part that is always the same thing.
    pub fn of(kind: KeyKind) -> KeySpec {
        KeySpec { parts: vec![vec![kind]] }
    }

    /// Whether the key is whatever the caller gives.
    pub(crate) fn is_given(&self) -> bool {
        matches!(&self.parts[..], [part] if part[..] == [KeyKind::Given])
    }

    /// The key of values that somebody wrote, one for each part; and `None` if there are more, or fewer.
    /// `network` is what an address is counted by.
    /// A value may say which alternative it is. If it does not, it is an address where it reads as one
    /// and that is an alternative, else the first alternative that is not.
    pub(crate) fn written<'v>(
        &self,
        values: impl ExactSizeIterator<Item = (Option<&'v KeyKind>, &'v str)>,
        network: impl Fn(IpAddr) -> IpAddr,
    ) -> Option<KeyBytes> {
        if values.len() != self.parts.len() {
            return None;
        }
        let mut key = KeyBytes::new();
        for (part, (said, value)) in self.parts.iter().zip(values) {
            let address = value.parse::<IpAddr>().ok();
            let unsaid = || match address.is_some() && part.contains(&KeyKind::Ip) {
                true => Some(&KeyKind::Ip),
                false => part.iter().find(|kind| **kind != KeyKind::Ip).or(part.first()),
            };
            match said.or_else(unsaid).unwrap_or(&KeyKind::Given) {
                KeyKind::Ip if address.is_some() => {
                    address.into_iter().for_each(|address| key.address(network(address)));
                }
                KeyKind::Method => key.part(&KeyKind::Method, counted_method(value).as_bytes()),
                KeyKind::Host => key.part(&KeyKind::Host, canonical_host(value).as_bytes()),
                KeyKind::Path => match CanonicalPath::new(value) {
                    Ok(path) => key.part(&KeyKind::Path, PathPattern::folded(&path).as_bytes()),
                    Err(_) => key.part(&KeyKind::Path, value.as_bytes()),
                },
                // All are counted together, whatever they are called.
                KeyKind::Global => key.part(&KeyKind::Global, b""),
                // What is no address is nobody's; its bytes could be those of one.
                KeyKind::Ip => key.part(&KeyKind::Given, value.as_bytes()),
                kind => key.part(kind, value.as_bytes()),
            }
        }
        Some(key)
    }
}

impl Default for KeySpec {
    fn default() -> KeySpec {
        KeySpec::of(KeyKind::Given)
    }
}
