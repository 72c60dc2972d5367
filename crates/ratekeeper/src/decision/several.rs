//! The answer to one request under several rules.
//!
//! Invariant: it passes if every rule that is enforced lets it pass; a rule in shadow says what it would
//! have done, and changes nothing.

use super::Decision;
use crate::few::Few;
use crate::fields::Policy;
use crate::limit::Limit;
use std::ops::Deref;
use std::sync::Arc;

/// What callers are told of a rule.
#[derive(Debug)]
pub(crate) struct Label {
    /// The rule's id.
    pub(crate) id: Arc<str>,
    /// The name that callers see.
    pub(crate) name: Arc<str>,
    /// One for each limit that limits.
    pub(crate) policies: Box<[Policy]>,
}

/// One rule's own answer to a request.
#[derive(Clone, Debug)]
pub struct RuleResult {
    label: Arc<Label>,
    decision: Decision,
    /// Each limit's own, if there are several.
    limits: Option<Box<[Decision]>>,
    shadow: bool,
}

impl RuleResult {
    /// Of the decisions of all limits of a rule.
    #[inline]
    pub(crate) fn new(label: &Arc<Label>, limits: &[Decision]) -> RuleResult {
        let decision = match limits {
            [only] => *only,
            _ => Decision::together(limits),
        };
        let limits = (limits.len() > 1).then(|| limits.into());
        RuleResult { label: Arc::clone(label), decision, limits, shadow: false }
    }

    /// Of a rule that lets nobody pass.
    pub(crate) fn closed(label: &Arc<Label>, shadow: bool) -> RuleResult {
        let (label, decision) = (Arc::clone(label), Decision::CLOSED);
        RuleResult { label, decision, limits: None, shadow }
    }

    /// The same, of a rule in shadow.
    pub(crate) fn in_shadow(self) -> RuleResult {
        RuleResult { shadow: true, ..self }
    }

    /// The same, of a rule whose permit was given back.
    #[cfg(feature = "redis")]
    pub(crate) fn without_permit(mut self) -> RuleResult {
        let limits = self.limits.iter_mut().flatten();
        limits.chain([&mut self.decision]).for_each(|own| own.permit = None);
        self
    }

    /// Whether it is of the rule with this label, in shadow or not.
    pub(crate) fn is_of(&self, label: &Arc<Label>, shadow: bool) -> bool {
        Arc::ptr_eq(&self.label, label) && self.shadow == shadow
    }

    /// Whether both are of the same rule, in shadow or not.
    pub(crate) fn is_like(&self, other: &RuleResult) -> bool {
        self.label.id == other.label.id && self.shadow == other.shadow
    }

    /// The same with another answer of each limit.
    pub(crate) fn changed(
        &self,
        change: impl Fn(Option<&Policy>, &Decision) -> Decision,
    ) -> RuleResult {
        let own = self.limits.as_deref().unwrap_or(std::slice::from_ref(&self.decision));
        let policies = self.label.policies.iter().map(Some).chain(std::iter::repeat(None));
        let changed: Vec<Decision> =
            own.iter().zip(policies).map(|(own, policy)| change(policy, own)).collect();
        RuleResult { shadow: self.shadow, ..RuleResult::new(&self.label, &changed) }
    }

    /// Each limit of the rule: its name as callers see it, what it says, and its own answer. None of a rule
    /// that limits nothing, or lets nobody pass.
    pub fn quotas(&self) -> impl Iterator<Item = (&str, &Limit, &Decision)> {
        self.limits().map(|(policy, decision)| (policy.name(), policy.limit(), decision))
    }

    /// The rule's id.
    pub fn rule(&self) -> &str {
        &self.label.id
    }

    /// The name that callers are shown.
    pub fn name(&self) -> &str {
        &self.label.name
    }

    /// Whether the rule only says what it would have done.
    pub fn is_shadow(&self) -> bool {
        self.shadow
    }

    /// Each limit of the rule: what callers are told of it, and its own answer.
    pub(crate) fn limits(&self) -> impl Iterator<Item = (&Policy, &Decision)> {
        let own = self.limits.as_deref().unwrap_or(std::slice::from_ref(&self.decision));
        self.label.policies.iter().zip(own)
    }
}

impl Deref for RuleResult {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}

/// The answer to one request under several rules, which pass or refuse together.
///
/// Reads as the [`Decision`] that speaks for all: of the rule that refuses for longest, or else of
/// the one with the least left.
#[derive(Clone, Debug)]
#[must_use = "a decision that nobody looks at limits nothing"]
pub struct Decisions {
    decision: Decision,
    decisive: Option<usize>,
    results: Few<RuleResult>,
    version: u64,
}

impl Decisions {
    pub(crate) fn new(results: Few<RuleResult>, version: u64) -> Decisions {
        if let Few::One(RuleResult { decision, shadow: false, .. }) = results {
            return Decisions { decision, decisive: Some(0), results, version };
        }
        let enforced = || results.iter().enumerate().filter(|(_, result)| !result.shadow);
        let found = Decision::decisive(enforced().map(|(_, result)| &result.decision));
        let found = found.and_then(|(nth, _)| enforced().nth(nth));
        let mut decision = found.map_or(Decision::UNLIMITED, |(_, result)| result.decision);
        enforced().for_each(|(_, other)| decision.note_turn(other));
        Decisions { decision, decisive: found.map(|(index, _)| index), results, version }
    }

    /// The rule that speaks for all; `None` if no rule is enforced.
    pub fn rule(&self) -> Option<&str> {
        self.decisive.map(|index| self.results[index].rule())
    }

    /// Each rule's own answer, in the order asked. In a refused request a rule that would have
    /// admitted it says so, and shows what is left without it, since nothing was charged.
    pub fn results(&self) -> impl ExactSizeIterator<Item = (&str, &Decision)> {
        self.results.iter().map(|result| (result.rule(), &result.decision))
    }

    /// The same, with what is to know about each rule.
    pub fn rules(&self) -> &[RuleResult] {
        &self.results
    }

    /// The release of rules that decided.
    pub fn version(&self) -> u64 {
        self.version
    }
}

impl Deref for Decisions {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}
