//! Ratekeeper decides whether a request may pass, and when: exact rate limits, in bounded memory.
//!
//! ```
//! use ratekeeper::Limiter;
//!
//! let limiter = Limiter::memory().rule("api", "100/minute burst 20")?.build();
//! let api = limiter.rule("api")?;
//!
//! let decision = api.try_check("alice")?;
//! assert!(decision.is_allowed());
//! assert_eq!(decision.remaining(), 19);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules are listed in the order in which a request meets them: who is counted, how much, by
//! which algorithm, with what answer, from which store, and the walk through all of it.
#![forbid(unsafe_code)]

pub mod request;
pub mod identity;
pub mod rule;
pub mod key;
pub mod limit;
pub mod algorithm;
pub mod decision;
mod name;
mod store;
pub mod limiter;
pub mod fields;
pub mod diagnosis;
#[cfg(feature = "tower")]
pub mod layer;
mod few;
mod clock;
mod sync;

pub use algorithm::Algorithm;
pub use clock::ManualClock;
pub use decision::{Decision, Decisions, RuleResult, Source};
pub use identity::Identity;
pub use key::Key;
pub use limit::{Limit, LimitBuilder, LimitError};
pub use limiter::{
    Admission, Hold, Limiter, NeedsAwait, Observer, OnStoreFailure, Permit, Rule, RuleError,
    UnknownRule,
};
pub use name::{HoldId, NotAName, PermitId};
pub use request::{Rejected, Request};
pub use rule::RuleSet;
pub use store::memory::MemoryStats;
#[cfg(feature = "redis")]
pub use store::redis::{RedisConfig, StoreError, StoreUsage};

/// What is done about each kind of error of a shared store.
#[cfg(feature = "redis")]
pub mod outage {
    pub use crate::store::redis::{Again, Breaks, Class, Outcome, Policy};
}

/// What a simulation puts in the place of the network.
#[cfg(feature = "sim")]
#[doc(hidden)]
pub mod sim {
    pub use crate::store::redis::config::sim::{Connecting, Duplex};
}

/// What the servers on one shared store tell each other.
#[cfg(feature = "redis")]
pub mod fleet {
    pub use crate::store::redis::{Board, NUMBER_MAX, News, Posted, UNREADABLE};
}

/// The Rust in these pages is compiled and run with the documentation's tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../docs/algorithms.md")]
#[doc = include_str!("../../../docs/waiting.md")]
#[cfg_attr(feature = "redis", doc = include_str!("../../../docs/redis.md"))]
#[cfg_attr(all(feature = "cel", feature = "yaml"), doc = include_str!("../../../docs/rules.md"))]
#[cfg_attr(all(feature = "jwt", feature = "yaml"), doc = include_str!("../../../docs/identity.md"))]
#[cfg_attr(all(feature = "axum", feature = "yaml"), doc = include_str!("../../../docs/middleware.md"))]
struct Pages;
