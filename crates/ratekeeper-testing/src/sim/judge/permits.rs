//! Permits: how many are held at an instant.
//!
//! Invariant: a permit counts from its answer until its holder lets it go, its time is over, or its node crashed.

use super::super::history::{Asked, Fault, History};
use super::super::rules::{Counts, HOLD};
use super::super::scenario::{MS, Scenario};
use super::super::server::Left;

/// Rules of which more permits are held than there are.
pub(super) fn too_many(scenario: &Scenario, history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, rule) in scenario.rules.iter().enumerate() {
        let most = rule.releases.iter().map(|figures| figures.amount).max().unwrap_or(0);
        let own = |own: &&Asked| own.rule == number && rule.counts == Counts::Permits;
        let stored: Vec<&Asked> =
            history.asked.iter().filter(own).filter(|own| is_held(own, "store")).collect();
        for asked in &stored {
            // More begin to be held only at an answer.
            let at = asked.answer.map_or(0, |answer| answer.at);
            let held: u64 = stored
                .iter()
                .filter(|own| own.key == asked.key && holds(history, own, at))
                .map(|own| own.cost)
                .sum();
            if held > most * (1 + losses(history, at)) {
                faults.push(format!("{held} of {most} permits are held: {asked:?}"));
            }
        }
    }
    faults
}

fn is_held(asked: &Asked, source: &str) -> bool {
    asked.answer.is_some_and(|answer| answer.passes && answer.source == source)
}

/// Whether a permit is held at an instant for certain.
fn holds(history: &History, asked: &Asked, at: u64) -> bool {
    let from = asked.answer.map_or(u64::MAX, |answer| answer.at);
    let crash = |own: &&super::Episode| own.fault == Fault::Crash && own.start >= asked.at;
    let crashed = history.of_node(asked.node).filter(crash).map(|own| own.start).min();
    let until = (asked.at + HOLD).min(asked.freed.unwrap_or(u64::MAX));
    from <= at && at < until.min(crashed.unwrap_or(u64::MAX))
}

/// How often the server has lost permits that may still be held.
fn losses(history: &History, at: u64) -> u64 {
    let lost = |fault: Fault| {
        matches!(fault, Fault::FlushKeys | Fault::Down(Left::Nothing | Left::Until(_)))
    };
    let recent = history.episodes.iter().filter(|own| lost(own.fault));
    recent.filter(|own| own.start <= at && at <= own.end + HOLD + MS).count() as u64
}
