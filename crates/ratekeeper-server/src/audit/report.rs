//! What was found, and the figures that go with it.
//!
//! Invariant: however long the history, the report is short: the worst findings, and the number of others.

use super::history::{History, Outcome, Source};
use serde::Serialize;
use std::collections::BTreeMap;

/// Most findings that are told.
pub const FINDINGS_MAX: usize = 20;

/// Findings that are kept before the worst of them are chosen.
const KEPT_MAX: usize = 100 * FINDINGS_MAX;

/// What is checked, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// More was admitted than may be.
    Envelope,
    /// Something was lost, or is there twice.
    Lost,
    /// A release that was replaced decided.
    Versions,
    /// A key was decided in another way with others than without.
    Isolation,
    /// A refusal though the limit was not full.
    Refusals,
    /// A wait that was too short.
    RetryAfter,
    /// More left than the limit has.
    Remaining,
    /// An outcome that does not go with its source.
    Sources,
    /// An answer before its question.
    Times,
}

impl Check {
    /// Every one, the worst first.
    pub const ALL: [Check; 9] = [
        Check::Envelope,
        Check::Lost,
        Check::Versions,
        Check::Isolation,
        Check::Refusals,
        Check::RetryAfter,
        Check::Remaining,
        Check::Sources,
        Check::Times,
    ];
}

/// One thing that should not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it breaks.
    pub check: Check,
    /// The rule; empty if it is the whole history.
    pub rule: String,
    /// The key.
    pub key: String,
    /// The limit that it breaks.
    pub limit: Option<String>,
    /// When: from a question to an answer, in nanoseconds as in the history.
    pub interval: Option<(u64, u64)>,
    /// Units that were admitted or counted, and units that may be.
    pub units: Option<(u128, u128)>,
    /// How bad it is: units beyond what may be, or how many times.
    pub excess: u128,
    /// The first operation in it.
    pub first: Option<u64>,
    /// The last.
    pub last: Option<u64>,
    /// What else there is to say.
    pub note: Option<String>,
}

impl Finding {
    pub(super) fn new(check: Check, rule: &str, key: &str) -> Finding {
        let (rule, key, excess) = (rule.to_owned(), key.to_owned(), 0);
        let (limit, interval, units, first, last, note) = (None, None, None, None, None, None);
        Finding { check, rule, key, limit, interval, units, excess, first, last, note }
    }
}

/// How many were judged, and how many broke what they should keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Keys, operations or waits that were judged.
    pub judged: u64,
    /// Those of them that are findings; waits also those that are tolerated.
    pub broken: u64,
}

/// Findings while they are collected.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    counts: BTreeMap<Check, Count>,
    kept: Vec<Finding>,
    found: usize,
}

impl Tally {
    pub(super) fn judged(&mut self, check: Check, count: u64) {
        self.counts.entry(check).or_default().judged += count;
    }

    pub(super) fn counted(&mut self, check: Check, count: u64) {
        self.counts.entry(check).or_default().broken += count;
    }

    pub(super) fn found(&mut self, finding: Finding) {
        self.counted(finding.check, 1);
        self.keep(finding);
    }

    pub(super) fn keep(&mut self, finding: Finding) {
        self.found += 1;
        self.kept.push(finding);
        if self.kept.len() > 2 * KEPT_MAX {
            self.choose(KEPT_MAX);
        }
    }

    /// Counts findings that are not told.
    pub(super) fn beyond(&mut self, count: u64) {
        self.found += usize::try_from(count).unwrap_or(usize::MAX);
    }

    fn choose(&mut self, most: usize) {
        let severity = |finding: &Finding| (finding.check, u128::MAX - finding.excess);
        self.kept.sort_by_key(|finding| (severity(finding), finding.interval));
        self.kept.truncate(most);
    }
}

/// What a leased rule admitted beyond its limits, and what it may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverAdmission {
    /// The rule.
    pub rule: String,
    /// The limit.
    pub limit: String,
    /// The most units that any key was admitted beyond it, in any interval.
    pub measured: u64,
    /// The most that may be.
    pub bound: u64,
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The worst findings.
    pub findings: Vec<Finding>,
    /// How many there are beyond those.
    pub more: usize,
    /// How many operations there are.
    pub operations: usize,
    /// How many keys, rules and nodes there are.
    pub names: [usize; 3],
    /// The first question and the last answer, in nanoseconds.
    pub time: Option<(u64, u64)>,
    /// How many operations ended in which way, where, and how many units they asked for.
    pub outcomes: Vec<(Outcome, Source, u64, u128)>,
    /// What leased rules admitted beyond their limits.
    pub over_admission: Vec<OverAdmission>,
    /// What could not be judged, and what is to know.
    pub notes: Vec<String>,
    /// Steps that the trees took.
    pub steps: u64,
    pub(super) tally: Tally,
}

impl Report {
    /// Whether everything that was judged is as it should be.
    pub fn is_kept(&self) -> bool {
        self.findings.is_empty()
    }

    /// What was judged and what was broken.
    pub fn count(&self, check: Check) -> Count {
        self.tally.counts.get(&check).copied().unwrap_or_default()
    }

    /// How many operations had this outcome, by this source, if one is said.
    pub fn ended(&self, outcome: Outcome, source: Option<Source>) -> u64 {
        let fits = |(each, by, ..): &&(Outcome, Source, u64, u128)| {
            *each == outcome && source.is_none_or(|source| source == *by)
        };
        self.outcomes.iter().filter(fits).map(|(_, _, count, _)| count).sum()
    }

    pub(super) fn new(history: &History) -> Report {
        let names = [history.keys.len(), history.rules.len(), history.nodes.len()];
        let first = history.operations.iter().map(|operation| operation.invoke).min();
        let last = history.operations.iter().map(|operation| operation.complete).max();
        let mut outcomes: Vec<(Outcome, Source, u64, u128)> = Vec::new();
        for outcome in Outcome::ALL {
            outcomes.extend(Source::ALL.iter().map(|source| (*outcome, *source, 0, 0)));
        }
        for operation in &history.operations {
            let at = operation.outcome as usize * Source::ALL.len() + operation.source as usize;
            if let Some((_, _, count, units)) = outcomes.get_mut(at) {
                *count += 1;
                *units += u128::from(operation.cost);
            }
        }
        outcomes.retain(|(_, _, count, _)| *count > 0);
        let (operations, time) = (history.len(), first.zip(last));
        Report { operations, names, time, outcomes, ..Report::default() }
    }

    /// Chooses the worst of what was found.
    pub(super) fn settle(&mut self) {
        self.tally.choose(KEPT_MAX);
        self.findings = self.tally.kept.iter().take(FINDINGS_MAX).cloned().collect();
        self.more = self.tally.found - self.findings.len();
    }
}
