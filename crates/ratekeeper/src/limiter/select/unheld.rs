//! Rules as they apply where nobody can give a permit back.
//!
//! Invariant: what is left out are concurrency limits, and nothing else.

use super::{Applies, View};

impl View<'_> {
    /// Leaves concurrency limits out: whoever asks is not told when the request has ended.
    pub(in crate::limiter) fn without_permits(self) -> Self {
        View { permits: false, ..self }
    }
}

impl Applies<'_> {
    /// The same without concurrency limits, if anything is left.
    pub(super) fn without_permits(self) -> Option<Self> {
        let Applies::Limits { rule, trial, who, cost } = self else { return Some(self) };
        let trial = trial.and_then(|trial| trial.without_permits());
        Some(Applies::Limits { rule: rule.without_permits()?, trial, who, cost })
    }
}
