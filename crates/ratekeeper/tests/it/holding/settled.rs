//! Reservations through the public interface, against the oracle.
//!
//! Invariant: what a limiter packs into its words, and the receipt by which it finds the charge
//! again, lose nothing.

use crate::laws::{Also, Call, Shape, Step, Use, actual, cases, steps, uses};
use crate::limiter::{figures, limit_of, same, shapes};
use crate::one_key::{OneKey, each, log, one_key, secs};
use proptest::prelude::*;
use ratekeeper::{Decision, Hold, Limit};
use ratekeeper_testing::oracle::{self, Answer, Holding};
use std::time::Duration;

/// One key of a limiter and its oracle, and what is held of both.
struct Pair {
    key: OneKey,
    oracle: Box<dyn Holding>,
    holds: Vec<(Hold, oracle::Hold)>,
    /// A key that is not there has nothing to give back, and nothing is written to it.
    present: bool,
}

impl Pair {
    fn new(shape: Shape) -> Pair {
        let (key, oracle) = (one_key(limit_of(&shape)), shape.holding());
        Pair { key, oracle, holds: Vec::new(), present: false }
    }

    fn call(&mut self, now: u64, step: &Step, how: Use) -> (Decision, Answer) {
        let (limit, left) = (self.oracle.limit(), self.key.peek().remaining());
        match &step.call {
            Call::Ask(cost) => match how {
                Use::Settle(which, times) if !self.holds.is_empty() => {
                    let used = actual(cost, times, limit, left);
                    self.settle(now, usize::from(which), used)
                }
                Use::Reserve => self.reserve(now, cost.units(limit, left)),
                Use::Ask | Use::Settle(..) => {
                    let cost = cost.units(limit, left);
                    let told = self.key.ask(cost);
                    self.present |= told.is_allowed() && cost > 0;
                    (told, oracle::ask(&mut *self.oracle, now, cost))
                }
            },
            Call::Refund(cost) => {
                let units = cost.units(limit, left);
                let told = self.key.rule.refund("alice", units).try_now().unwrap();
                match self.present {
                    true => (told, oracle::refund(&mut *self.oracle, now, units)),
                    false => (told, oracle::ask(&mut *self.oracle, now, 0)),
                }
            }
            // A reload of limits is for the pure laws: here a reservation is dropped, and stays.
            Call::Limit(_) => {
                drop(self.holds.pop());
                (self.key.peek(), oracle::ask(&mut *self.oracle, now, 0))
            }
        }
    }

    fn reserve(&mut self, now: u64, units: u64) -> (Decision, Answer) {
        let hold = self.key.rule.reserve("alice", units).try_now().unwrap();
        let (told, admitted) = (**hold, hold.is_allowed());
        let held = oracle::reserve(&mut *self.oracle, now, units);
        assert_eq!(admitted, held.is_some(), "{units} units");
        self.present |= admitted && units > 0;
        match held {
            Some(held) => {
                self.holds.push((hold, held));
                (told, oracle::ask(&mut *self.oracle, now, 0))
            }
            // Nothing was charged, so settling does nothing.
            None => {
                hold.settle(units + 1).try_now().unwrap();
                (told, oracle::ask(&mut *self.oracle, now, units))
            }
        }
    }

    fn settle(&mut self, now: u64, which: usize, used: u64) -> (Decision, Answer) {
        let (hold, held) = self.holds.remove(which % self.holds.len());
        let cancelled = used == 0;
        match cancelled {
            true => hold.cancel().try_now().unwrap(),
            false => hold.settle(used).try_now().unwrap(),
        }
        self.present |= used > held.cost;
        let expected = match self.present {
            true => oracle::settle(&mut *self.oracle, now, held, used),
            false => oracle::ask(&mut *self.oracle, now, 0),
        };
        (self.key.peek(), expected)
    }
}

proptest! {
    #![proptest_config(cases(6_000))]

    /// Goal: a reservation of a limiter is charged and settled as specified, whatever happens between.
    /// Method: every algorithm with ordinary, odd and very large limits; random traces of reservations
    /// that are settled in any order, cancelled or dropped, among requests and refunds, with a clock
    /// that goes back, against the oracle.
    #[test]
    fn a_reservation_is_settled_as_specified(
        shape in shapes(), steps in steps(40, Also::EVERYTHING), uses in uses(40),
    ) {
        let mut pair = Pair::new(shape);
        let mut now = u64::try_from(pair.key.clock.now().as_micros()).unwrap();
        let mut last = figures(&pair.key.peek());
        for (step, how) in steps.iter().zip(uses) {
            now = step.time(now, shape.period, &last);
            pair.key.clock.set(Duration::from_micros(now));
            let (told, expected) = pair.call(now, step, how);
            same(&told, expected)?;
            last = figures(&told);
        }
    }
}

/// Goal: a reservation that is dropped stays charged, and one that was refused charged nothing.
/// Method: every algorithm; drop both kinds.
#[test]
fn a_dropped_reservation_stays_charged() {
    for (algorithm, key) in each(10, secs(60)) {
        drop(key.rule.reserve("alice", 7).try_now().unwrap());
        assert_eq!(key.peek().remaining(), 3, "{algorithm}");
        let refused = key.rule.reserve("alice", 4).try_now().unwrap();
        assert!(refused.is_refused() && refused.units() == 4, "{algorithm}");
        refused.settle(9).try_now().unwrap();
        assert_eq!(key.peek().remaining(), 3, "{algorithm}");
    }
}

/// Goal: a reservation that outlives its window gives nothing back to the next one.
/// Method: charge at the end of a window, spend in the next, and cancel there; for a counter, two on.
#[test]
fn a_reservation_that_outlived_its_window_gives_nothing_back() {
    for (algorithm, key) in each(10, secs(60)) {
        key.wait(secs(59));
        let hold = key.rule.reserve("alice", 4).try_now().unwrap();
        key.wait(secs(121));
        assert!(key.ask(5).is_allowed());
        hold.cancel().try_now().unwrap();
        assert_eq!(key.peek().remaining(), 5, "{algorithm}");
    }
}

/// Goal: what was used beyond is a debt, of at most one more burst or amount.
/// Method: settle one unit at a thousand: two times ten are used up.
#[test]
fn a_debt_is_at_most_one_more_limit() {
    let bucket = one_key("1/second burst 10");
    bucket.rule.reserve("alice", 1).try_now().unwrap().settle(1_000).try_now().unwrap();
    assert_eq!(bucket.ask(1).retry_after(), Some(secs(11)));
    let log = one_key(log(Limit::per_minute(10)));
    let hold = log.rule.reserve("alice", 1).try_now().unwrap();
    hold.settle(1_000).try_now().unwrap();
    assert_eq!(log.ask(1).retry_after(), Some(secs(60)));
    assert_eq!(log.rule.refund("alice", 15).try_now().unwrap().remaining(), 5);
}
