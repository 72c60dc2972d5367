//! The head of a request: what is read in more than one way somewhere goes no further.
//!
//! Invariant: who is asked for, and where the body ends, are the same for us and for whatever server is behind.

use crate::problem::Problem;
use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use std::net::Ipv6Addr;

/// Whether a request is in a form that we and the upstream read alike.
pub(super) fn form<B>(request: &Request<B>) -> Result<(), &'static str> {
    if request.uri().path() == "*" && request.method() != Method::OPTIONS {
        return Err("the target `*` is for `OPTIONS` alone; send a path");
    }
    if request.uri().scheme_str().is_some_and(|scheme| !matches!(scheme, "http" | "https")) {
        return Err("the target is not of HTTP; send a path");
    }
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let plain = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    if codings.next().is_some_and(|coding| !plain(coding)) || codings.next().is_some() {
        return Err("`Transfer-Encoding` is not `chunked` alone; send the body in no other coding");
    }
    Ok(())
}

/// Whether the host is one: a name or an address, and perhaps a port.
pub(super) fn host<B>(request: &Request<B>) -> Result<(), Problem> {
    let Some(host) = request.headers().get(header::HOST).map(HeaderValue::as_bytes) else {
        return Ok(());
    };
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let (name, port) = match host.strip_prefix(b"[") {
        Some(rest) => {
            let end = rest.iter().position(|byte| *byte == b']');
            let is_address = |text: &[u8]| {
                std::str::from_utf8(text).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
            };
            match end.filter(|end| is_address(&rest[..*end])) {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                None => (&b""[..], &b""[..]),
            }
        }
        None => {
            let end = host.iter().position(|byte| *byte == b':').unwrap_or(host.len());
            let (name, port) = host.split_at(end);
            (if name.iter().all(plain) { name } else { &b""[..] }, port)
        }
    };
    let fits = match port.strip_prefix(b":") {
        Some(digits) => {
            let number = || std::str::from_utf8(digits).ok()?.parse::<u16>().ok();
            digits.is_empty() || digits[0].is_ascii_digit() && number().is_some()
        }
        None => port.is_empty(),
    };
    if name.is_empty() || !fits {
        let detail = "`Host` is not a name or an address, with or without a port; send one";
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    Ok(())
}
