//! One request, seen through an [`Identity`].
//!
//! Invariant: each thing is worked out when it is first asked for, and once; a rule that counts by
//! address costs no signature.

use super::address::{self, Found};
#[cfg(feature = "yaml")]
use super::api_keys::ApiKey;
#[cfg(feature = "jwt")]
use super::token::{AUTHORIZATION, Verified};
use super::{Identity, is_forwarding_name};
use crate::request::{Rejected, Request};
#[cfg(any(feature = "yaml", feature = "jwt"))]
use crate::request::{Single, single};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::net::IpAddr;

/// Who sent a request.
pub(crate) struct Caller<'a> {
    identity: &'a Identity,
    request: &'a Request<'a>,
    found: OnceCell<Result<Found, Rejected>>,
    #[cfg(feature = "yaml")]
    key: OnceCell<Result<Option<&'a ApiKey>, Rejected>>,
    #[cfg(feature = "jwt")]
    token: OnceCell<Result<Option<Verified>, Rejected>>,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(identity: &'a Identity, request: &'a Request<'a>) -> Caller<'a> {
        Caller {
            identity,
            request,
            found: OnceCell::new(),
            #[cfg(feature = "yaml")]
            key: OnceCell::new(),
            #[cfg(feature = "jwt")]
            token: OnceCell::new(),
        }
    }

    /// The client's whole address.
    pub(crate) fn address(&self) -> Result<IpAddr, &Rejected> {
        self.found().map(|found| found.address)
    }

    /// What the client is counted by: its address, IPv6 without what one subscriber can choose.
    pub(crate) fn network(&self) -> Result<IpAddr, &Rejected> {
        self.address().map(|address| address::network(address, self.identity.ipv6_prefix))
    }

    /// Whether the address is what a trusted proxy wrote, and not the peer's.
    pub(crate) fn is_forwarded(&self) -> bool {
        self.found().is_ok_and(|found| found.forwarded)
    }

    /// Whether somebody who is not trusted speaks for others: either a caller who tries, or a proxy
    /// that `trusted_proxies` should name.
    pub(crate) fn distrusted(&self) -> bool {
        if self.request.peer.is_none_or(|peer| self.identity.trusts(peer)) {
            return false;
        }
        let mut speaks = false;
        self.request.headers.names(&mut |name| {
            speaks |= is_forwarding_name(name) || name.eq_ignore_ascii_case(&self.identity.header);
        });
        speaks
    }

    /// The user: whom the application says, then whom a token names, then whose API key it is.
    pub(crate) fn user(&self) -> Result<Option<&str>, &Rejected> {
        if let Some(user) = said(self.request.user) {
            return Ok(Some(user));
        }
        #[cfg(feature = "jwt")]
        if let Some(token) = self.token()? {
            return Ok(Some(&token.user));
        }
        #[cfg(feature = "yaml")]
        if let Some(key) = self.key()? {
            return Ok(Some(&key.owner));
        }
        Ok(None)
    }

    /// The tier, from whoever says who the user is: a key's tier is not for whom a token names.
    pub(crate) fn tier(&self) -> Result<Option<&str>, &Rejected> {
        let tier = said(self.request.tier);
        if tier.is_some() || said(self.request.user).is_some() {
            return Ok(tier);
        }
        #[cfg(feature = "jwt")]
        if let Some(token) = self.token()? {
            return Ok(token.tier.as_deref());
        }
        #[cfg(feature = "yaml")]
        if let Some(tier) = self.key()?.and_then(|key| key.tier.as_deref()) {
            return Ok(Some(tier));
        }
        Ok(None)
    }

    /// The id of the API key.
    #[cfg(feature = "yaml")]
    pub(crate) fn api_key(&self) -> Result<Option<&'a str>, &Rejected> {
        self.key().map(|key| key.map(|key| &*key.id))
    }

    /// The id of the API key: none, since keys are read with rule files.
    #[cfg(not(feature = "yaml"))]
    pub(crate) fn api_key(&self) -> Result<Option<&'a str>, &Rejected> {
        Ok(None)
    }

    /// A claim of the token: text that is not empty, an integer or a boolean.
    #[cfg(feature = "jwt")]
    pub(crate) fn claim(&self, name: &str) -> Result<Option<Cow<'_, str>>, &Rejected> {
        let claims = self.claims()?;
        Ok(claims.and_then(|claims| claims.get(name)).and_then(super::token::text))
    }

    /// A claim of the token: none without the feature `jwt`.
    #[cfg(not(feature = "jwt"))]
    pub(crate) fn claim(&self, _name: &str) -> Result<Option<Cow<'_, str>>, &Rejected> {
        Ok(None)
    }

    /// All claims of the token.
    #[cfg(feature = "jwt")]
    pub(crate) fn claims(
        &self,
    ) -> Result<Option<&serde_json::Map<String, serde_json::Value>>, &Rejected> {
        self.token().map(|token| token.map(|token| &token.claims))
    }

    fn found(&self) -> Result<&Found, &Rejected> {
        self.found.get_or_init(|| address::find(self.identity, self.request)).as_ref()
    }

    #[cfg(feature = "yaml")]
    fn key(&self) -> Result<Option<&'a ApiKey>, &Rejected> {
        let look = || {
            let Some(keys) = self.identity.api_keys.as_deref() else { return Ok(None) };
            let value = self.only(&keys.header)?;
            Ok(value.and_then(|value| keys.verified(value)))
        };
        self.key.get_or_init(look).as_ref().map(|key| *key)
    }

    #[cfg(feature = "jwt")]
    fn token(&self) -> Result<Option<&Verified>, &Rejected> {
        let look = || {
            let Some(tokens) = self.identity.tokens.as_deref() else { return Ok(None) };
            let value = self.only(AUTHORIZATION)?;
            Ok(value.and_then(|value| tokens.verified(value)))
        };
        self.token.get_or_init(look).as_ref().map(Option::as_ref)
    }

    /// The value of a header field that has to be on one line.
    #[cfg(any(feature = "yaml", feature = "jwt"))]
    fn only(&self, header: &str) -> Result<Option<&'a [u8]>, Rejected> {
        match single(self.request.headers, header) {
            Single::None => Ok(None),
            Single::One(value) => Ok(Some(value)),
            Single::Several => Err(Rejected::malformed(format!(
                "`{header}` is on more than one line; send it once"
            ))),
        }
    }
}

/// What the application says, if it says something.
fn said(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}
