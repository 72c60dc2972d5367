//! A shared store of which nothing but its URL is there.
//!
//! Invariant: no test here needs a server; those that ask one ask a port on which nobody listens.

mod calls;
mod outage;
mod secrets;
mod urls;

use ratekeeper::limiter::IntoLimits;
use ratekeeper::{Limiter, ManualClock, OnStoreFailure, RedisConfig, Rule};

/// The policies, with a rule's name for each.
const POLICIES: [(&str, OnStoreFailure); 3] = [
    ("allow", OnStoreFailure::Allow),
    ("deny", OnStoreFailure::Deny),
    ("local", OnStoreFailure::Local),
];

/// A store that is away.
fn away() -> RedisConfig {
    // Nobody listens on the first port.
    "redis://127.0.0.1:1/0".parse().unwrap()
}

/// A limiter with the same limits under each policy, on a store that is away, of so many servers.
fn limiter<L: IntoLimits + Clone>(nodes: u32, clock: &ManualClock, limits: &L) -> Limiter {
    let mut builder = Limiter::redis(away().nodes(nodes)).clock(clock);
    for (name, policy) in POLICIES {
        let added = builder.rule(name, limits.clone()).unwrap();
        builder = added.on_store_failure(name, policy).unwrap();
    }
    builder.build()
}

/// The rule that has a share.
fn local(limiter: &Limiter) -> Rule {
    limiter.rule("local").unwrap()
}
