//! The proof that a recorded history kept its bounds.
//!
//! A history is what became of every request, written down by whoever sent them: when it was asked, when the
//! answer was there, and what it was. Each check is sound: the instant of a decision is somewhere between
//! the two, and nothing is called a fault that some instant would explain. Limits count in ticks of a
//! microsecond, and nobody knows where in a microsecond of the history a tick of the store begins; so a
//! question is rounded down to a tick and an answer up, and whatever the store's tick was, it lies between.
//! Invariant: a correct limiter is never accused, and the work is n log n in the length of the history.
//!
//! The modules are listed in the order in which a history meets them.

mod history;
mod read;
mod write;
mod limits;
mod order;
mod group;
mod peaks;
pub mod envelope;
mod faults;
mod admitted;
mod refusal;
mod promise;
mod same;
mod report;

pub use history::{
    Beyond, COST_MAX, EPISODES_MAX, Episode, History, NAMES_MAX, OPERATIONS_MAX, Outcome, Record,
    Source, WALL_MAX,
};
pub use limits::{Rulebook, SETS_MAX};
pub use promise::TOLERATED;
pub use read::{BadHistory, LINE_MAX};
pub use refusal::LATE;
pub use report::{Check, Count, FINDINGS_MAX, Finding, OverAdmission, Report};

use admitted::Excess;
use report::Tally;
use std::collections::BTreeMap;

/// The rule of a history that a rule file does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule(pub String);

/// Judges a history by the limits of a rule file.
pub fn judge(history: &History, book: &Rulebook) -> Result<Report, UnknownRule> {
    if let Some(name) = history.rules.texts().find(|name| !book.rules.contains_key(*name)) {
        return Err(UnknownRule(name.to_owned()));
    }
    let mut report = Report::new(history);
    let mut tally = Tally::default();
    order::judge(history, &mut tally);
    let faults = faults::faults(history);
    let mut waits = promise::Waits::default();
    let mut over = BTreeMap::new();
    let mut steps = 0;
    group::each_group(history, book, |group| {
        let found = admitted::judge(group, &faults, book.nodes, &mut steps);
        let limits = group.rule.sets.iter().any(|rates| !rates.is_empty());
        tally.judged(Check::Envelope, u64::from(limits));
        if let Some(finding) = admitted::finding(group, &found) {
            tally.found(finding);
        }
        measure(group, &found, &mut over);
        let (finding, judged, needless) = refusal::judge(group, &faults, book.nodes, &mut steps);
        tally.judged(Check::Refusals, judged);
        tally.counted(Check::Refusals, needless);
        finding.into_iter().for_each(|finding| tally.keep(finding));
        promise::waits(group, &mut waits);
        let (finding, judged) = promise::remaining(group);
        tally.judged(Check::Remaining, judged);
        finding.into_iter().for_each(|finding| tally.found(finding));
    });
    tally.judged(Check::RetryAfter, waits.judged);
    tally.counted(Check::RetryAfter, waits.broken);
    if waits.broken.saturating_mul(TOLERATED) > waits.judged {
        tally.beyond(waits.broken - waits.found.len() as u64);
        waits.found.into_iter().for_each(|finding| tally.keep(finding));
    }
    report.over_admission = over.into_values().collect();
    report.notes = notes(history, book);
    (report.tally, report.steps) = (tally, steps);
    report.settle();
    Ok(report)
}

/// What a leased rule with one set of limits admitted beyond them.
fn measure(
    group: &group::Group<'_>,
    found: &[Option<Excess<'_>>],
    over: &mut BTreeMap<String, OverAdmission>,
) {
    let [Some(excess)] = found else { return };
    if !group.rule.leased {
        return;
    }
    let measured = u64::try_from(excess.stored.max(0)).unwrap_or(u64::MAX);
    let rule = group.rule_name();
    let most = over.entry(rule.to_owned()).or_insert_with(|| OverAdmission {
        rule: rule.to_owned(),
        limit: excess.rate.text.clone(),
        measured: 0,
        bound: excess.bound,
    });
    if measured > most.measured {
        let limit = excess.rate.text.clone();
        *most = OverAdmission { limit, measured, bound: excess.bound, ..most.clone() };
    }
}

/// What is to know about rules and servers.
fn notes(history: &History, book: &Rulebook) -> Vec<String> {
    let mut notes = Vec::new();
    for name in history.rules.texts() {
        let own = book.rules.get(name).into_iter().flat_map(|rule| &rule.notes);
        notes.extend(own.map(|note| format!("rule {name}: {note}")));
    }
    let (seen, nodes) = (history.nodes.len(), book.nodes);
    if seen > nodes as usize {
        notes.push(format!(
            "{seen} nodes answered, and allowances are for {nodes}; say `--nodes {seen}`"
        ));
    }
    let mut versions = history.operations.iter().map(|operation| operation.version);
    if versions.next().is_some_and(|first| versions.any(|version| version != first)) {
        notes.push(
            "several releases decided; all are judged by the limits of this rule file".into(),
        );
    }
    notes
}
