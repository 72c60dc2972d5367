//! Whether what answers told came true: the wait that a refusal named, and the units that are left.
//!
//! A wait is looked at only if the key was alone: nothing that may have been charged lies or ends between the
//! refusal's question and the next answer. Invariant: whoever waits that long and asks for as much is then
//! admitted, so an answer that says otherwise is false. One in [`TOLERATED`] may be.

use super::group::{Group, is_refused, is_uncertain};
use super::history::{Operation, Outcome, Source};
use super::refusal::LATE;
use super::report::{Check, FINDINGS_MAX, Finding};

/// One in so many waits may be too short.
pub const TOLERATED: u64 = 1_000;

/// What was found out about waits.
#[derive(Default)]
pub(super) struct Waits {
    pub(super) judged: u64,
    pub(super) broken: u64,
    /// The first that were too short.
    pub(super) found: Vec<Finding>,
}

/// Judges the waits of a key.
pub(super) fn waits(group: &Group<'_>, found: &mut Waits) {
    let last_fault = group.history.episodes.iter().map(|episode| episode.end).max().unwrap_or(0);
    // Up to when what was asked before may be charged.
    let mut busy = 0;
    for (at, operation) in group.operations.iter().enumerate() {
        let alone = busy <= operation.invoke;
        let mut end = operation.complete;
        if is_uncertain(operation) {
            end = end.max(last_fault).saturating_add(LATE * 1_000);
        }
        busy = busy.max(end);
        // What a server remembers is up to 250 ms old: others may have had less since, for which there was room.
        let remembered = operation.source == Source::DeniedCache && operation.cost > 1;
        if !alone || !is_refused(operation) || remembered {
            continue;
        }
        let (Some(retry), Some(next)) = (operation.retry(), group.operations.get(at + 1)) else {
            continue;
        };
        let alone = group.operations.get(at + 2).is_none_or(|third| third.invoke > next.complete);
        let waited = next.invoke >= operation.complete.saturating_add(retry);
        let alike = next.cost == operation.cost && next.version == operation.version;
        if !alone || !waited || !alike || is_uncertain(next) || next.source == Source::Overflow {
            continue;
        }
        found.judged += 1;
        if next.outcome != Outcome::Deny {
            continue;
        }
        found.broken += 1;
        if found.found.len() < FINDINGS_MAX {
            found.found.push(Finding {
                interval: Some((operation.invoke, next.complete)),
                excess: 1,
                first: Some(operation.id),
                last: Some(next.id),
                note: Some(format!("told to wait {retry} ns, waited, and was refused")),
                ..Finding::new(Check::RetryAfter, group.rule_name(), group.key())
            });
        }
    }
}

/// Whether an answer says that more is left than the limit ever has; and how many were judged.
pub(super) fn remaining(group: &Group<'_>) -> (Option<Finding>, u64) {
    let least = |rates: &Vec<super::limits::Rate>| rates.iter().map(|rate| rate.burst).min();
    let most = group.rule.sets.iter().map(least).collect::<Option<Vec<u64>>>();
    let Some(most) = most.and_then(|each| each.into_iter().max()) else { return (None, 0) };
    let told = |operation: &&&Operation| operation.remaining().is_some();
    let judged = group.operations.iter().filter(told).count() as u64;
    let broken = group
        .operations
        .iter()
        .filter(|operation| operation.remaining().is_some_and(|remaining| remaining > most));
    let worst = broken.max_by_key(|operation| operation.remaining());
    let finding = worst.map(|operation| {
        let told = operation.remaining().unwrap_or(0);
        Finding {
            interval: Some((operation.invoke, operation.complete)),
            units: Some((told.into(), most.into())),
            excess: u128::from(told - most),
            first: Some(operation.id),
            last: Some(operation.id),
            note: Some(format!("says that {told} are left of {most}")),
            ..Finding::new(Check::Remaining, group.rule_name(), group.key())
        }
    });
    (finding, judged)
}
