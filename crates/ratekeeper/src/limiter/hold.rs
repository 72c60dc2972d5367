//! What is held after a decision: permits, given back when dropped, and reservations, to be settled.
//!
//! Invariants: a permit is given back once, however its holder ends; a reservation that is dropped
//! stays charged.

use super::call::{Answer, NeedsAwait};
use super::{Compiled, Inner, Rule, charges};
use crate::decision::{Decision, Decisions};
use crate::store::{Charge, Receipt};
use std::fmt;
use std::future::IntoFuture;
use std::ops::Deref;
use std::sync::Arc;

/// A request for a permit; see [`Rule::acquire`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct Acquire<'a> {
    pub(super) rule: &'a Rule,
    pub(super) fingerprint: u64,
    pub(super) cost: u64,
}

impl Acquire<'_> {
    /// Units that the request takes.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    /// The permit, without await.
    #[inline]
    pub fn try_now(self) -> Result<Permit, NeedsAwait> {
        Ok(self.run())
    }

    #[inline]
    pub(super) fn run(self) -> Permit {
        let Acquire { rule: Rule { limiter, rule }, fingerprint, cost } = self;
        let [meter] = &rule.meters[..] else { return self.run_several() };
        if meter.hold().is_none() {
            return self.run_several();
        }
        limiter.leases.expire(&limiter.store, || limiter.clock.now());
        let charge = Charge::new(meter, fingerprint, cost);
        let decision = limiter.store.charge(limiter.clock.now(), &charge);
        limiter.observe(rule, &decision, cost);
        let taken = decision.is_allowed() && cost > 0;
        let one = taken.then(|| Receipt::held(&charge, &decision));
        Permit { limiter: Arc::clone(limiter), decision, one, more: Vec::new() }
    }

    fn run_several(self) -> Permit {
        let Acquire { rule: Rule { limiter, rule }, fingerprint, cost } = self;
        let charges: Vec<Charge<'_>> = rule.charges(fingerprint, cost).collect();
        let admitted = limiter.admit(&charges, None);
        let decision = Decision::together(&admitted.decisions);
        limiter.observe(rule, &decision, cost);
        let more = held(&charges, &admitted.receipts);
        Permit { limiter: Arc::clone(limiter), decision, one: None, more }
    }
}

/// Those of the receipts that are for permits.
fn held(charges: &[Charge<'_>], receipts: &[Receipt]) -> Vec<Receipt> {
    let each = charges.iter().zip(receipts).filter(|(charge, _)| charge.hold().is_some());
    each.map(|(_, receipt)| *receipt).collect()
}

/// Units of a concurrency limit, given back when this is dropped: at the end of a scope, in a panic,
/// when a task is cancelled. Reads as the [`Decision`]; if that is a refusal, nothing is held.
#[must_use = "a permit that is dropped is given back at once"]
pub struct Permit {
    limiter: Arc<Inner>,
    decision: Decision,
    one: Option<Receipt>,
    more: Vec<Receipt>,
}

impl Permit {
    /// The decision.
    pub fn decision(&self) -> Decision {
        self.decision
    }
}

impl Deref for Permit {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        self.one.iter().chain(&self.more).for_each(|receipt| self.limiter.store.release(receipt));
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.decision).finish()
    }
}

/// A reservation to be made; see [`Rule::reserve`].
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct Reserve<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) rules: Vec<(Arc<Compiled>, u64)>,
    pub(super) units: u64,
}

impl Reserve<'_> {
    /// The hold, without await.
    pub fn try_now(self) -> Result<Hold, NeedsAwait> {
        Ok(self.run())
    }

    fn run(self) -> Hold {
        let Reserve { limiter, rules, units } = self;
        let charges = charges(&rules, units);
        let admitted = limiter.admit(&charges, None);
        let decisions = limiter.by_rule(&rules, &admitted.decisions, units);
        let permits = held(&charges, &admitted.receipts);
        let receipts = admitted.receipts;
        drop(charges);
        Hold { limiter: Arc::clone(limiter), decisions, rules, receipts, permits, units }
    }
}

impl fmt::Debug for Reserve<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rules.iter().map(|(rule, _)| &*rule.name);
        f.debug_list().entries(names).finish()
    }
}

/// Units that were charged as an estimate. Reads as the [`Decisions`] of its rules; if they refused,
/// nothing is held, and settling does nothing.
///
/// Dropped, it stays charged. What it holds of concurrency limits is given back when it ends in any
/// way.
#[must_use = "a hold that is dropped stays charged; settle or cancel it"]
pub struct Hold {
    limiter: Arc<Inner>,
    decisions: Decisions,
    rules: Vec<(Arc<Compiled>, u64)>,
    /// One for each limit of each rule; none if they refused.
    receipts: Vec<Receipt>,
    permits: Vec<Receipt>,
    units: u64,
}

impl Hold {
    /// Units that were reserved.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Settles it at what was really used.
    ///
    /// What was not used is given back: to the window that was charged, or nowhere once that is
    /// over; to a bucket as far as it has not drained since. What was used beyond is charged without
    /// asking, as a debt of at most one burst, or for a window, one amount. Under a shaping limit a
    /// turn can be given back only while it is the last.
    pub fn settle(self, actual: u64) -> Settle {
        Settle { hold: self, actual }
    }

    /// Gives everything back: settles it at nothing.
    pub fn cancel(self) -> Settle {
        self.settle(0)
    }
}

impl Deref for Hold {
    type Target = Decisions;

    fn deref(&self) -> &Decisions {
        &self.decisions
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.permits.iter().for_each(|receipt| self.limiter.store.release(receipt));
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("units", &self.units)
            .field("decisions", &self.decisions)
            .finish()
    }
}

/// A hold to be settled; see [`Hold::settle`].
#[derive(Debug)]
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct Settle {
    hold: Hold,
    actual: u64,
}

impl Settle {
    /// Settles it, without await.
    pub fn try_now(self) -> Result<(), NeedsAwait> {
        self.run();
        Ok(())
    }

    fn run(self) {
        let Settle { hold, actual } = &self;
        let charges = charges(&hold.rules, hold.units);
        for (charge, receipt) in charges.iter().zip(&hold.receipts) {
            if charge.hold().is_none() {
                hold.limiter.settle(charge, receipt, *actual);
            }
        }
    }
}

/// Awaiting any call runs it.
macro_rules! awaitable {
    ([$($lifetime:lifetime)?] $call:ty, $output:ty) => {
        impl<$($lifetime)?> IntoFuture for $call {
            type Output = $output;
            type IntoFuture = Answer<$output>;

            fn into_future(self) -> Answer<$output> {
                Answer::new(self.run())
            }
        }
    };
}

awaitable!(['a] Acquire<'a>, Permit);
awaitable!(['a] Reserve<'a>, Hold);
awaitable!([] Settle, ());
