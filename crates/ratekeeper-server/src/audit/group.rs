//! The operations of one key under one rule.
//!
//! Invariant: they are in the order in which they were asked, and each has times that make sense.

use super::history::{History, Operation, Outcome, Source};
use super::limits::{Judged, Rulebook};

/// The operations of a key under a rule, on one server if each counts by itself.
pub(super) struct Group<'a> {
    pub(super) history: &'a History,
    pub(super) rule: &'a Judged,
    pub(super) operations: Vec<&'a Operation>,
}

impl<'a> Group<'a> {
    pub(super) fn rule_name(&self) -> &'a str {
        self.operations.first().map_or("", |first| self.history.rules.text(first.rule.into()))
    }

    pub(super) fn key(&self) -> &'a str {
        self.operations.first().map_or("", |first| self.history.keys.text(first.key))
    }

    /// The ticks in which an operation can have been decided.
    pub(super) fn ticks(&self, operation: &Operation) -> (i64, i64) {
        (self.history.first_tick(operation.invoke), self.history.last_tick(operation.complete))
    }
}

/// Hands over all groups whose rule can be judged.
pub(super) fn each_group<'a>(
    history: &'a History,
    book: &'a Rulebook,
    mut judge: impl FnMut(&Group<'a>),
) {
    let rules: Vec<Option<&Judged>> =
        history.rules.texts().map(|name| book.rules.get(name)).collect();
    let rule = |operation: &Operation| rules.get(usize::from(operation.rule)).copied().flatten();
    let sane = history.operations.iter().filter(|operation| operation.is_sane());
    let name = |operation: &Operation| {
        let by_node = rule(operation).is_some_and(|rule| rule.by_node);
        (operation.rule, operation.key, if by_node { operation.node } else { 0 })
    };
    let mut sorted: Vec<&Operation> = sane
        .filter(|operation| rule(operation).is_some_and(|rule| !rule.sets.is_empty()))
        .collect();
    sorted.sort_unstable_by_key(|operation| {
        (name(operation), operation.invoke, operation.complete, operation.id)
    });
    for operations in sorted.chunk_by(|one, next| name(one) == name(next)) {
        let Some(rule) = operations.first().and_then(|first| rule(first)) else { continue };
        judge(&Group { history, rule, operations: operations.to_vec() });
    }
}

/// Whether it was admitted by the limit: what passes because the store is away is counted apart, and what is
/// charged to the bucket of newcomers is not this key's.
pub(super) fn is_admitted(operation: &Operation) -> bool {
    let apart = matches!(operation.source, Source::FailedOpen | Source::Overflow);
    operation.outcome == Outcome::Allow && !apart
}

/// Whether it was refused by the limit.
pub(super) fn is_refused(operation: &Operation) -> bool {
    let limit = matches!(operation.source, Source::Store | Source::Lease | Source::DeniedCache);
    operation.outcome == Outcome::Deny && limit
}

/// Whether nobody knows if it was charged, or when: the store may have been asked, and may answer later.
pub(super) fn is_uncertain(operation: &Operation) -> bool {
    let away =
        matches!(operation.source, Source::Local | Source::FailedOpen | Source::FailedClosed);
    operation.outcome == Outcome::Error || away
}
