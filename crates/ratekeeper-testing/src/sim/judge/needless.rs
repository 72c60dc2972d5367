//! Refusals that nothing explains.
//!
//! Invariant: a refusal is found needless only if it fits even where everything that may have been charged by then
//! was, as late as it may have been.

use super::super::EPOCH;
use super::super::history::{Asked, History};
use super::super::rules::{Counts, PERIOD, RulePlan};
use super::super::scenario::Scenario;

/// Refusals by the store that were not needed, in a run without faults.
pub(super) fn refusals(scenario: &Scenario, history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    for asked in history.asked.iter().filter(|own| own.answer.is_some_and(|own| !own.allowed)) {
        let same = |own: &&Asked| own.rule == asked.rule && own.key == asked.key;
        let others: Vec<&Asked> = history.asked.iter().filter(same).collect();
        if fits(&scenario.rules[asked.rule], asked, &others) {
            faults.push(format!("refused, though it fits: {asked:?}"));
        }
    }
    faults
}

/// Whether a request fits beside everything that may have been charged before it.
fn fits(rule: &RulePlan, asked: &Asked, others: &[&Asked]) -> bool {
    let Some(answer) = asked.answer else { return false };
    let figures = rule.releases[0];
    // When each may have been charged at the latest, and how much.
    let charged = |own: &&&Asked| own.at <= answer.at && own.answer.is_none_or(|own| own.passes);
    let late = |own: &&Asked| (own.answer.map_or(u64::MAX, |answer| answer.at), own.cost);
    let charges: Vec<(u64, u64)> = others.iter().filter(charged).map(late).collect();
    let since = |from: u64| -> u64 {
        charges.iter().filter(|(at, _)| *at >= from).map(|(_, units)| units).sum()
    };
    match rule.counts {
        // What others hold may be stranded.
        _ if rule.leased => false,
        Counts::Permits => false,
        Counts::Tokens | Counts::Leaky => charges.iter().all(|(from, _)| {
            let drained = u128::from(asked.at.saturating_sub(*from)) * u128::from(figures.amount);
            let level = u128::from(since(*from) + asked.cost) * u128::from(PERIOD);
            level <= u128::from(figures.burst) * u128::from(PERIOD) + drained
        }),
        Counts::Windows => {
            let over = (EPOCH.as_nanos() as u64 + asked.at) % PERIOD;
            since(asked.at.saturating_sub(over)) + asked.cost <= figures.amount
        }
        Counts::Log => since(asked.at.saturating_sub(PERIOD)) + asked.cost <= figures.amount,
        Counts::Counter => {
            since(asked.at.saturating_sub(2 * PERIOD)) + asked.cost <= figures.amount
        }
    }
}
