//! Who is told of decisions, for metrics.
//!
//! Invariant: an observer is told once of each decision that charged or refused, and of no peek.

use super::{Compiled, Inner};
use crate::decision::Decision;
use crate::diagnosis::Diagnosis;

/// Is told of every decision; for metrics. Called on the caller's thread: be quick.
pub trait Observer: Send + Sync + 'static {
    /// A rule decided. Peeks, refunds and resets are not decisions.
    fn decided(&self, rule: &str, decision: &Decision);

    /// A rule in shadow said what it would have decided.
    fn shadowed(&self, rule: &str, decision: &Decision) {
        let _ = (rule, decision);
    }

    /// Something about the set-up is most likely not meant; told once. Printed, unless said.
    fn diagnosed(&self, diagnosis: &Diagnosis) {
        eprintln!("ratekeeper: {diagnosis}");
    }

    /// The shared store did not answer as it should, or a key of it holds something that is not ours.
    #[cfg(feature = "redis")]
    fn store_failed(&self, error: &crate::StoreError) {
        let _ = error;
    }
}

impl Inner {
    #[inline]
    pub(super) fn observe(&self, rule: &Compiled, decision: &Decision, cost: u64) {
        if let Some(observer) = self.observer.as_ref().filter(|_| cost > 0) {
            observer.decided(rule.id(), decision);
        }
    }

    /// The same of a rule in shadow.
    pub(super) fn observe_shadow(&self, rule: &Compiled, decision: &Decision, cost: u64) {
        if let Some(observer) = self.observer.as_ref().filter(|_| cost > 0) {
            observer.shadowed(rule.id(), decision);
        }
    }
}
