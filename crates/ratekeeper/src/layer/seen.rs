//! A request of `http` as the layer and its hooks see it.
//!
//! Invariant: nothing is copied; header fields are read where they are.

use super::Setup;
use crate::decision::Decisions;
use crate::limiter::{Begun, Way};
use crate::request::{Headers, Rejected, Request};
use crate::rule::pattern::canonical_host;
use http::{Extensions, HeaderMap, Method, Uri, header};
use std::net::{IpAddr, SocketAddr};

/// The address at the other end of the connection, as an extension of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// What hooks of the layer see of a request: all but its body.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    method: &'a Method,
    uri: &'a Uri,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

impl<'a> Seen<'a> {
    pub(super) fn new<B>(request: &'a http::Request<B>) -> Seen<'a> {
        Seen {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }

    /// The method.
    pub fn method(&self) -> &'a Method {
        self.method
    }

    /// The target.
    pub fn uri(&self) -> &'a Uri {
        self.uri
    }

    /// The header fields.
    pub fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// What others have left with the request.
    pub fn extensions(&self) -> &'a Extensions {
        self.extensions
    }

    /// The address that the server left with the request.
    fn peer(&self) -> Option<IpAddr> {
        if let Some(Peer(address)) = self.extensions.get() {
            return Some(*address);
        }
        #[cfg(feature = "axum")]
        if let Some(axum::extract::ConnectInfo(address)) = self.extensions.get() {
            let address: &SocketAddr = address;
            return Some(address.ip());
        }
        self.extensions.get::<SocketAddr>().map(SocketAddr::ip)
    }

    /// The host that was asked for, without a user before it. Where the target and the field name
    /// different ones, or there are two fields, the service may read another than the rules do.
    fn host(&self) -> Result<Option<&'a str>, Rejected> {
        let target = self.uri.host();
        let mut lines = self.headers.get_all(header::HOST).iter();
        let field = lines.next().and_then(|line| line.to_str().ok());
        if lines.next().is_some() {
            return Err(Rejected::malformed("`host` is on more than one line; send it once"));
        }
        match (target, field) {
            (Some(one), Some(other)) if canonical_host(one) != canonical_host(other) => {
                let repair = "name the same in both";
                Err(Rejected::malformed(format!(
                    "the target is on another host than `host`; {repair}"
                )))
            }
            (target, field) => Ok(target.or(field)),
        }
    }
}

impl Headers for HeaderMap {
    fn each<'a>(&'a self, name: &str, found: &mut dyn FnMut(&'a [u8])) {
        self.get_all(name).iter().for_each(|value| found(value.as_bytes()));
    }

    fn names<'a>(&'a self, found: &mut dyn FnMut(&'a str)) {
        self.keys().for_each(|name| found(name.as_str()));
    }
}

/// What hooks have said of a request.
pub(super) struct Said {
    user: Option<String>,
    tier: Option<String>,
    peer: Option<IpAddr>,
}

impl Said {
    /// The request as rules see it.
    pub(super) fn request<'a>(&'a self, seen: &Seen<'a>) -> Result<Request<'a>, Rejected> {
        Ok(Request {
            method: seen.method.as_str(),
            path: seen.uri.path(),
            host: seen.host()?,
            peer: self.peer.or_else(|| seen.peer()),
            headers: seen.headers,
            user: self.user.as_deref().filter(|user| !user.is_empty()),
            tier: self.tier.as_deref(),
            ..Request::new("", "")
        })
    }
}

impl Setup {
    /// Asks the hooks.
    pub(super) fn said(&self, seen: &Seen<'_>) -> Said {
        Said {
            user: self.user.as_ref().and_then(|user| user(seen)),
            tier: self.tier.as_ref().and_then(|tier| tier(seen)),
            peer: self.peer.as_ref().and_then(|peer| peer(seen)),
        }
    }

    /// Asks the rules.
    pub(super) fn begin(&self, request: &Request<'_>) -> Result<Begun, Rejected> {
        self.watch.look(self, request);
        self.limiter.begin(request, self.given, Way::Here)
    }

    /// Tells what was decided, if anybody wants to know; the name of the decision.
    pub(super) fn tell(
        &self,
        seen: &Seen<'_>,
        request: &Request<'_>,
        decisions: &Decisions,
    ) -> Option<String> {
        self.decided.as_ref().and_then(|decided| decided(seen, request, decisions))
    }
}
