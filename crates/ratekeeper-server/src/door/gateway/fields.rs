//! Header fields of requests and answers that pass the gateway.
//!
//! Invariants: what concerns one connection alone stays on it, and `Connection` names nothing else away; what
//! the upstream reads about who calls is written here, or by a proxy that is trusted; what a caller writes in
//! its place, in whatever spelling, does not pass.

use super::Routed;
use crate::serve::Arrival;
use axum::http::header::{
    CONNECTION, COOKIE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE, UPGRADE, VIA,
};
use axum::http::{Request, Version};
use hyper::body::{Body, Bytes, Frame};
use ratekeeper::Limiter;
use ratekeeper::identity::{Verified, is_forwarding_name};
use std::fmt::Write;
use std::net::IpAddr;

const FORWARDED: HeaderName = HeaderName::from_static("forwarded");
const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const USER: HeaderName = HeaderName::from_static("x-ratekeeper-user");
const TIER: HeaderName = HeaderName::from_static("x-ratekeeper-tier");

/// What fields of our own begin with.
const OWN: &str = "x-ratekeeper-";

/// Whom upstreams and other gateways see on the way.
const NAME: &str = "ratekeeper";
const BY_US: HeaderValue = HeaderValue::from_static("1.1 ratekeeper");

/// Gateways like this one that a request may pass, before it is taken to go in circles.
const HOPS_MAX: usize = 8;

/// What is between two neighbours and nobody else.
fn is_of_the_connection(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "keep-alive"
            | "proxy-connection"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "te"
            | "transfer-encoding"
            | "upgrade"
            | "http2-settings"
    )
}

/// What would make a server take another method or path than the rules saw.
fn is_override(name: &str) -> bool {
    matches!(
        name,
        "x-http-method-override"
            | "x-http-method"
            | "x-method-override"
            | "x-original-url"
            | "x-original-uri"
            | "x-original-method"
            | "x-original-host"
            | "x-rewrite-url"
    )
}

/// Whether a field of a request stays here. Names with `_` do, whatever they are: many servers cannot tell
/// them from those with `-`, which are looked at.
fn stays_here(name: &str) -> bool {
    is_of_the_connection(name)
        || name.contains('_')
        || is_override(name)
        || name.starts_with(OWN)
        || name == EXPECT.as_str()
}

/// Takes away of trailers what would not pass among the fields either, or says who calls; servers may read both
/// as one.
pub(super) fn trailing(headers: &mut HeaderMap) {
    let is_said_before = |name: &str| {
        matches!(name, "host" | "content-length" | "authorization" | "cookie" | "x-api-key")
    };
    remove(headers, |name| stays_here(name) || is_forwarding_name(name) || is_said_before(name));
}

/// A piece of a body, whose fields `clean` takes away what may not pass of, if it has some.
pub(super) fn cleaned(frame: Frame<Bytes>, clean: fn(&mut HeaderMap)) -> Frame<Bytes> {
    match frame.into_trailers() {
        Ok(mut trailers) => {
            clean(&mut trailers);
            Frame::trailers(trailers)
        }
        Err(frame) => frame,
    }
}

/// The protocol that a caller wants to go on with on this connection.
pub(super) fn upgrade<B>(request: &Request<B>) -> Option<HeaderValue> {
    let is_there = request.headers().contains_key(UPGRADE) && request.version() == Version::HTTP_11;
    if !is_there || !has_word(request.headers(), &CONNECTION, "upgrade") {
        return None;
    }
    let mut wanted = request.headers().get_all(UPGRADE).iter();
    let (only, more) = (wanted.next()?, wanted.next());
    // Where HTTP goes on in another form, requests would come that no rule sees.
    let is_http = |protocol: &str| {
        let name = protocol.split('/').next().unwrap_or_default().trim();
        ["h2c", "h2", "http", "tls"].iter().any(|own| own.eq_ignore_ascii_case(name))
    };
    let is_plain = only.to_str().is_ok_and(|text| !text.split(',').any(is_http));
    (more.is_none() && is_plain).then(|| only.clone())
}

/// Whether a list has a word.
fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let lists = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|own| own.trim().eq_ignore_ascii_case(word))
}

/// Whether a request has passed gateways like this one too often.
pub(super) fn goes_in_circles(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
    let by_us = |hop: &&str| hop.split_ascii_whitespace().nth(1) == Some(NAME);
    lists.flat_map(|list| list.split(',')).filter(by_us).count() >= HOPS_MAX
}

