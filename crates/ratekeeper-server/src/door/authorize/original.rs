//! The request that a gateway asks about, as the gateway tells it.
//!
//! Gateways pass on what clients send, so a client can send any of these fields along. Invariant: the
//! method and the target are of one family of fields, each there once, and the other family says
//! nothing of them; so it is what the gateway wrote, as long as it writes both.

use super::AUTHORIZE_ENVOY_PREFIX;
use crate::door::described::{HOST_MAX, METHOD_MAX, is_token_byte};
use crate::problem::Problem;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use ratekeeper::Request;
use ratekeeper::layer::Peer;
use ratekeeper::request::path::PATH_MAX;
use std::net::IpAddr;

/// Fields in which a gateway tells what was asked for.
struct Family {
    method: &'static str,
    target: &'static str,
    host: &'static str,
}

/// What Caddy and Traefik write.
const FORWARDED: Family =
    Family { method: "X-Forwarded-Method", target: "X-Forwarded-Uri", host: "X-Forwarded-Host" };

/// What is usual with nginx and `HAProxy`.
const ORIGINAL: Family =
    Family { method: "X-Original-Method", target: "X-Original-URI", host: "X-Original-Host" };

/// What a client asked its gateway for.
#[derive(Debug)]
pub(super) struct Original {
    method: String,
    target: String,
    host: Option<HeaderValue>,
}

impl Original {
    /// As header fields tell it.
    pub(super) fn forwarded(parts: &Parts) -> Result<Original, Problem> {
        let headers = &parts.headers;
        let family = match (FORWARDED.speaks(headers), ORIGINAL.speaks(headers)) {
            (true, false) => FORWARDED,
            (false, true) => ORIGINAL,
            (true, true) => {
                let fault = format!(
                    "both `{}` and `{}` are there, so that a client may have sent one of them",
                    FORWARDED.named(headers),
                    ORIGINAL.named(headers)
                );
                return Err(bad(format!(
                    "{fault}; have the gateway take out what it does not set"
                )));
            }
            (false, false) => {
                let (one, other) = (FORWARDED.both(), ORIGINAL.both());
                let fault = "the gateway does not say what its client asked for";
                return Err(bad(format!("{fault}; have it send {one}, or {other}")));
            }
        };
        let method = needed(headers, family.method)?;
        if method.is_empty() || method.len() > METHOD_MAX || !method.bytes().all(is_token_byte) {
            return Err(bad(format!("`{}` is not a method; send it as it came", family.method)));
        }
        let target = needed(headers, family.target)?;
        if target.len() > PATH_MAX {
            let fault = format!("`{}` is longer than {PATH_MAX} bytes", family.target);
            return Err(bad(format!("{fault}; send a shorter one")));
        }
        Ok(Original {
            method: method.to_owned(),
            target: target.to_owned(),
            host: host(headers, family.host)?,
        })
    }

    /// As Envoy sends it on: the same method, the target behind a prefix.
    pub(super) fn behind_prefix(parts: &Parts) -> Result<Original, Problem> {
        let whole = parts.uri.path_and_query().map_or("", |target| target.as_str());
        let target = whole.strip_prefix(AUTHORIZE_ENVOY_PREFIX).unwrap_or_default();
        let (method, target) = (parts.method.as_str().to_owned(), target.to_owned());
        Ok(Original { method, target, host: host(&parts.headers, header::HOST.as_str())? })
    }

    /// Makes of the gateway's fields those of its client: `Host` is the gateway's name for this server.
    pub(super) fn restore(&self, headers: &mut HeaderMap) {
        match &self.host {
            Some(host) => drop(headers.insert(header::HOST, host.clone())),
            None => drop(headers.remove(header::HOST)),
        }
    }

    /// The request, with the fields that came along. The gateway is its peer.
    pub(super) fn request<'a>(&'a self, parts: &'a Parts) -> Request<'a> {
        let host = self.host.as_ref().and_then(|host| std::str::from_utf8(host.as_bytes()).ok());
        Request {
            host,
            peer: peer(parts),
            headers: &parts.headers,
            ..Request::new(&self.method, &self.target)
        }
    }
}

/// Who is connected.
pub(super) fn peer(parts: &Parts) -> Option<IpAddr> {
    parts.extensions.get().map(|Peer(address)| *address)
}

impl Family {
    /// Whether it says what was asked for; the host alone is what any proxy writes.
    fn speaks(&self, headers: &HeaderMap) -> bool {
        headers.contains_key(self.method) || headers.contains_key(self.target)
    }

    /// One field of those that are there.
    fn named(&self, headers: &HeaderMap) -> &'static str {
        if headers.contains_key(self.target) { self.target } else { self.method }
    }

    fn both(&self) -> String {
        format!("`{}` and `{}`", self.method, self.target)
    }
}

/// The one line of a field that may be left out.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h HeaderValue>, Problem> {
    let mut lines = headers.get_all(name).iter();
    let first = lines.next();
    match lines.next() {
        None => Ok(first),
        Some(_) => Err(bad(format!("`{name}` is on more than one line; send it once"))),
    }
}

/// The text of a field that has to be there.
fn needed<'h>(headers: &'h HeaderMap, name: &str) -> Result<&'h str, Problem> {
    let Some(value) = only(headers, name)? else {
        return Err(bad(format!("`{name}` is missing; have the gateway send it")));
    };
    let text = std::str::from_utf8(value.as_bytes());
    text.map_err(|_| bad(format!("`{name}` is not UTF-8; percent-encode what is not")))
}

/// The host, if there is one and it is not empty.
fn host(headers: &HeaderMap, name: &str) -> Result<Option<HeaderValue>, Problem> {
    let Some(value) = only(headers, name)?.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    if value.len() > HOST_MAX || std::str::from_utf8(value.as_bytes()).is_err() {
        return Err(bad(format!("`{name}` is not a host; send it as it came")));
    }
    Ok(Some(value.clone()))
}

fn bad(detail: String) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail)
}
