//! Holds settled later, by the pure functions, against the oracle.
//!
//! Invariant: a hold is found by what the algorithm left behind when it was charged: a window, a time
//! or an arrival. Library and oracle each keep their own mark of it.

use super::account::{Account, Kept, Shape, replace, shapes, small, verdict};
use super::cases;
use super::trace::{Also, Call, Cost, Step, share_of, starts, steps};
use proptest::collection::vec;
use proptest::prelude::*;
use ratekeeper::algorithm::Verdict;
use ratekeeper::algorithm::bucket::Arrival;
use ratekeeper_testing::oracle::{self, Hold};

impl Account {
    /// Where the last charge went.
    fn mark(&self) -> Arrival {
        let tick = match &self.kept {
            Kept::Fixed(_, window) => window.start,
            Kept::Counter(_, windows) => windows.index,
            Kept::Log(_, log) => log.newest().unwrap_or(0),
            Kept::Bucket(_, arrival) => return *arrival,
        };
        Arrival { tick, part: 0 }
    }

    /// Settles a charge of `held` that went to `mark`.
    fn settle(&mut self, now: u64, mark: Arrival, held: u64, actual: u64) -> Verdict {
        let at = mark.tick;
        match &mut self.kept {
            Kept::Fixed(fixed, state) => {
                replace(state, fixed.settle(*state, now, at, held, actual))
            }
            Kept::Counter(counter, state) => {
                replace(state, counter.settle(*state, now, at, held, actual))
            }
            Kept::Bucket(bucket, state) => {
                replace(state, bucket.settle(*state, now, mark, held, actual))
            }
            Kept::Log(algorithm, log) => algorithm.settle(log, now, at, held, actual),
        }
    }
}

/// What a step does with its cost, if it asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Use {
    Ask,
    Reserve,
    /// Settles one of those that are held, at the cost, or at so many times the limit.
    Settle(u8, u64),
}

pub(crate) fn uses(most: usize) -> impl Strategy<Value = Vec<Use>> {
    let times = prop_oneof![5 => Just(0_u64), 1 => 1..4_u64];
    let settle = (any::<u8>(), times).prop_map(|(which, times)| Use::Settle(which, times));
    vec(prop_oneof![2 => Just(Use::Ask), 3 => Just(Use::Reserve), 3 => settle], most)
}

/// What was really used, for a step that settles.
pub(crate) fn actual(cost: &Cost, times: u64, limit: u64, left: u64) -> u64 {
    if times == 0 { cost.units(limit, left) } else { times * limit + 1 }
}

struct Both {
    account: Account,
    oracle: Box<dyn oracle::Holding>,
    holds: Vec<(Arrival, Hold)>,
}

impl Both {
    fn ask(&mut self, now: u64, cost: &Cost, how: Use) -> (Verdict, Verdict) {
        let (limit, left) = (self.oracle.limit(), self.account.remaining(now));
        let units = cost.units(limit, left);
        match how {
            Use::Settle(which, times) if !self.holds.is_empty() => {
                let (mark, hold) = self.holds.remove(usize::from(which) % self.holds.len());
                let actual = actual(cost, times, limit, left);
                let told = self.account.settle(now, mark, hold.cost, actual);
                (told, verdict(oracle::settle(&mut *self.oracle, now, hold, actual)))
            }
            Use::Reserve => {
                let told = self.account.ask(now, units);
                let hold = oracle::reserve(&mut *self.oracle, now, units);
                assert_eq!(told.allowed(), hold.is_some(), "{units} units at {now}");
                self.holds.extend(hold.map(|hold| (self.account.mark(), hold)));
                let told = self.account.see(now, 0);
                (told, verdict(oracle::ask(&mut *self.oracle, now, 0)))
            }
            Use::Ask | Use::Settle(..) => {
                let told = self.account.ask(now, units);
                (told, verdict(oracle::ask(&mut *self.oracle, now, units)))
            }
        }
    }
}

fn compare(shape: Shape, start: u64, steps: &[Step], uses: &[Use]) -> Result<(), TestCaseError> {
    let (account, oracle) = (shape.account(), shape.holding());
    let mut last = account.see(start, 0);
    let (mut both, mut now) = (Both { account, oracle, holds: Vec::new() }, start);
    for (number, (step, how)) in steps.iter().zip(uses).enumerate() {
        now = step.time(now, shape.period, &last);
        let (told, expected) = match &step.call {
            Call::Ask(cost) => both.ask(now, cost, *how),
            Call::Refund(cost) => {
                let units = cost.units(both.oracle.limit(), both.account.remaining(now));
                let told = both.account.refund(now, units);
                (told, verdict(oracle::refund(&mut *both.oracle, now, units)))
            }
            Call::Limit(share) => {
                let limit = share_of(2 * shape.limit(), *share).max(1);
                both.account.change_limit(limit);
                both.oracle.change_limit(limit);
                (both.account.see(now, 0), verdict(oracle::ask(&mut *both.oracle, now, 0)))
            }
        };
        prop_assert_eq!(told, expected, "step {} at {}: {:?}, {:?}", number, now, step, how);
        last = told;
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(8_000))]

    /// Goal: a hold is settled as specified, below and above what it charged, whatever happened since.
    /// Method: random traces of holds that are settled in any order, among requests, refunds and
    /// changes of the limit, with a clock that goes back, against the oracle.
    #[test]
    fn holds_are_settled_as_specified(
        shape in shapes(), start in starts(), steps in steps(40, Also::EVERYTHING), uses in uses(40),
    ) {
        compare(shape, start, &steps, &uses)?;
    }

    /// Goal: the same where every tick is an edge or beside one.
    /// Method: periods of a few ticks.
    #[test]
    fn holds_over_short_periods_are_settled_as_specified(
        shape in small(), start in 0..200_u64, steps in steps(40, Also::EVERYTHING), uses in uses(40),
    ) {
        compare(shape, start, &steps, &uses)?;
    }
}
