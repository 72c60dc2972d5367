//! Whether more was admitted to a key than its limits let pass.
//!
//! A bucket admits its burst and then its rate, in any interval. A sliding log admits its amount in any
//! window; a sliding counter its amount, and for each part of a window as large a part of it; a fixed window
//! its amount between two edges, so twice that in the length of a window, and one amount more for each
//! further one. Invariant: a key is found at fault only if no placing of its decisions within their
//! questions and answers keeps to the limit.

use super::envelope::{Extra, Line, Spend, Worst, worst};
use super::faults::{self, Fault};
use super::group::{Group, is_admitted};
use super::history::{Operation, Source};
use super::limits::Rate;
use super::report::{Check, Finding};
use ratekeeper::Algorithm;

/// The worst of one limit.
pub(super) struct Excess<'a> {
    pub(super) rate: &'a Rate,
    /// Units beyond the limit and what faults allow; without what servers take ahead.
    pub(super) plain: i128,
    /// What servers may have taken ahead.
    pub(super) leased: u64,
    pub(super) worst: Worst,
    /// By shares alone.
    local: bool,
    /// The worst excess over the plain limit of what shares did not admit.
    pub(super) stored: i128,
    /// What leases may add to it.
    pub(super) bound: u64,
}

impl Excess<'_> {
    fn beyond(&self) -> i128 {
        self.plain - i128::from(self.leased)
    }
}

/// The worst of all limits of each set; `None` if nothing was admitted.
pub(super) fn judge<'a>(
    group: &Group<'a>,
    faults: &[Fault],
    nodes: u32,
    steps: &mut u64,
) -> Vec<Option<Excess<'a>>> {
    let spends = spends(group, is_admitted);
    let local = spends_of_shares(group);
    let limit = |rate: &'a Rate, steps: &mut u64| {
        let leased = if group.rule.leased { rate.leased(nodes) } else { 0 };
        let (mut found, mut stored): (Option<Excess<'a>>, i128) = (None, 0);
        let bound = leased;
        let mut note = |worst: Option<Worst>, leased, local| {
            let Some(worst) = worst else { return };
            let plain = worst.excess;
            stored = if local { stored } else { stored.max(plain) };
            let excess = Excess { rate, plain, leased, worst, local, stored: 0, bound };
            if found.as_ref().is_none_or(|most| excess.beyond() > most.beyond()) {
                found = Some(excess);
            }
        };
        for line in lines(rate) {
            let extras = faults::extras(faults, rate, &line, nodes, &spends);
            note(worst(&spends, &line, &extras, steps), leased, false);
        }
        // However many servers there are, rounding their shares up adds less than one unit for each.
        let more = u64::from(nodes.saturating_sub(1));
        let (amount, burst) = (rate.amount + more, rate.burst + more);
        for line in lines(&Rate { amount, burst, ..rate.clone() }) {
            let lost = faults::lost_shares(faults, line.units);
            note(worst(&local, &line, &lost, steps), 0, true);
        }
        if rate.algorithm == Algorithm::FixedWindow && group.history.clock.is_some() {
            let line = Line { units: rate.amount, amount: 0, period: 1, reach: None };
            let extras = faults::extras(faults, rate, &line, nodes, &spends);
            note(aligned(&spends, rate, &extras), leased, false);
        }
        found.map(|excess| Excess { stored, ..excess })
    };
    let set = |rates: &'a Vec<Rate>, steps: &mut u64| {
        let each = rates.iter().filter_map(|rate| limit(rate, steps));
        each.max_by_key(Excess::beyond)
    };
    group.rule.sets.iter().map(|rates| set(rates, steps)).collect()
}

