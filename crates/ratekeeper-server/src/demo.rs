//! The demo rules: one for each algorithm, for a server that was given no config.
//!
//! Invariant: each admits 10 in a row, so that the eleventh call shows its refusal. The one that is
//! shaping lets them pass one a second: the tenth is told to wait for nine.

use ratekeeper::limiter::Builder;
use ratekeeper::{Algorithm, Limit, LimitBuilder, RuleError};
use std::time::Duration;

/// Most keys that the demo remembers; beyond it the key nearest to whole gives way.
pub const KEYS_MAX: usize = 1_000_000;

/// The rules, by name.
pub fn limits() -> [(&'static str, LimitBuilder); 6] {
    let window = |algorithm| Limit::per(10, Duration::from_secs(10)).algorithm(algorithm);
    let bucket = |algorithm| Limit::per_second(1).burst(10).algorithm(algorithm);
    [
        ("fixed-window", window(Algorithm::FixedWindow)),
        ("sliding-window-log", window(Algorithm::SlidingWindowLog)),
        ("sliding-window-counter", window(Algorithm::SlidingWindowCounter)),
        ("token-bucket", bucket(Algorithm::TokenBucket)),
        ("leaky-bucket", bucket(Algorithm::LeakyBucket)),
        ("leaky-bucket-shaping", bucket(Algorithm::LeakyBucket).shaping()),
    ]
}

/// A limiter in the making, with the demo rules.
pub fn rules(empty: Builder) -> Result<Builder, RuleError> {
    let empty = empty.keys(KEYS_MAX);
    limits().into_iter().try_fold(empty, |builder, (name, limit)| builder.rule(name, limit))
}
