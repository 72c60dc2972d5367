//! Callers, as requests show them through every kind of [`Identity`].
//!
//! Invariant: what is expected is written down or follows from how the request was made; no parser
//! of ours is asked what it should have found.

#[cfg(feature = "yaml")]
mod api_keys;
mod bypasses;
mod grammar;
mod laziness;
mod spellings;
#[cfg(feature = "jwt")]
mod tokens;
mod verified;
mod walk;

use super::{Caller, Identity};
use crate::request::{Rejected, Rejection, Request};
use std::collections::HashSet;
use std::net::IpAddr;

/// A proxy that [`behind`] trusts.
const PROXY: &str = "10.0.0.1";

/// A peer that nobody trusts.
const STRANGER: &str = "203.0.113.9";

/// Names and values, as they were sent.
type Sent = Vec<(String, Vec<u8>)>;

/// Trusts one network of each family.
fn behind() -> Identity {
    Identity::default()
        .trusted_proxies(["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()])
}

/// The same, with another header.
fn behind_by(header: &str) -> Identity {
    behind().client_ip_header(header).unwrap()
}

fn sent(headers: &[(&str, &str)]) -> Sent {
    headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Asks something of the caller of one request.
fn ask<T>(
    identity: &Identity,
    peer: &str,
    headers: &Sent,
    question: impl FnOnce(&Caller<'_>) -> Result<T, Rejected>,
) -> Result<T, Rejected> {
    let request = Request { peer: Some(ip(peer)), headers, ..Request::new("GET", "/") };
    question(&Caller::new(identity, &request))
}

/// The address that one request comes from.
fn address(identity: &Identity, peer: &str, headers: &[(&str, &str)]) -> Result<IpAddr, Rejected> {
    ask(identity, peer, &sent(headers), |caller| caller.address().map_err(Clone::clone))
}

/// What one request is counted by.
fn network(identity: &Identity, peer: &str, headers: &[(&str, &str)]) -> Result<IpAddr, Rejected> {
    ask(identity, peer, &sent(headers), |caller| caller.network().map_err(Clone::clone))
}

/// How many callers these requests are.
fn callers(networks: impl IntoIterator<Item = Result<IpAddr, Rejected>>) -> usize {
    networks.into_iter().map(Result::unwrap).collect::<HashSet<_>>().len()
}

/// The text of a refusal that is the caller's fault.
fn fault<T: std::fmt::Debug>(result: Result<T, Rejected>) -> String {
    let rejected = result.unwrap_err();
    assert_eq!((rejected.kind(), rejected.status()), (Rejection::Malformed, 400), "{rejected}");
    rejected.to_string()
}
