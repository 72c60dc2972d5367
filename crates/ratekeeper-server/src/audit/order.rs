//! Whether the history is whole: nothing lost, nothing twice, no time and no version that goes back.
//!
//! Invariant: this looks at every operation, whatever its rule, in n log n steps.

use super::history::{History, Operation, Outcome, Source};
use super::report::{Check, Finding, Tally};

/// Judges the history as a whole.
pub(super) fn judge(history: &History, tally: &mut Tally) {
    numbers(history, tally);
    for operation in &history.operations {
        tally.judged(Check::Sources, 1);
        tally.judged(Check::Times, 1);
        if !operation.is_sane() {
            let note = format!("answered at {}, before it was asked", operation.complete);
            tally.found(finding(history, Check::Times, operation, note));
        }
        if let Some(note) = contradiction(operation) {
            tally.found(finding(history, Check::Sources, operation, note));
        }
    }
    versions(history, tally);
}

fn finding(history: &History, check: Check, operation: &Operation, note: String) -> Finding {
    let (rule, key) = (history.rules.text(operation.rule.into()), history.keys.text(operation.key));
    Finding {
        interval: Some((operation.invoke, operation.complete)),
        excess: 1,
        first: Some(operation.id),
        last: Some(operation.id),
        note: Some(note),
        ..Finding::new(check, rule, key)
    }
}

/// An operation whose outcome does not go with its source.
fn contradiction(operation: &Operation) -> Option<String> {
    let source = operation.source;
    let goes = match operation.outcome {
        Outcome::Error => matches!(source, Source::FailedOpen | Source::FailedClosed),
        Outcome::Allow => !matches!(source, Source::FailedClosed | Source::DeniedCache),
        Outcome::Deny => source != Source::FailedOpen,
    };
    let (outcome, source) = (operation.outcome.name(), source.name());
    (!goes).then(|| format!("`{outcome}` does not go with the source `{source}`"))
}

/// Every number is there once, and as many as were sent.
fn numbers(history: &History, tally: &mut Tally) {
    let mut sorted: Vec<&Operation> = history.operations.iter().collect();
    sorted.sort_unstable_by_key(|operation| operation.id);
    tally.judged(Check::Lost, sorted.len() as u64);
    for pair in sorted.windows(2) {
        if pair[0].id == pair[1].id {
            let note = format!("the number {} is there twice", pair[0].id);
            tally.found(finding(history, Check::Lost, pair[1], note));
        }
    }
    let there = sorted.len() as u64;
    if let Some(sent) = history.sent.filter(|sent| *sent != there) {
        let note = format!("{sent} were sent, and {there} are there");
        let excess = sent.abs_diff(there).into();
        tally.found(Finding { excess, note: Some(note), ..Finding::new(Check::Lost, "", "") });
    }
}

/// On one node, what began after something had ended has no lower version.
fn versions(history: &History, tally: &mut Tally) {
    let sane = || history.operations.iter().filter(|operation| operation.is_sane());
    let mut begins: Vec<&Operation> = sane().collect();
    begins.sort_unstable_by_key(|operation| (operation.node, operation.invoke));
    let mut ends: Vec<&Operation> = sane().collect();
    ends.sort_unstable_by_key(|operation| (operation.node, operation.complete));
    let mut ends = ends.into_iter().peekable();
    let mut newest: Option<&Operation> = None;
    for operation in begins {
        let place = (operation.node, operation.invoke);
        while let Some(ended) = ends.next_if(|ended| (ended.node, ended.complete) < place) {
            let other = newest.is_none_or(|newest| newest.node != ended.node);
            if other || newest.is_some_and(|newest| newest.version < ended.version) {
                newest = Some(ended);
            }
        }
        tally.judged(Check::Versions, 1);
        let newer = newest.filter(|newest| newest.node == operation.node);
        if let Some(newer) = newer.filter(|newest| newest.version > operation.version) {
            let node = history.nodes.text(operation.node.into());
            let (was, is) = (newer.version, operation.version);
            let note = format!("node {node} decided by release {is} after release {was}");
            let found = finding(history, Check::Versions, operation, note);
            tally.found(Finding { first: Some(newer.id), ..found });
        }
    }
}