/// Makes of a caller's fields those that its upstream gets. One that has a body to send cannot upgrade: the
/// upstream could agree before it has read it.
pub(super) fn outgoing<B: Body>(request: &mut Request<B>, routed: &Routed, limiter: &Limiter) {
    let peer = routed.arrival.peer;
    let trusted = limiter.trusts(peer);
    let header = trusted.then(|| limiter.client_ip_header());
    let client = trusted.then(|| client(request.headers(), peer, limiter)).flatten();
    let upgrade = upgrade(request).filter(|_| request.body().is_end_stream());
    let headers = request.headers_mut();
    let takes_trailers = headers.contains_key(TE) && has_word(headers, &TE, "trailers");
    let passes = |name: &str| {
        let kept = header.as_deref().is_some_and(|header| {
            name == header || name.starts_with("x-forwarded-") && name != FOR.as_str()
        });
        kept || !is_forwarding_name(name)
    };
    remove(headers, |name| stays_here(name) || !passes(name));
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Some(protocol) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
    }
    forwarded(headers, &routed.arrival, header.as_deref(), client);
    crumbs(headers);
    headers.append(VIA, BY_US);
    if let Some(verified) = &routed.verified {
        identified(headers, verified);
    }
}

/// The client's address, as rules see it.
pub(super) fn client(headers: &HeaderMap, peer: IpAddr, limiter: &Limiter) -> Option<IpAddr> {
    let request =
        ratekeeper::Request { peer: Some(peer), headers, ..ratekeeper::Request::new("", "/") };
    limiter.client(&request)
}

/// Says for whom we speak. `header` is where the peer says it, if it is trusted.
fn forwarded(
    headers: &mut HeaderMap,
    arrival: &Arrival,
    header: Option<&str>,
    client: Option<IpAddr>,
) {
    let peer = arrival.peer;
    let proto = if arrival.is_secure { "https" } else { "http" };
    let before = match (header, client) {
        (Some(header), _) if header == FOR.as_str() => joined(headers, &FOR),
        (_, Some(client)) if client != peer => Some(client.to_string()),
        _ => None,
    };
    let all = before.and_then(|before| HeaderValue::try_from(format!("{before}, {peer}")).ok());
    headers.insert(FOR, all.unwrap_or_else(|| arrival.peer_text.clone()));
    if header == Some(FORWARDED.as_str()) {
        let node = match peer {
            IpAddr::V4(peer) => peer.to_string(),
            IpAddr::V6(peer) => format!("\"[{peer}]\""),
        };
        let all = joined(headers, &FORWARDED).map_or(String::new(), |before| before + ", ");
        if let Ok(all) = HeaderValue::try_from(format!("{all}for={node};proto={proto}")) {
            headers.insert(FORWARDED, all);
        }
    }
    if header.is_none() || !headers.contains_key(PROTO) {
        headers.insert(PROTO, HeaderValue::from_static(proto));
    }
    if (header.is_none() || !headers.contains_key(FORWARDED_HOST))
        && let Some(host) = headers.get(HOST).cloned()
    {
        headers.insert(FORWARDED_HOST, host);
    }
}

/// Makes one line of cookies, which callers may send in pieces over HTTP/2 and not over HTTP/1.1.
fn crumbs(headers: &mut HeaderMap) {
    let mut lines = headers.get_all(COOKIE).iter();
    if lines.next().is_none() || lines.next().is_none() {
        return;
    }
    let lines: Vec<&[u8]> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(all) = HeaderValue::from_bytes(&lines.join(&b"; "[..])) {
        headers.insert(COOKIE, all);
    }
}

/// All lines of a list as one.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    let lines: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// Says who the caller has proved to be.
fn identified(headers: &mut HeaderMap, verified: &Verified) {
    let said = [(USER, Some(&verified.user)), (TIER, verified.tier.as_ref())];
    for (name, text) in said {
        if let Some(value) = text.and_then(|text| HeaderValue::try_from(escaped(text)).ok()) {
            headers.insert(name, value);
        }
    }
}

/// A text as a field can hold it: what is not visible ASCII is percent-encoded, and so is `%`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte.is_ascii_graphic() && byte != b'%' {
            true => out.push(char::from(byte)),
            false => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// Makes of an upstream's fields those that the caller gets.
pub(super) fn incoming(headers: &mut HeaderMap) {
    remove(headers, |name| is_of_the_connection(name) || name.starts_with(OWN));
}

/// The same of an answer after which another protocol is spoken.
pub(super) fn switching(headers: &mut HeaderMap) {
    let protocol = headers.get(UPGRADE).cloned();
    incoming(headers);
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    if let Some(protocol) = protocol {
        headers.insert(UPGRADE, protocol);
    }
}

/// Takes fields away by name.
fn remove(headers: &mut HeaderMap, is_gone: impl Fn(&str) -> bool) {
    let gone: Vec<HeaderName> =
        headers.keys().filter(|name| is_gone(name.as_str())).cloned().collect();
    for name in gone {
        headers.remove(name);
    }
}
