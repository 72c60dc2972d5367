//! Who calls, for doors that pass a request on.
//!
//! Invariant: the answer is what rules of the same release go by, and asking charges nobody.

use super::Limiter;
use crate::identity::{Caller, Verified};
use crate::request::{Rejected, Request};
use std::net::IpAddr;
use std::sync::Arc;

impl Limiter {
    /// The header field in which trusted proxies say whom they speak for, in lower case; see
    /// [`Identity::client_ip_header`](crate::Identity::client_ip_header).
    pub fn client_ip_header(&self) -> Arc<str> {
        Arc::clone(&self.0.rules.load().identity.header)
    }

    /// The client's whole address: the peer's, or the one that trusted proxies vouch for. `None` where
    /// there is no peer, or what they say cannot be read.
    pub fn client(&self, request: &Request<'_>) -> Option<IpAddr> {
        let release = self.0.rules.load();
        Caller::new(&release.identity, request).address().ok()
    }

    /// Who a token or an API key of the request proves its caller to be; `None` where none does. What
    /// the application says of the user is not looked at.
    ///
    /// # Errors
    ///
    /// If there is a second line of the header field that has the token or the key.
    pub fn identify(&self, request: &Request<'_>) -> Result<Option<Verified>, Rejected> {
        let release = self.0.rules.load();
        let request = Request { user: None, tier: None, ..*request };
        Caller::new(&release.identity, &request).verified()
    }
}
