//! Who is told of decisions, for metrics.
//!
//! Invariant: an observer is told once of each decision that charged or refused, and of no peek.

use super::select::Slot;
use super::{Compiled, Inner};
use crate::decision::Decision;
use crate::diagnosis::Diagnosis;
use crate::key::Who;
use crate::rule::kind::KeyPart;
use std::time::Duration;

/// Is told of every decision; for metrics. Called on the caller's thread: be quick.
pub trait Observer: Send + Sync + 'static {
    /// A rule decided. Peeks, refunds and resets are not decisions.
    fn decided(&self, rule: &str, decision: &Decision);

    /// A rule in shadow said what it would have decided.
    fn shadowed(&self, rule: &str, decision: &Decision) {
        let _ = (rule, decision);
    }

    /// Both of these, with all that is known of the decision. Who implements it is told nothing else.
    fn observed(&self, observed: &Observed<'_>) {
        match observed.shadow {
            true => self.shadowed(observed.rule, observed.decision),
            false => self.decided(observed.rule, observed.decision),
        }
    }

    /// The same of many decisions that were made together.
    fn observed_all(&self, all: &mut dyn Iterator<Item = Observed<'_>>) {
        all.for_each(|observed| self.observed(&observed));
    }

    /// A key is about to be counted under a rule; `key` writes its parts down, which nobody keeps but
    /// who asks for them.
    fn met(&self, rule: &str, who: u64, key: &dyn Fn() -> Vec<KeyPart>) {
        let _ = (rule, who, key);
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

    /// The shared store answered a charge, after so long.
    fn store_answered(&self, took: Duration) {
        let _ = took;
    }
}

/// A decision of one rule, as an observer sees it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Observed<'a> {
    /// The rule's id. That of limits on trial is followed by ` trial`.
    pub rule: &'a str,
    /// The keyed hash of who is counted; `None` where a rule lets nobody pass, whoever it is.
    pub who: Option<u64>,
    /// What was decided.
    pub decision: &'a Decision,
    /// Whether the rule is in shadow, and only says so.
    pub shadow: bool,
}

impl Inner {
    #[inline]
    pub(super) fn observe(&self, rule: &Compiled, who: u64, decision: &Decision, cost: u64) {
        self.observe_as(rule, who, decision, cost, false);
    }

    /// The same of many decisions: each by a rule, of whom, and what it cost.
    pub(super) fn observe_all<'o>(
        &self,
        all: impl Iterator<Item = (&'o Compiled, u64, &'o Decision, u64)>,
    ) {
        let Some(observer) = &self.observer else { return };
        let mut all = all.filter(|(.., cost)| *cost > 0).map(|(rule, who, decision, _)| Observed {
            rule: rule.id(),
            who: Some(who),
            decision,
            shadow: false,
        });
        observer.observed_all(&mut all);
    }

    /// The same of a rule that may be in shadow.
    #[inline]
    pub(super) fn observe_as(
        &self,
        rule: &Compiled,
        who: u64,
        decision: &Decision,
        cost: u64,
        shadow: bool,
    ) {
        if let Some(observer) = self.observer.as_ref().filter(|_| cost > 0) {
            observer.observed(&Observed { rule: rule.id(), who: Some(who), decision, shadow });
        }
    }

    /// The same of rules that let nobody pass: of those that refused a request, or, if it passes, of those
    /// in shadow.
    pub(super) fn observe_closed(&self, slots: &[Slot], passes: bool) {
        let Some(observer) = &self.observer else { return };
        for slot in slots {
            if let Slot::Closed(label, shadow) = slot
                && *shadow == passes
            {
                let (rule, decision) = (&*label.id, &Decision::CLOSED);
                observer.observed(&Observed { rule, who: None, decision, shadow: *shadow });
            }
        }
    }

    /// Tells of a key that is about to be counted.
    #[inline]
    pub(super) fn meet(&self, rule: &str, who: &Who, key: &dyn Fn() -> Vec<KeyPart>) {
        if let Some(observer) = &self.observer {
            observer.met(rule, who.local, key);
        }
    }
}
