//! What the tests of Ratekeeper share.
#![forbid(unsafe_code)]
#![cfg_attr(feature = "fleet", expect(clippy::panic, reason = "a test that cannot go on stops"))]

#[cfg(feature = "chaos")]
pub mod chaos;
#[cfg(feature = "fleet")]
pub mod conformance;
pub mod dice;
#[cfg(feature = "doors")]
pub mod doors;
pub mod oracle;
#[cfg(feature = "sim")]
pub mod sim;
#[cfg(feature = "fleet")]
pub mod servers;
#[cfg(feature = "fleet")]
pub mod fake;
#[cfg(feature = "fleet")]
pub mod load;
#[cfg(feature = "fleet")]
pub mod processes;
