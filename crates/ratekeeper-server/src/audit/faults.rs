//! What faults may add to what is admitted.
//!
//! | name of the episode | what may be admitted beside the limit, if an interval meets the episode |
//! |---------------------|--------------------------------------------------------------------------|
//! | `state_lost`        | one burst: what was counted before is forgotten                          |
//! | `failover`          | what was admitted in the second before it, at most one burst             |
//! | `split_brain`       | as much as the limit admits, once more, in the time they have in common  |
//! | `local`             | what all shares of the servers admit in the time they have in common     |
//! | any other           | nothing                                                                  |
//!
//! Invariant: what a correct store or server can add is allowed. Servers go to their shares, and back, one
//! by one, so shares and store may both be used during `local`: what the store admitted is within the limit,
//! what shares admitted is within the shares. Episodes that meet the same interval add up.

use super::envelope::{Extra, Line, Spend};
use super::history::History;
use super::limits::Rate;

/// How long before a failover what was admitted may be lost, in ticks.
const LAG: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    StateLost,
    Failover,
    SplitBrain,
    Local,
    Other,
}

/// An episode, in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    kind: Kind,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// The episodes of a history, in the order of their starts.
pub(super) fn faults(history: &History) -> Vec<Fault> {
    let fault = |episode: &super::Episode| Fault {
        kind: match &*episode.name {
            "state_lost" => Kind::StateLost,
            "failover" => Kind::Failover,
            "split_brain" => Kind::SplitBrain,
            "local" => Kind::Local,
            _ => Kind::Other,
        },
        from: history.first_tick(episode.start),
        to: history.last_tick(episode.end.max(episode.start)),
    };
    let mut faults: Vec<Fault> = history.episodes.iter().map(fault).collect();
    faults.sort_by_key(|fault| fault.from);
    faults
}

/// The shares of all servers, together.
pub(super) fn shares(units: u64, nodes: u32) -> u64 {
    let nodes = u64::from(nodes.max(1));
    nodes.saturating_mul(units.div_ceil(nodes))
}

/// What the faults allow beside a line, to a key that spent this.
pub(super) fn extras(
    faults: &[Fault],
    rate: &Rate,
    line: &Line,
    nodes: u32,
    spends: &[Spend],
) -> Vec<Extra> {
    let mut lost: Option<Lost> = None;
    let mut extras = Vec::new();
    for fault in faults {
        let (units, amount) = match fault.kind {
            Kind::Other => continue,
            Kind::StateLost => (rate.burst, 0),
            Kind::Failover => {
                let lost = lost.get_or_insert_with(|| Lost::new(spends));
                (lost.before(fault.from).min(rate.burst.into()) as u64, 0)
            }
            Kind::SplitBrain => (line.units, line.amount),
            Kind::Local => (shares(line.units, nodes), shares(line.amount, nodes)),
        };
        extras.push(Extra { from: fault.from, to: fault.to, units, amount });
    }
    extras
}

/// The same for what servers admitted by their shares alone: only their memory can be lost.
pub(super) fn lost_shares(faults: &[Fault], units: u64) -> Vec<Extra> {
    let lost = faults.iter().filter(|fault| fault.kind == Kind::StateLost);
    lost.map(|fault| Extra { from: fault.from, to: fault.to, units, amount: 0 }).collect()
}

/// Units that may have been admitted shortly before an instant.
struct Lost {
    asked: Vec<(i64, u128)>,
    answered: Vec<(i64, u128)>,
}

impl Lost {
    fn new(spends: &[Spend]) -> Lost {
        Lost {
            asked: sums(spends.iter().map(|spend| (spend.asked, spend.cost))),
            answered: sums(spends.iter().map(|spend| (spend.answered, spend.cost))),
        }
    }

    fn before(&self, instant: i64) -> u128 {
        let first = instant.saturating_sub_unsigned(LAG);
        upto(&self.asked, instant) - upto(&self.answered, first.saturating_sub(1))
    }
}

/// Sums of costs, up to each time.
pub(super) fn sums(costs: impl Iterator<Item = (i64, u64)>) -> Vec<(i64, u128)> {
    let mut costs: Vec<(i64, u64)> = costs.collect();
    costs.sort_unstable();
    let mut sum = 0;
    let add = |(time, cost)| {
        sum += u128::from(cost);
        (time, sum)
    };
    costs.into_iter().map(add).collect()
}

/// The sum up to a time, itself included.
pub(super) fn upto(sums: &[(i64, u128)], time: i64) -> u128 {
    let count = sums.partition_point(|(each, _)| *each <= time);
    count.checked_sub(1).and_then(|last| sums.get(last)).map_or(0, |(_, sum)| *sum)
}
