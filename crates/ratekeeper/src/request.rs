//! One call, described without any protocol.
//!
//! Every door makes a [`Request`] of what it was sent, and rules, identity and keys read nothing else.
//! Invariant: nothing here is believed; what of it counts is decided by [`identity`](crate::identity).

pub mod path;

use std::fmt;
use std::net::IpAddr;

/// One call: what was asked for, and by whom it says that it is.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The method, as it was sent; empty where the protocol has none.
    pub method: &'a str,
    /// The target as it was sent, in origin form; what follows a `?` is not looked at.
    pub path: &'a str,
    /// The host that was asked for, with or without a port.
    pub host: Option<&'a str>,
    /// The address at the other end of the connection.
    pub peer: Option<IpAddr>,
    /// The header fields.
    pub headers: &'a dyn Headers,
    /// The user, if the application has authenticated it.
    pub user: Option<&'a str>,
    /// The tier, if the application knows it.
    pub tier: Option<&'a str>,
    /// Units that the call takes, if the caller says so and may.
    pub cost: Option<u64>,
    /// The domain that descriptors belong to; only rules of this domain apply.
    pub domain: Option<&'a str>,
    /// Names and values by which a proxy describes the call.
    pub descriptors: &'a [(&'a str, &'a str)],
}

impl<'a> Request<'a> {
    /// A call of a method on a path, and nothing else.
    pub fn new(method: &'a str, path: &'a str) -> Request<'a> {
        Request {
            method,
            path,
            host: None,
            peer: None,
            headers: &NO_HEADERS,
            user: None,
            tier: None,
            cost: None,
            domain: None,
            descriptors: &[],
        }
    }
}

impl fmt::Debug for Request<'_> {
    /// Without header fields, users and descriptors, which are nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Header fields, wherever they come from. They can be read from any thread, so that whoever waits for a
/// decision may be moved to another.
pub trait Headers: Sync {
    /// Hands over the value of each line of this name, in order. Names are given in lower case, and
    /// compared without case.
    fn each<'a>(&'a self, name: &str, found: &mut dyn FnMut(&'a [u8]));

    /// Hands over the name of each line.
    fn names<'a>(&'a self, found: &mut dyn FnMut(&'a str));
}

/// Pairs of names and values.
impl<N: AsRef<str> + Sync, V: AsRef<[u8]> + Sync> Headers for [(N, V)] {
    fn each<'a>(&'a self, name: &str, found: &mut dyn FnMut(&'a [u8])) {
        let own = self.iter().filter(|(own, _)| own.as_ref().eq_ignore_ascii_case(name));
        own.for_each(|(_, value)| found(value.as_ref()));
    }

    fn names<'a>(&'a self, found: &mut dyn FnMut(&'a str)) {
        self.iter().for_each(|(name, _)| found(name.as_ref()));
    }
}

impl<T: Sync, const N: usize> Headers for [T; N]
where
    [T]: Headers,
{
    fn each<'a>(&'a self, name: &str, found: &mut dyn FnMut(&'a [u8])) {
        self.as_slice().each(name, found);
    }

    fn names<'a>(&'a self, found: &mut dyn FnMut(&'a str)) {
        self.as_slice().names(found);
    }
}

impl<T: Sync> Headers for Vec<T>
where
    [T]: Headers,
{
    fn each<'a>(&'a self, name: &str, found: &mut dyn FnMut(&'a [u8])) {
        self.as_slice().each(name, found);
    }

    fn names<'a>(&'a self, found: &mut dyn FnMut(&'a str)) {
        self.as_slice().names(found);
    }
}

static NO_HEADERS: [(&str, &[u8]); 0] = [];

/// The value of a field that may be there once.
pub(crate) enum Single<'a> {
    None,
    One(&'a [u8]),
    /// On more than one line: who reads the first, and who reads the last, would not agree.
    Several,
}

/// The only line of this name.
pub(crate) fn single<'a>(headers: &'a dyn Headers, name: &str) -> Single<'a> {
    let mut seen = Single::None;
    headers.each(name, &mut |value| {
        seen = match seen {
            Single::None => Single::One(value),
            _ => Single::Several,
        };
    });
    seen
}

/// A call that no rule can be asked about, because of what it is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    kind: Rejection,
    detail: String,
}

/// Whose fault a [`Rejected`] call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The caller's: answered with 400.
    Malformed,
    /// The set-up's: the door does not say what a rule counts by. Answered with 500.
    Unknown,
}

impl Rejected {
    pub(crate) fn malformed(detail: impl Into<String>) -> Rejected {
        Rejected { kind: Rejection::Malformed, detail: detail.into() }
    }

    pub(crate) fn unknown(detail: impl Into<String>) -> Rejected {
        Rejected { kind: Rejection::Unknown, detail: detail.into() }
    }

    /// Whose fault it is.
    pub fn kind(&self) -> Rejection {
        self.kind
    }

    /// The status of an answer over HTTP.
    pub fn status(&self) -> u16 {
        match self.kind {
            Rejection::Malformed => 400,
            Rejection::Unknown => 500,
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Rejected {}
