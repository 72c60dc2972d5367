//! Who a caller has proved to be.
//!
//! Invariant: `Debug` does not say who it is.

use super::Caller;
use crate::request::Rejected;
use std::fmt;

/// Who a caller has proved to be, by a token or an API key.
#[derive(Clone, PartialEq, Eq)]
pub struct Verified {
    /// The user: whom the token names, or who owns the key.
    pub user: String,
    /// The tier, where the token or the key has one.
    pub tier: Option<String>,
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified").field("tier", &self.tier).finish_non_exhaustive()
    }
}

impl Caller<'_> {
    /// Who it is, if anything says so.
    pub(crate) fn verified(&self) -> Result<Option<Verified>, Rejected> {
        let Some(user) = self.user().map_err(Clone::clone)? else { return Ok(None) };
        let tier = self.tier().map_err(Clone::clone)?;
        Ok(Some(Verified { user: user.to_owned(), tier: tier.map(str::to_owned) }))
    }
}
