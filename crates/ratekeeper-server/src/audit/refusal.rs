//! Whether a key was refused though nothing that it did can have filled the limit.
//!
//! What can have been charged before a refusal is every operation that was asked before the refusal was
//! answered, unless the limit itself refused it. The later a charge is, the more of it still counts, so each
//! is placed in the last tick in which it can have been, but not after the refusal. Nobody knows when the
//! store worked off what was given up (an error, a share, a failed answer): that is placed up to [`LATE`]
//! after it was given up, or after the end of the fault in which that was. The refusal itself has some
//! tick between question and answer: units are counted up to its last one, and drain or leave the window up
//! to its first one only. Servers may have taken units ahead, and whatever was left of those when their time
//! was over may be lost: [`Rate::leased`], once and for each time that a lease lasts.
//!
//! Invariant: each of these errs on the side of more units, so what still does not fill the limit did not.
//! This supposes that keys were unused when the history began, that nobody reset them, and that the clock
//! that limits was not set.

use super::faults::{Fault, sums, upto};
use super::group::{Group, is_refused, is_uncertain};
use super::history::{Operation, Outcome};
use super::limits::{LEASE_TICKS, Rate};
use super::peaks::Peaks;
use super::report::{Check, Finding};
use ratekeeper::Algorithm;

/// How long after it was given up, or after the end of a fault, a call can still reach the store, in ticks.
pub const LATE: u64 = 10_000_000;

/// What may have been charged.
struct Charge {
    asked: i64,
    /// The last tick in which it can have been.
    last: i64,
    cost: u64,
}

/// A refusal.
struct Refusal<'a> {
    operation: &'a Operation,
    asked: i64,
    answered: i64,
    /// The units that were left at least; `None` if they may have been too few.
    left: Option<i128>,
    /// The most that may have been charged.
    most: i128,
    limit: Option<&'a Rate>,
}

/// What is wrong with the refusals of a key, if something is, and how many were judged and are.
pub(super) fn judge(
    group: &Group<'_>,
    faults: &[Fault],
    nodes: u32,
    steps: &mut u64,
) -> (Option<Finding>, u64, u64) {
    let mut refusals: Vec<Refusal<'_>> = Vec::new();
    for operation in group.operations.iter().filter(|operation| is_refused(operation)) {
        let (asked, answered) = group.ticks(operation);
        let left = Some(i128::MAX);
        refusals.push(Refusal { operation, asked, answered, left, most: 0, limit: None });
    }
    if refusals.is_empty() || !group.rule.whole {
        return (None, 0, 0);
    }
    refusals.sort_unstable_by_key(|refusal| refusal.answered);
    let charges = charges(group, faults);
    for rate in group.rule.sets.iter().flatten() {
        let leased = if group.rule.leased { rate.leased(nodes) } else { 0 };
        if rate.algorithm.is_bucket() {
            in_bucket(&charges, &mut refusals, rate, leased, steps);
        } else {
            let aligned = group.history.clock.is_some();
            in_window(&charges, &mut refusals, rate, leased, aligned);
        }
    }
    let judged = refusals.len() as u64;
    refusals.retain(|refusal| refusal.left.is_some());
    let needless = refusals.len() as u64;
    let finding = refusals.first().map(|first| {
        let (limit, most) = (first.limit, u128::try_from(first.most).unwrap_or(0));
        let burst = limit.map_or(u128::MAX, |rate| rate.burst.into());
        let last = refusals.iter().map(|refusal| refusal.operation).max_by_key(|o| o.complete);
        let last = last.unwrap_or(first.operation);
        Finding {
            limit: Some(limit.map_or("unlimited".to_owned(), |rate| rate.text.clone())),
            interval: Some((first.operation.invoke, last.complete)),
            units: limit.map(|_| (most, burst)),
            excess: needless.into(),
            first: Some(first.operation.id),
            last: Some(last.id),
            ..Finding::new(Check::Refusals, group.rule_name(), group.key())
        }
    });
    (finding, judged, needless)
}

fn charges(group: &Group<'_>, faults: &[Fault]) -> Vec<Charge> {
    // Episodes are in the order of their starts: how far those that have begun reach.
    let mut reach = i64::MIN;
    let furthest = faults.iter().map(|fault| {
        reach = reach.max(fault.to);
        (fault.from, reach)
    });
    let furthest: Vec<(i64, i64)> = furthest.collect();
    let may =
        |operation: &&&Operation| operation.outcome == Outcome::Allow || is_uncertain(operation);
    let charge = |operation: &&Operation| {
        let (asked, mut last) = group.ticks(operation);
        if is_uncertain(operation) {
            let begun = furthest.partition_point(|(from, _)| *from <= last);
            let fault = begun.checked_sub(1).and_then(|at| furthest.get(at));
            let end = fault.map_or(last, |(_, to)| *to).max(last);
            last = end.saturating_add_unsigned(LATE);
        }
        Charge { asked, last, cost: operation.cost }
    };
    group.operations.iter().filter(may).map(charge).collect()
}

impl<'a> Refusal<'a> {
    /// Notes that so much may have been charged under a limit, in parts of a unit.
    fn note(&mut self, rate: &'a Rate, most: i128, scale: i128) {
        let free = i128::from(rate.burst) * scale - most - i128::from(self.operation.cost) * scale;
        if free < 0 {
            self.left = None;
        }
        let left = free.div_euclid(scale);
        if self.left.is_some_and(|least| left < least) {
            (self.left, self.most, self.limit) = (Some(left), most.div_euclid(scale), Some(rate));
        }
    }
}