/// What is wrong with a key, if it is at fault under every set: by the set that it broke least.
pub(super) fn finding(group: &Group<'_>, found: &[Option<Excess<'_>>]) -> Option<Finding> {
    let least = found.iter().map(|set| set.as_ref().filter(|excess| excess.beyond() > 0));
    let least = least.collect::<Option<Vec<_>>>()?;
    let excess = least.into_iter().min_by_key(|excess| excess.beyond())?;
    let Worst { from, to, .. } = excess.worst;
    let counts = |operation: &Operation| {
        let (asked, answered) = group.ticks(operation);
        let share = !excess.local || operation.source == Source::Local;
        is_admitted(operation) && share && asked >= from && answered <= to
    };
    let inside = || group.operations.iter().copied().filter(|operation| counts(operation));
    let admitted: u128 = inside().map(|operation| u128::from(operation.cost)).sum();
    let beyond = u128::try_from(excess.beyond()).unwrap_or(0);
    let (first, last) = (inside().next()?, inside().max_by_key(|operation| operation.complete)?);
    let by = if excess.local { "the servers' own shares of " } else { "" };
    Some(Finding {
        limit: Some(format!("{by}{}", excess.rate.text)),
        interval: Some((first.invoke, last.complete)),
        units: Some((admitted, admitted.saturating_sub(beyond))),
        excess: beyond,
        first: Some(first.id),
        last: Some(last.id),
        ..Finding::new(Check::Envelope, group.rule_name(), group.key())
    })
}

fn spends(group: &Group<'_>, counts: impl Fn(&Operation) -> bool) -> Vec<Spend> {
    let each = group.operations.iter().filter(|operation| counts(operation));
    let spend = |operation: &&Operation| {
        let (asked, answered) = group.ticks(operation);
        Spend { asked, answered, cost: operation.cost }
    };
    each.map(spend).collect()
}

fn spends_of_shares(group: &Group<'_>) -> Vec<Spend> {
    spends(group, |operation| is_admitted(operation) && operation.source == Source::Local)
}

/// What a limit admits in any interval.
pub(super) fn lines(rate: &Rate) -> Vec<Line> {
    let Rate { amount, burst, period, .. } = *rate;
    match rate.algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            vec![Line { units: burst, amount, period, reach: None }]
        }
        // What is a window old is out of it.
        Algorithm::SlidingWindowLog => {
            vec![Line { units: amount, amount: 0, period, reach: Some(period - 1) }]
        }
        Algorithm::SlidingWindowCounter => {
            vec![Line { units: amount, amount, period, reach: Some(period) }]
        }
        Algorithm::FixedWindow => vec![
            Line { units: 2 * amount, amount: 0, period, reach: Some(period) },
            Line { units: 2 * amount, amount, period, reach: None },
        ],
    }
}

/// The worst of the windows of the clock: what was both asked and answered in one was decided in it.
fn aligned(spends: &[Spend], rate: &Rate, extras: &[Extra]) -> Option<Worst> {
    let period = i64::try_from(rate.period).unwrap_or(i64::MAX).max(1);
    let window = |tick: i64| tick.div_euclid(period);
    let inside = |spend: &&Spend| window(spend.asked) == window(spend.answered);
    let mut sure: Vec<&Spend> = spends.iter().filter(inside).collect();
    sure.sort_unstable_by_key(|spend| spend.asked);
    let windows = sure.chunk_by(|one, next| window(one.asked) == window(next.asked));
    let judge = |spends: &[&Spend]| {
        let from = spends.iter().map(|spend| spend.asked).min()?;
        let to = spends.iter().map(|spend| spend.answered).max()?;
        let meets = |extra: &&Extra| extra.from <= to && extra.to >= from;
        let sum: i128 = spends.iter().map(|spend| i128::from(spend.cost)).sum();
        let mut excess = sum - i128::from(rate.amount);
        if excess > 0 {
            let more = extras.iter().filter(meets).map(|extra| i128::from(extra.units));
            excess -= more.sum::<i128>();
        }
        Some(Worst { excess, from, to })
    };
    windows.filter_map(judge).max_by_key(|worst| worst.excess)
}
