//! Whether a history is one that a fleet may have.
//!
//! Invariant: what is found to be wrong is wrong, whatever the delays were: only what must have been decided inside of
//! an interval is counted in it, and what is excused was caused by a fault that was there.

mod envelope;
mod needless;
mod outage;
mod permits;
mod warm;

use super::history::{Answer, Asked, Episode, Fault, History};
use super::rules::{Away, RulePlan};
use super::scenario::{MS, Scenario};
use super::{Run, STEP};

/// How long a decision takes at most, and how late a step of the simulation may show it.
const DEADLINE: u64 = 15 * MS;
const SLACK: u64 = 3 * STEP;

/// What is wrong with a run, in words; nothing if all is well.
pub fn judge(scenario: &Scenario, run: &Run) -> Vec<String> {
    let mut faults = Vec::new();
    let history = &run.history;
    for key in &run.immortal {
        faults.push(format!("`{key}` is kept for ever"));
    }
    for (id, asked) in history.asked.iter().enumerate() {
        let found = [
            answered(scenario, history, asked),
            means(&scenario.rules[asked.rule], asked),
            is_whole_at_last(scenario, asked),
            outage::without_reason(history, asked),
        ];
        faults.extend(found.into_iter().flatten().map(|fault| format!("{id}: {fault}: {asked:?}")));
    }
    faults.extend(versions_grow(history));
    faults.extend(outage::slow_while_open(history));
    faults.extend(envelope::too_much(scenario, history));
    faults.extend(permits::too_many(scenario, history));
    faults.extend(warm::cold_shares(scenario, history));
    if scenario.faults.is_empty() {
        faults.extend(needless::refusals(scenario, history));
    }
    faults
}

/// Every request is answered in time, unless its node crashed. While a node is paused, no time passes for it.
fn answered(scenario: &Scenario, history: &History, asked: &Asked) -> Option<String> {
    let own = |fault: Fault| history.of_node(asked.node).filter(move |own| own.fault == fault);
    let Some(answer) = asked.answer else {
        let crashed = own(Fault::Crash).any(|own| own.start >= asked.at);
        let over = asked.at + DEADLINE + SLACK > scenario.end;
        return (!crashed && !over).then(|| "never answered".into());
    };
    let paused = own(Fault::Pause).map(|own| overlap(own, asked.at, answer.at)).sum::<u64>();
    let took = answer.at - asked.at - paused;
    (took > DEADLINE + SLACK).then(|| format!("answered after {} ms", took / MS))
}

/// An answer has the figures of its rule, and comes from where its rule says.
fn means(rule: &RulePlan, asked: &Asked) -> Option<String> {
    let Answer { allowed, passes, source, limit, remaining, .. } = asked.answer?;
    let figures = rule.releases[asked.version as usize - 1];
    let own = if rule.counts.is_bucket() { figures.burst } else { figures.amount };
    let fits = match (source, rule.away) {
        ("store" | "lease" | "denied_cache", _) => {
            limit == own && remaining < own + u64::from(!passes)
        }
        ("local", Away::Local) => limit <= own,
        ("failed_open", Away::Allow) => allowed,
        ("failed_closed", Away::Deny) => !allowed,
        _ => false,
    };
    (!fits).then(|| "not an answer of its rule".into())
}

/// When everything was quiet for long enough, everybody can be charged again, in the store.
fn is_whole_at_last(scenario: &Scenario, asked: &Asked) -> Option<String> {
    let answer = asked.answer.filter(|_| asked.at >= scenario.last)?;
    let whole = answer.passes && !answer.is_degraded();
    (!whole).then(|| "not whole again".into())
}

/// A node never goes back to a release before.
fn versions_grow(history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    let mut newest = std::collections::BTreeMap::new();
    for (id, asked) in history.asked.iter().enumerate() {
        let newest = newest.entry((asked.node, asked.life)).or_insert(0);
        if asked.version < *newest {
            faults.push(format!("{id}: release {} after {newest}: {asked:?}", asked.version));
        }
        *newest = asked.version.max(*newest);
    }
    let taken = history.episodes.iter().filter_map(|own| match own.fault {
        Fault::Release(release) => Some((own.node, own.start, release as u64 + 1)),
        _ => None,
    });
    for (node, at, version) in taken {
        let late =
            |asked: &&Asked| Some(asked.node) == node && asked.at > at && asked.version < version;
        faults.extend(
            history.asked.iter().find(late).map(|own| format!("before release {version}: {own:?}")),
        );
    }
    faults
}

/// How much of a time lies in an episode.
fn overlap(episode: &Episode, start: u64, end: u64) -> u64 {
    episode.end.min(end).saturating_sub(episode.start.max(start))
}

impl History {
    /// What was done to one node alone.
    fn of_node(&self, node: usize) -> impl Iterator<Item = &Episode> {
        self.episodes.iter().filter(move |episode| episode.node == Some(node))
    }

    /// What was done to a node, or to the server.
    fn seen_by(&self, node: usize) -> impl Iterator<Item = &Episode> {
        self.episodes.iter().filter(move |own| own.node.is_none_or(|other| other == node))
    }
}