/// A bucket is fullest if what was charged since some instant, less what has drained since, is most.
fn in_bucket<'a>(
    charges: &[Charge],
    refusals: &mut [Refusal<'a>],
    rate: &'a Rate,
    leased: u64,
    steps: &mut u64,
) {
    let scale = i128::from(rate.period);
    let stranded = -(-scale * i128::from(leased)).div_euclid(LEASE_TICKS.into());
    let drain = i128::from(rate.amount) - stranded;
    let ends = charges.iter().map(|charge| charge.last);
    let mut places: Vec<i64> = ends.chain(refusals.iter().map(|r| r.answered)).collect();
    places.sort_unstable();
    places.dedup();
    let bases: Vec<i128> = places.iter().map(|place| drain * i128::from(*place)).collect();
    let mut peaks = Peaks::new(&bases);
    let mut asked: Vec<&Charge> = charges.iter().collect();
    asked.sort_unstable_by_key(|charge| charge.asked);
    let mut asked = asked.into_iter().peekable();
    let mut all = 0;
    for refusal in refusals {
        let end = refusal.answered;
        while let Some(charge) = asked.next_if(|charge| charge.asked <= end) {
            let place = places.partition_point(|place| *place < charge.last);
            let units = i128::from(charge.cost) * scale;
            peaks.add(place, units);
            all += units;
        }
        let upto = places.partition_point(|place| *place <= end);
        let Some(highest) = peaks.highest(0, upto) else { continue };
        let slack = i128::from(rate.amount) * i128::from(end - refusal.asked);
        let level = highest - drain * i128::from(end) + slack;
        // Nothing drains that was not charged; what was taken ahead and lost is beside that.
        let level = if leased == 0 { level.min(all) } else { level };
        refusal.note(rate, level + i128::from(leased) * scale, scale);
    }
    *steps += peaks.steps;
}

/// A window is fullest if everything that can be in it is.
fn in_window<'a>(
    charges: &[Charge],
    refusals: &mut [Refusal<'a>],
    rate: &'a Rate,
    leased: u64,
    aligned: bool,
) {
    let scale = i128::from(rate.period);
    let period = i64::try_from(rate.period).unwrap_or(i64::MAX).max(1);
    let asked = sums(charges.iter().map(|charge| (charge.asked, charge.cost)));
    let ended = Ended::new(charges);
    for refusal in refusals {
        let (first, last) = (refusal.asked, refusal.answered);
        // What was asked by the end of the refusal, and can have been charged at this tick or later.
        let since = |from: i64| (upto(&asked, last) - upto(&ended.costs, from - 1)) as i128;
        let edge = first.div_euclid(period) * period;
        let same_window = aligned && last < edge.saturating_add(period);
        let (most, windows) = match rate.algorithm {
            Algorithm::FixedWindow if aligned => (since(edge) * scale, 1),
            Algorithm::SlidingWindowCounter if same_window => {
                let before = ended.between(edge.saturating_sub(period), edge - 1);
                (since(edge) * scale + before * (scale - i128::from(first - edge)), 2)
            }
            Algorithm::SlidingWindowCounter => {
                // Wherever the edges are: in the window before, the less the older.
                let (old, older) = (first - period, first.saturating_sub(2 * period));
                let before = ended.weighted(older + 1, old, first)
                    + 2 * scale * ended.between(older + 1, old);
                (since(old + 1) * scale + before, 2)
            }
            _ => (since(first - period + 1) * scale, 1),
        };
        let times = 1 + (windows * rate.period).div_ceil(LEASE_TICKS);
        let ahead = i128::from(leased) * i128::from(times) * scale;
        refusal.note(rate, most + ahead, scale);
    }
}

/// Sums of charges by the last tick in which they can have been.
struct Ended {
    costs: Vec<(i64, u128)>,
    /// Of each cost times its tick.
    moments: Vec<(i64, i128)>,
}

impl Ended {
    fn new(charges: &[Charge]) -> Ended {
        let mut ends: Vec<(i64, u64)> = charges.iter().map(|c| (c.last, c.cost)).collect();
        ends.sort_unstable();
        let mut sum = 0;
        let moments = ends.iter().map(|(last, cost)| {
            sum += i128::from(*cost) * i128::from(*last);
            (*last, sum)
        });
        Ended { moments: moments.collect(), costs: sums(ends.into_iter()) }
    }

    /// The units that ended from one tick to another.
    fn between(&self, from: i64, to: i64) -> i128 {
        (upto(&self.costs, to) - upto(&self.costs, from - 1)) as i128
    }

    /// The same, each times its distance to a tick, less than 0 if it was before.
    fn weighted(&self, from: i64, to: i64, tick: i64) -> i128 {
        let upto = |time: i64| {
            let count = self.moments.partition_point(|(each, _)| *each <= time);
            count.checked_sub(1).and_then(|last| self.moments.get(last)).map_or(0, |(_, sum)| *sum)
        };
        upto(to) - upto(from - 1) - i128::from(tick) * self.between(from, to)
    }
}
