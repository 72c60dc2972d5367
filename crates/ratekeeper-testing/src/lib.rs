//! What the tests of Ratekeeper share.
#![forbid(unsafe_code)]

pub mod oracle;
#[cfg(feature = "fleet")]
pub mod servers;
