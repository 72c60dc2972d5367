//! Shares that are kept in step: what the store admits on a node is charged to the share of that node, too.
//!
//! Both happen at the instant of the answer, by the node's own clock, so the share of a bucket can be worked out
//! exactly; of what happened in one step the kindest order is taken. Invariant: a node admits by itself no more than
//! was left.

use super::super::history::{Fault, History};
use super::super::rules::{Away, Figures, PERIOD};
use super::super::scenario::Scenario;
use std::collections::BTreeMap;

/// A share: what is used of it, times the period, at an instant.
#[derive(Default)]
struct Share {
    used: u128,
    at: u64,
}

impl Share {
    /// Lets it drain up to an instant.
    fn drain(&mut self, at: u64, figures: Figures) {
        // A tick is a microsecond, so a node may see a little more time than passed.
        let passed = u128::from(at - self.at + 1_000) * u128::from(figures.amount);
        (self.used, self.at) = (self.used.saturating_sub(passed), at);
    }
}

/// What nodes admitted by themselves though the store had used their share up.
pub(super) fn cold_shares(scenario: &Scenario, history: &History) -> Vec<String> {
    let mut faults = Vec::new();
    if !scenario.told || scenario.faults.iter().any(|own| matches!(own.fault, Fault::Release(_))) {
        return faults;
    }
    let mut answered: Vec<_> =
        history.asked.iter().filter_map(|own| Some((own, own.answer?))).collect();
    answered.retain(|(asked, answer)| {
        let rule = &scenario.rules[asked.rule];
        answer.passes && rule.counts.is_bucket() && rule.away == Away::Local && !rule.leased
    });
    answered.sort_by_key(|(_, answer)| (answer.at, answer.source != "local"));
    let mut shares: BTreeMap<_, Share> = BTreeMap::new();
    for (asked, answer) in answered {
        let figures = scenario.rules[asked.rule].releases[0].share(scenario.nodes as u64);
        let share = shares.entry((asked.rule, asked.key, asked.node, asked.life)).or_default();
        share.drain(answer.at, figures);
        let full = u128::from(figures.burst) * u128::from(PERIOD);
        let used = share.used + u128::from(asked.cost) * u128::from(PERIOD);
        if answer.source == "local" && used > full {
            faults.push(format!("a share that was used up admits: {asked:?}"));
        }
        // What does not fit takes the whole units that are left.
        let whole = (full - share.used) / u128::from(PERIOD) * u128::from(PERIOD);
        share.used = if used > full { share.used + whole } else { used };
    }
    faults
}
