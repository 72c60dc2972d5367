//! What the tests of Ratekeeper share.
#![forbid(unsafe_code)]

#[cfg(feature = "fleet")]
pub mod conformance;
pub mod oracle;
#[cfg(feature = "fleet")]
pub mod servers;
#[cfg(feature = "fleet")]
pub mod fake;
#[cfg(feature = "fleet")]
pub mod load;
