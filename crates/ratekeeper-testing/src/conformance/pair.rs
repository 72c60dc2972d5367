//! One key of a store and its oracle beside it, on one clock.
//!
//! Invariant: every call is made to both, and every figure of both answers is the same.

use super::figures::Figures;
use super::shapes::{Dice, Shape};
use super::stand::Stand;
use crate::oracle::{self, Holding};
use ratekeeper::algorithm::NOW_MAX;
use ratekeeper::{Decision, Hold, Rule};

pub(super) struct Pair<'a> {
    stand: &'a Stand,
    rule: Rule,
    key: String,
    shape: Shape,
    oracle: Box<dyn Holding>,
    holds: Vec<(Hold, oracle::Hold)>,
    /// The last answer.
    last: Figures,
    /// Where this is in its trace, for who reads that it failed.
    step: u64,
}

impl<'a> Pair<'a> {
    pub(super) async fn new(stand: &'a Stand, rule: Rule, key: String, shape: Shape) -> Pair<'a> {
        let last = Figures::of(&rule.peek(&key).await);
        let (oracle, holds) = (shape.oracle(), Vec::new());
        Pair { stand, rule, key, shape, oracle, holds, last, step: 0 }
    }

    fn same(&mut self, what: &str, told: &Decision, expected: oracle::Answer) -> Figures {
        let told = Figures::of(told);
        let (shape, key, step, now) = (self.shape, &self.key, self.step, self.stand.now());
        assert_eq!(
            told,
            Figures::expected(expected),
            "{what}, step {step} of {key}, {shape:?} at {now}"
        );
        self.last = told;
        told
    }

    /// Moves the clock on, and tells by how much at most it may.
    fn pass(&mut self, ticks: u64) {
        self.stand.wait(ticks.min(NOW_MAX - self.stand.now()));
    }

    pub(super) async fn ask(&mut self, cost: u64) -> Figures {
        let told = self.rule.check(&self.key).cost(cost).await;
        let expected = oracle::ask(&mut *self.oracle, self.stand.now(), cost);
        self.same(&format!("check {cost}"), &told, expected)
    }

    async fn refund(&mut self, units: u64) {
        let told = self.rule.refund(&self.key, units).await;
        let expected = oracle::refund(&mut *self.oracle, self.stand.now(), units);
        self.same(&format!("refund {units}"), &told, expected);
    }

    /// Forgets the key, and with it what is reserved.
    async fn reset(&mut self) {
        self.holds.clear();
        self.oracle = self.shape.oracle();
        let told = self.rule.reset(&self.key).await;
        let expected = oracle::ask(&mut *self.oracle, self.stand.now(), 0);
        self.same("reset", &told, expected);
    }

    async fn reserve(&mut self, units: u64) {
        let now = self.stand.now();
        let hold = self.rule.reserve(&self.key, units).await;
        let told = **hold;
        let expected = match oracle::reserve(&mut *self.oracle, now, units) {
            Some(held) => {
                self.holds.push((hold, held));
                oracle::ask(&mut *self.oracle, now, 0)
            }
            None => {
                // Nothing was charged, so settling it does nothing.
                hold.settle(units + 1).await;
                oracle::ask(&mut *self.oracle, now, units)
            }
        };
        self.same(&format!("reserve {units}"), &told, expected);
    }

    async fn settle(&mut self, which: u64, actual: u64) {
        let which = usize::try_from(which).expect("a small number") % self.holds.len();
        let (hold, held) = self.holds.remove(which);
        match actual {
            0 => hold.cancel().await,
            _ => hold.settle(actual).await,
        }
        let expected = oracle::settle(&mut *self.oracle, self.stand.now(), held, actual);
        let told = self.rule.peek(&self.key).await;
        self.same(&format!("settle {} at {actual}", held.cost), &told, expected);
    }

    /// A random call at a random time: requests, refunds and resets.
    pub(super) async fn any_step(&mut self, dice: &mut Dice) {
        self.step += 1;
        self.pass(dice.step(self.shape.period, self.last.retry_after, self.reset_after()));
        let cost = dice.cost(self.last.limit, self.last.remaining);
        match dice.below(16) {
            0 | 1 => self.refund(cost).await,
            2 => self.reset().await,
            _ => {
                self.ask(cost).await;
            }
        }
    }

    /// The same with reservations, settled in any order, below, at and above what they charged.
    pub(super) async fn any_step_with_holds(&mut self, dice: &mut Dice) {
        let cost = dice.cost(self.last.limit, self.last.remaining);
        match dice.below(8) {
            0..3 => self.reserve(cost).await,
            3..6 if !self.holds.is_empty() => {
                self.pass(dice.step(self.shape.period, self.last.retry_after, self.reset_after()));
                let which = dice.below(16);
                let held =
                    self.holds[usize::try_from(which).expect("small") % self.holds.len()].1.cost;
                let actual = [0, held / 2, held, held + 1, cost, 2 * self.last.limit + 1];
                self.settle(which, dice.pick(&actual)).await;
            }
            6 => {
                // One that is dropped stays charged.
                self.holds.pop();
            }
            _ => self.any_step(dice).await,
        }
    }

    fn reset_after(&self) -> u64 {
        self.last.reset_after.expect("a rate")
    }

    /// Uses up what there is, then sees that a refusal is over when it said, and not a tick earlier.
    pub(super) async fn keeps_its_promise(&mut self, dice: &mut Dice) {
        self.step += 1;
        while self.ask(self.last.remaining.max(1)).await.allowed {}
        let cost = match dice.below(3) {
            0 => 1,
            1 => self.last.limit,
            _ => 1 + dice.below(self.last.limit),
        };
        let wait = self.ask(cost).await.retry_after.expect("it is used up");
        if self.stand.now() + wait > NOW_MAX {
            return;
        }
        self.pass(wait - 1);
        assert_eq!(self.ask(cost).await.retry_after, Some(1), "a tick early");
        self.pass(1);
        assert!(self.ask(cost).await.allowed, "at its time");
        self.pass(dice.below(2 * self.shape.period));
    }
}
