//! Law 6, token bucket, leaky bucket and GCRA are one automaton; and rule R9, what a bucket carries
//! over to another rate.
//!
//! Invariant: the three are written out here from their own papers, in whole numbers, each with the
//! state that its paper gives it.

use super::account::{HOUR, MINUTE, SECOND, Shape, TODAY, real, small, verdict};
use super::cases;
use super::trace::{Also, Call, Step, share_of, starts, steps};
use proptest::prelude::*;
use ratekeeper::Algorithm;
use ratekeeper::algorithm::bucket::{Arrival, Bucket};
use ratekeeper_testing::oracle::{self, Oracle};
use std::num::NonZeroU64;

/// Tokens that drip in until the bucket is full. A token is `period` drops.
struct Tokens {
    drops: u128,
    at: u64,
}

impl Tokens {
    fn ask(&mut self, shape: &Shape, now: u64, cost: u64) -> bool {
        let full = u128::from(shape.burst) * u128::from(shape.period);
        let dripped = u128::from(now - self.at) * u128::from(shape.amount);
        (self.drops, self.at) = ((self.drops + dripped).min(full), now);
        let wanted = u128::from(cost) * u128::from(shape.period);
        let enough = wanted <= self.drops;
        self.drops -= if enough { wanted } else { 0 };
        enough
    }
}

/// Water that runs out until the bucket is empty. A request is `period` drops.
struct Water {
    drops: u128,
    at: u64,
}

impl Water {
    fn ask(&mut self, shape: &Shape, now: u64, cost: u64) -> bool {
        let room = u128::from(shape.burst) * u128::from(shape.period);
        let leaked = u128::from(now - self.at) * u128::from(shape.amount);
        (self.drops, self.at) = (self.drops.saturating_sub(leaked), now);
        let poured = self.drops + u128::from(cost) * u128::from(shape.period);
        let fits = poured <= room;
        if fits {
            self.drops = poured;
        }
        fits
    }
}

/// Virtual scheduling: a cell that arrives earlier than its theoretical time less the tolerance does
/// not conform. Time is counted in `amount`-ths of a tick, so that the increment is `period`.
struct Cells {
    theoretical: u128,
}

impl Cells {
    fn ask(&mut self, shape: &Shape, now: u64, cost: u64) -> bool {
        let arrival = u128::from(now) * u128::from(shape.amount);
        let tolerance = u128::from(shape.burst - 1) * u128::from(shape.period);
        let mut theoretical = self.theoretical;
        for _ in 0..cost {
            if theoretical > arrival + tolerance {
                return false;
            }
            theoretical = theoretical.max(arrival) + u128::from(shape.period);
        }
        self.theoretical = theoretical;
        true
    }
}

fn cost_of(step: &Step, shape: &Shape, left: u64) -> u64 {
    match &step.call {
        Call::Ask(cost) => cost.units(shape.burst, left),
        Call::Refund(_) | Call::Limit(_) => 0,
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Goal: token bucket, leaky bucket and GCRA are one thing, decision by decision.
    /// Method: the three of the papers and the library side by side on random traces.
    #[test]
    fn token_bucket_leaky_bucket_and_gcra_decide_alike(
        shape in prop_oneof![small(), real()], start in starts(),
        steps in steps(40, Also::NOTHING),
    ) {
        let shape = Shape { kind: Algorithm::LeakyBucket, burst: shape.burst.min(200), ..shape };
        let full = u128::from(shape.burst) * u128::from(shape.period);
        let mut tokens = Tokens { drops: full, at: start };
        let mut water = Water { drops: 0, at: start };
        let mut cells = Cells { theoretical: 0 };
        let (mut account, mut now) = (shape.account(), start);
        let mut last = account.see(now, 0);
        for step in &steps {
            now = step.time(now, shape.period, &last);
            let cost = cost_of(step, &shape, account.remaining(now));
            last = account.ask(now, cost);
            prop_assert_eq!(last.allowed(), tokens.ask(&shape, now, cost), "token bucket");
            prop_assert_eq!(last.allowed(), water.ask(&shape, now, cost), "leaky bucket");
            prop_assert_eq!(last.allowed(), cells.ask(&shape, now, cost), "GCRA");
            let whole = tokens.drops / u128::from(shape.period);
            prop_assert_eq!(u128::from(last.remaining), whole);
            let empty = water.drops.div_ceil(u128::from(shape.amount));
            prop_assert_eq!(u128::from(last.reset_after), empty);
        }
    }

    /// Goal: a changed rate keeps the units used, rounded up, and at most a full bucket of them.
    /// Method: wear a bucket, carry it over to a random other one, and compare with the oracle.
    #[test]
    fn a_changed_rate_keeps_the_units_used(
        former in prop_oneof![small(), real()], latter in prop_oneof![small(), real()],
        start in starts(), charges in proptest::collection::vec((any::<u16>(), 0..9_u64), 1..8),
    ) {
        let (mut arrival, mut key) = (Arrival::default(), oracle_of(&former));
        let (before, after, mut now) = (bucket(&former), bucket(&latter), start);
        for (share, cost) in charges {
            now += share_of(former.period, share);
            arrival = before.charge(arrival, now, cost).1;
            let _ = oracle::ask(&mut key, now, cost);
        }
        let carried = after.carry(&before, arrival, now);
        let mut expected = key.carry(now, latter.amount, latter.period, latter.burst);
        let (told, _) = after.charge(carried, now, 0);
        prop_assert_eq!(told, verdict(oracle::ask(&mut expected, now, 0)));
        let used = former.burst - before.charge(arrival, now, 0).0.remaining;
        prop_assert_eq!(told.remaining, latter.burst.saturating_sub(used));
    }
}

fn oracle_of(shape: &Shape) -> oracle::Bucket {
    oracle::Bucket::new(shape.amount, shape.period, shape.burst)
}

fn bucket(shape: &Shape) -> Bucket {
    let [amount, period, burst] = [shape.amount, shape.period, shape.burst]
        .map(|value| NonZeroU64::new(value).expect("shapes have no zeros"));
    Bucket::new(amount, period, burst).expect("the shape is within bounds")
}

/// Goal: the same, in numbers that can be read.
/// Method: 25 of 60 used and half a unit regained counts as 25; at 7 per hour with a burst of 30
/// there are 5 left, with a burst of 20 none, and full again in the time of 20 units.
#[test]
fn twenty_five_units_used_are_twenty_five_at_another_rate() {
    let shape = Shape::new(Algorithm::TokenBucket, 60, MINUTE);
    let (charged, arrival) = bucket(&shape).charge(Arrival::default(), TODAY, 25);
    assert_eq!(charged.remaining, 35);
    let now = TODAY + SECOND / 2;

    let slower = Shape { amount: 7, period: HOUR, burst: 30, ..shape };
    let carried = bucket(&slower).carry(&bucket(&shape), arrival, now);
    assert_eq!(bucket(&slower).charge(carried, now, 0).0.remaining, 5);

    let smaller = Shape { burst: 20, ..slower };
    let carried = bucket(&smaller).carry(&bucket(&shape), arrival, now);
    let (told, _) = bucket(&smaller).charge(carried, now, 0);
    assert_eq!((told.remaining, told.reset_after), (0, (20 * HOUR).div_ceil(7)));

    let mut expected = oracle_of(&shape);
    expected.record(TODAY, 25);
    let mut expected = expected.carry(now, 7, HOUR, 20);
    assert_eq!(told, verdict(oracle::ask(&mut expected, now, 0)));
}
