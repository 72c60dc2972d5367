//! Whether two histories decided alike for the keys that both have.
//!
//! One is recorded with others on the same server, one without: if keys are isolated, nobody can tell which.
//! Invariant: operations are compared in the order in which each key asked them.

use super::history::{History, Operation};
use super::report::{Check, Finding, Report};

impl Report {
    /// Adds how `other` differs from `history`, if it does.
    pub fn compare(&mut self, history: &History, other: &History) {
        let theirs = sorted(other);
        let name = |operation: &Operation| {
            let rule = other.rules.find(history.rules.text(operation.rule.into()))?;
            Some((rule, other.keys.find(history.keys.text(operation.key))?))
        };
        let ours = sorted(history);
        let mut first: Option<Finding> = None;
        for ours in ours.chunk_by(|one, next| (one.rule, one.key) == (next.rule, next.key)) {
            let Some(place) = ours.first().and_then(|operation| name(operation)) else { continue };
            let from = theirs.partition_point(|each| (u32::from(each.rule), each.key) < place);
            let to = theirs.partition_point(|each| (u32::from(each.rule), each.key) <= place);
            if from == to {
                continue;
            }
            self.tally.judged(Check::Isolation, 1);
            let Some(found) = difference(history, ours, &theirs[from..to]) else { continue };
            self.tally.counted(Check::Isolation, 1);
            let earlier = |first: &Finding| found.interval < first.interval;
            if first.as_ref().is_none_or(earlier) {
                first = Some(found);
            }
        }
        if let Some(first) = first {
            self.tally.keep(first);
        }
        self.settle();
    }
}

fn sorted(history: &History) -> Vec<&Operation> {
    let mut sorted: Vec<&Operation> = history.operations.iter().collect();
    sorted.sort_by_key(|each| (each.rule, each.key, each.invoke, each.complete));
    sorted
}

/// The first operation that was decided in another way, or has no counterpart.
fn difference(history: &History, ours: &[&Operation], theirs: &[&Operation]) -> Option<Finding> {
    let alike =
        |one: &Operation, other: &Operation| (one.outcome, one.cost) == (other.outcome, other.cost);
    let pairs = ours.iter().zip(theirs);
    let same = pairs.take_while(|(one, other)| alike(one, other)).count();
    let (one, other) = (ours.get(same), theirs.get(same));
    let said = |operation: Option<&&Operation>| match operation {
        Some(operation) => format!("{} of {}", operation.outcome.name(), operation.cost),
        None => "nothing".to_owned(),
    };
    if one.is_none() && other.is_none() {
        return None;
    }
    let at = one.or(ours.last())?;
    let (rule, key) = (history.rules.text(at.rule.into()), history.keys.text(at.key));
    let note =
        format!("operation {} of the key: {} here, {} there", same + 1, said(one), said(other));
    Some(Finding {
        interval: Some((at.invoke, at.complete)),
        excess: 1,
        first: one.map(|one| one.id),
        last: other.map(|other| other.id),
        note: Some(note),
        ..Finding::new(Check::Isolation, rule, key)
    })
}
