//! What may be admitted of one key under one rule, in any interval.
//!
//! What the store has admitted is held to the rule; what a node has admitted by itself to its share. Faults of the
//! server add what was lost with its state, releases that run side by side a bucket each. Invariant: no allowance
//! without an episode in the interval.

use super::super::history::{Asked, Episode, Fault, History};
use super::super::rules::{Counts, Figures, PERIOD, RulePlan};
use super::super::scenario::{MS, Scenario};
use super::super::server::Left;
use super::super::{EPOCH, STEP};
use std::collections::BTreeMap;

/// Nanoseconds by which the tick of a decision may be off.
const TICK: u64 = 1_000;

/// Something that was admitted: asked, answered, units.
type Admitted = (u64, u64, u64);

/// What is wrong with what was admitted.
pub(super) fn too_much(scenario: &Scenario, history: &History) -> Vec<String> {
    let (mut stored, mut local) = (BTreeMap::new(), BTreeMap::new());
    for asked in &history.asked {
        let Some(answer) = asked.answer.filter(|answer| answer.passes) else { continue };
        let Asked { rule, key, node, life, .. } = *asked;
        let admitted = (asked.at, answer.at, asked.cost);
        match answer.source {
            "store" | "lease" => stored.entry((rule, key)).or_insert_with(Vec::new).push(admitted),
            "local" => local.entry((rule, key, node, life)).or_insert_with(Vec::new).push(admitted),
            _ => {}
        }
    }
    let nodes = scenario.nodes as u64;
    let mut faults = Vec::new();
    let counted = |rule: usize| scenario.rules[rule].counts != Counts::Permits;
    stored.retain(|(rule, _), _| counted(*rule));
    local.retain(|(rule, ..), _| counted(*rule));
    for ((rule, key), mut admitted) in stored {
        admitted.sort_by_key(|(_, answered, _)| *answered);
        let bound = Bound { rule: &scenario.rules[rule], history, shares: 1, node: None, nodes };
        let lost = bound.lost(&admitted);
        let found = bound.worst(&admitted, &lost);
        faults.extend(found.map(|fault| format!("rule-{rule} key-{key} in the store: {fault}")));
    }
    let shares = if scenario.told { nodes } else { 1 };
    for ((rule, key, node, _), mut admitted) in local {
        admitted.sort_by_key(|(_, answered, _)| *answered);
        let bound = Bound { rule: &scenario.rules[rule], history, shares, node: Some(node), nodes };
        let found = bound.worst(&admitted, &[]);
        faults.extend(found.map(|fault| format!("rule-{rule} key-{key} by node {node}: {fault}")));
    }
    faults
}

/// What one rule may admit, in the store or by a node of so many.
struct Bound<'a> {
    rule: &'a RulePlan,
    history: &'a History,
    shares: u64,
    node: Option<usize>,
    nodes: u64,
}

/// Units that the server lost, in which time.
type Lost = (u64, u64, u64);

impl Bound<'_> {
    /// The interval in which too much was admitted, if there is one.
    fn worst(&self, admitted: &[Admitted], lost: &[Lost]) -> Option<String> {
        for (start, _, _) in admitted {
            let mut sum = 0;
            for (asked, end, units) in admitted {
                if asked < start {
                    continue;
                }
                sum += units;
                let most = self.most(*start, *end, lost);
                if u128::from(sum) * u128::from(PERIOD) > most? {
                    return Some(format!(
                        "{sum} units from {start} to {end}, {} µs, at most {}",
                        (end - start) / 1_000,
                        most? / u128::from(PERIOD)
                    ));
                }
            }
        }
        None
    }

    /// The most units in an interval, times the period; `u128::MAX` if it has no bound of its own.
    fn most(&self, start: u64, end: u64, lost: &[Lost]) -> Option<u128> {
        let figures = self.figures(start, end);
        let (amount, burst) = (u128::from(figures.amount), u128::from(figures.burst));
        let (period, time) = (u128::from(PERIOD), u128::from(end - start + TICK));
        let window = |at: u64| (EPOCH.as_nanos() + u128::from(at)) / period;
        let within = match self.rule.counts {
            Counts::Tokens | Counts::Leaky => burst * period + amount * time,
            Counts::Windows if window(start) == window(end) => amount * period,
            Counts::Log if time < period => amount * period,
            Counts::Counter if time < period => amount * (period + time),
            _ => return Some(u128::MAX),
        };
        let own = |(from, to, _): &&Lost| *from <= end && *to >= start;
        let gone: u64 = lost.iter().filter(own).map(|(_, _, units)| units).sum();
        let leases = self.nodes * self.rule.lease(self.nodes);
        Some(within + u128::from(gone + leases) * period + self.side_by_side(start, end, figures))
    }

    /// The largest figures of the releases that nodes may have in an interval.
    fn figures(&self, start: u64, end: u64) -> Figures {
        let mut largest = Figures { amount: 0, burst: 0 };
        for (release, figures) in self.rule.releases.iter().enumerate() {
            let first =
                if release == 0 { Some(0) } else { self.taken(release).map(|(first, _)| first) };
            let last = self.taken(release + 1).map_or(u64::MAX, |(_, last)| last);
            if first.is_some_and(|first| first <= end) && last.saturating_add(20 * MS) >= start {
                largest = largest.or_larger(figures.share(self.shares));
            }
        }
        largest
    }

    /// When a release was taken by the first node, and when by the last.
    fn taken(&self, release: usize) -> Option<(u64, u64)> {
        let own = |own: &&Episode| {
            own.fault == Fault::Release(release)
                && self.node.is_none_or(|node| own.node == Some(node))
        };
        let mut each = self.history.episodes.iter().filter(own).map(|own| own.start);
        let first = each.next()?;
        Some(each.fold((first, first), |(from, to), at| (from.min(at), to.max(at))))
    }

    /// What two releases may admit beside each other, times the period. Buckets of different rates are different
    /// ones; what is brought over from the former leaves it whole for those who still use it.
    fn side_by_side(&self, start: u64, end: u64, figures: Figures) -> u128 {
        if !self.rule.counts.is_bucket() {
            return 0;
        }
        let whole = self.rule.releases.iter().map(|own| own.burst * PERIOD / own.amount).max();
        let mut more = 0;
        for release in 1..self.rule.releases.len() {
            let Some((first, last)) = self.taken(release) else { continue };
            let last = last + whole.unwrap_or(0) + STEP;
            if first <= end && last >= start {
                let time = u128::from(end.min(last) - start.max(first));
                more += u128::from(figures.burst) * u128::from(PERIOD);
                more += u128::from(figures.amount) * time;
            }
        }
        2 * more
    }

    /// What the server lost of what it had admitted, and in which time.
    fn lost(&self, admitted: &[Admitted]) -> Vec<Lost> {
        let most = self.figures(0, u64::MAX - 1);
        let most = if self.rule.counts.is_bucket() { most.burst } else { most.amount };
        let each = self.history.episodes.iter().filter_map(|own| match own.fault {
            Fault::FlushKeys | Fault::Down(Left::Nothing) => Some((own.start, own.end, most)),
            Fault::Down(Left::Until(micros)) => {
                let from = own.start.saturating_sub(micros * 1_000 + STEP);
                let in_it =
                    |(asked, answered, _): &&Admitted| *asked <= own.start && *answered >= from;
                let units: u64 = admitted.iter().filter(in_it).map(|(_, _, units)| units).sum();
                // What was taken for leases is lost, too.
                let leases = self.nodes * self.rule.lease(self.nodes);
                Some((from, own.end, (units + leases).min(most)))
            }
            _ => None,
        });
        each.collect()
    }
}
