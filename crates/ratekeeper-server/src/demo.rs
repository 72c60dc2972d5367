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

/// The same rules as a rule file says them.
pub(crate) const TEXT: &str = "\
rules:
  - {id: fixed-window, key: &who {first: [user, api_key, ip]}, limit: 10/10s, algorithm: fixed_window}
  - {id: sliding-window-log, key: *who, limit: 10/10s, algorithm: sliding_window_log}
  - {id: sliding-window-counter, key: *who, limit: 10/10s, algorithm: sliding_window_counter}
  - {id: token-bucket, key: *who, limit: 1/second burst 10}
  - {id: leaky-bucket, key: *who, limit: 1/second burst 10, algorithm: leaky_bucket}
  - {id: leaky-bucket-shaping, key: *who, limit: 1/second burst 10, algorithm: leaky_bucket, mode: shaping}
";

#[cfg(test)]
mod tests {
    use super::*;
    use ratekeeper::Limiter;
    use ratekeeper::rule::file::RuleFile;

    /// Goal: the demo is the same, whether it is built or read.
    /// Method: compare every rule of the text with the one that is built, by name and limits.
    #[test]
    fn the_text_of_the_demo_says_its_rules() {
        let read = Limiter::memory().rules(RuleFile::parse(TEXT).unwrap().rules).build();
        let built = rules(Limiter::memory()).unwrap().build();
        let told = |limiter: &Limiter| {
            let each = limiter.rules();
            each.iter()
                .map(|rule| (rule.name().to_owned(), rule.limits().to_vec()))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&read).len(), 6);
        assert_eq!(told(&read), told(&built));
    }
}
