//! Rules that this door leaves out: it is not told when a request has ended, and so cannot give a permit
//! back.
//!
//! Invariant: every rule of which a concurrency limit is left out is named.

use ratekeeper::Limit;
use ratekeeper::rule::{Limits, RuleSet, RuleSpec};
use std::sync::Arc;

/// The rules whose concurrency limits a gateway does not meet; none if no gateway may ask.
pub(crate) fn skipped(set: &RuleSet) -> Vec<Arc<str>> {
    if !set.identity.trusts_anyone() {
        return Vec::new();
    }
    let overridden = |rule: &RuleSpec| {
        set.overrides.iter().any(|own| own.rule == rule.id && gives_permits(&own.limits))
    };
    let met = set.rules.iter().filter(|rule| rule.domain.is_none());
    let skipped = met.filter(|rule| has_permits(&rule.limits) || overridden(rule));
    skipped.map(|rule| Arc::clone(&rule.id)).collect()
}

fn has_permits(limits: &Limits) -> bool {
    match limits {
        Limits::Closed => false,
        Limits::Same(limits) => gives_permits(limits),
        Limits::ByTier(tiers) => tiers.iter().any(|limits| gives_permits(limits)),
    }
}

fn gives_permits(limits: &[Limit]) -> bool {
    limits.iter().any(|limit| limit.hold().is_some())
}
