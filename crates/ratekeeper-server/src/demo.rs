//! The demo rules: one for each algorithm, for a server that was given no config.
//!
//! Invariant: each admits 10 in a row, so that the eleventh call shows its refusal. The one that is
//! shaping lets them pass one a second: the tenth is told to wait for nine.

use ratekeeper::limiter::Builder;
use ratekeeper::rule::{Limits, RuleSpec};
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

/// The rules, as sets of rules have them.
pub(crate) fn specs() -> Vec<RuleSpec> {
    let each = limits().into_iter().filter_map(|(name, limit)| {
        let limit = Limit::try_from(limit).ok()?;
        Some(RuleSpec::new(name, Limits::Same(vec![limit])))
    });
    each.collect()
}

/// The rules, as a rule file says them.
pub(crate) fn text() -> String {
    let each = limits().into_iter().filter_map(|(name, limit)| {
        let limit = Limit::try_from(limit).ok()?;
        let algorithm = limit.algorithm()?.name();
        let mode = if limit.is_shaping() { ", mode: shaping" } else { "" };
        let key = "{first: [user, api_key, ip]}";
        Some(format!(
            "  - {{id: {name}, key: {key}, limit: {limit}, algorithm: {algorithm}{mode}}}\n"
        ))
    });
    each.fold("rules:\n".into(), |text, line| text + &line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratekeeper::Limiter;
    use ratekeeper::rule::file::RuleFile;

    /// Goal: the demo is the same, whether it is built or read.
    /// Method: compare every rule of the text with the one that is built, by name and limits.
    #[test]
    fn the_text_of_the_demo_says_its_rules() {
        let read = Limiter::memory().rules(RuleFile::parse(&text()).unwrap().rules).build();
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
