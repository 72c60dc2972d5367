//! What is held after a decision: permits, given back when dropped, and reservations, to be settled.
//!
//! Invariants: a permit is given back once, however its holder ends; a reservation that is dropped
//! stays charged.

use super::call::{Answer, NeedsAwait, awaitable};
use super::holds::ByName;
#[cfg(feature = "redis")]
use super::shared::{Backing, Permits, Shared};
use super::{Compiled, Inner, Rule, charges};
use crate::decision::{Decision, Decisions};
use crate::key::Who;
use crate::store::memory::Memory;
use crate::store::{Charge, Receipt};
use std::fmt;
use std::future::IntoFuture;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;

/// A request for a permit; see [`Rule::acquire`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct Acquire<'a> {
    pub(super) rule: &'a Rule,
    pub(super) who: Who,
    pub(super) cost: u64,
}

impl<'a> Acquire<'a> {
    /// Units that the request takes.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    /// The permit, without await.
    #[inline]
    pub fn try_now(self) -> Result<Permit<'a>, NeedsAwait> {
        self.rule.limiter.not_shared()?;
        Ok(self.run())
    }

    fn limiter(&self) -> &Arc<Inner> {
        &self.rule.limiter
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> Permit<'a> {
        let Acquire { rule: Rule { limiter, rule }, who, cost } = self;
        let rules = [(Arc::clone(rule), who)];
        let admitted = limiter.admit_shared(shared, &rules, cost, u64::MAX, Permits::Here).await;
        let decision = Decision::together(&admitted.decisions);
        let held = match admitted.backing {
            _ if admitted.receipts.is_empty() || cost == 0 => Held::Nothing,
            Backing::Memory(own) => Held::Several(held(&charges(&own, cost), &admitted.receipts)),
            Backing::Shared(id) => {
                limiter.keep_shared(shared, id, &rules, cost);
                Held::Shared(id)
            }
        };
        let permit = Permit { limiter: Handle::Borrowed(limiter), decision, held };
        limiter.observe(rule, &decision, cost);
        permit
    }

    #[inline]
    pub(super) fn run(self) -> Permit<'a> {
        let Acquire { rule: Rule { limiter, rule }, who: Who { local: fingerprint, .. }, cost } =
            self;
        let [meter] = &rule.meters[..] else { return self.run_several() };
        if meter.hold().is_none() {
            return self.run_several();
        }
        limiter.end_names();
        let charge = Charge::new(meter, fingerprint, cost);
        let decision = limiter.store.acquire(|| limiter.clock.now(), &charge);
        let taken = decision.is_allowed() && cost > 0;
        let held = if taken { Held::One(charge.bucket(), cost) } else { Held::Nothing };
        let permit = Permit { limiter: Handle::Borrowed(limiter), decision, held };
        limiter.observe(rule, &decision, cost);
        permit
    }

    fn run_several(self) -> Permit<'a> {
        let Acquire { rule: Rule { limiter, rule }, who: Who { local: fingerprint, .. }, cost } =
            self;
        let charges: Vec<Charge<'_>> = rule.charges(fingerprint, cost).collect();
        let admitted = limiter.admit(&charges, None);
        let decision = Decision::together(&admitted.decisions);
        let held = Held::Several(held(&charges, &admitted.receipts));
        let permit = Permit { limiter: Handle::Borrowed(limiter), decision, held };
        limiter.observe(rule, &decision, cost);
        permit
    }
}

/// Those of the receipts that are for permits.
fn held(charges: &[Charge<'_>], receipts: &[Receipt]) -> Vec<Receipt> {
    let each = charges.iter().zip(receipts).filter(|(charge, _)| charge.hold().is_some());
    each.map(|(_, receipt)| *receipt).collect()
}

fn release(store: &Memory, permits: &[Receipt]) {
    permits.iter().for_each(|receipt| store.release(receipt.bucket(), receipt.units()));
}

/// Units of a concurrency limit, given back when this is dropped: at the end of a scope, in a panic,
/// when a task is cancelled. Reads as the [`Decision`]; if that is a refusal, nothing is held.
///
/// It borrows the rule, which costs nothing; [`into_owned`](Permit::into_owned) makes one that can go
/// into another task or the body of an answer.
#[must_use = "a permit that is dropped is given back at once"]
pub struct Permit<'a> {
    limiter: Handle<'a>,
    decision: Decision,
    held: Held,
}

/// Sharing the count of a limiter's owners would take as long as all else, on several cores.
enum Handle<'a> {
    Borrowed(&'a Arc<Inner>),
    Owned(Arc<Inner>),
}

/// What a permit gives back.
enum Held {
    Nothing,
    /// So many units of a bucket.
    One(u64, u64),
    Several(Vec<Receipt>),
    /// What has this identity in the shared store.
    #[cfg(feature = "redis")]
    Shared(u64),
}

impl Permit<'_> {
    /// The decision.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// The same permit, without the rule that it was taken from.
    pub fn into_owned(mut self) -> Permit<'static> {
        let held = mem::replace(&mut self.held, Held::Nothing);
        Permit { limiter: Handle::Owned(Arc::clone(self.limiter())), decision: self.decision, held }
    }

    #[inline]
    fn limiter(&self) -> &Arc<Inner> {
        match &self.limiter {
            Handle::Borrowed(limiter) => limiter,
            Handle::Owned(limiter) => limiter,
        }
    }
}

impl Deref for Permit<'_> {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        let limiter = self.limiter();
        match &self.held {
            Held::Nothing => {}
            Held::One(bucket, units) => limiter.store.release(*bucket, *units),
            Held::Several(receipts) => release(&limiter.store, receipts),
            #[cfg(feature = "redis")]
            Held::Shared(id) => {
                if let Some(shared) = &limiter.shared {
                    limiter.let_go_shared(shared, *id);
                }
            }
        }
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.decision).finish()
    }
}

/// A reservation to be made; see [`Rule::reserve`].
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct Reserve<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) rules: Vec<(Arc<Compiled>, Who)>,
    pub(super) units: u64,
}

impl<'a> Reserve<'a> {
    /// The same, known by a name, for callers outside of this process: to be settled by
    /// [`Limiter::settle`](super::Limiter::settle), on whichever server shares the store.
    pub fn by_name(self) -> ByName<'a> {
        ByName(self)
    }

    /// The hold, without await.
    pub fn try_now(self) -> Result<Hold, NeedsAwait> {
        self.limiter.not_shared()?;
        Ok(self.run())
    }

    fn limiter(&self) -> &Arc<Inner> {
        self.limiter
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> Hold {
        let Reserve { limiter, rules, units } = self;
        let admitted = limiter.admit_shared(shared, &rules, units, u64::MAX, Permits::Here).await;
        let decisions = limiter.by_rule(&rules, &admitted.decisions, units);
        let (limiter, receipts) = (Arc::clone(limiter), admitted.receipts);
        let (rules, permit) = match admitted.backing {
            Backing::Memory(own) => (own, None),
            Backing::Shared(id) => {
                if !receipts.is_empty() && units > 0 {
                    limiter.keep_shared(shared, id, &rules, units);
                }
                (rules, Some(id))
            }
        };
        Hold { limiter, decisions, rules, receipts, units, permit }
    }

    pub(super) fn run(self) -> Hold {
        let Reserve { limiter, rules, units } = self;
        let charges = charges(&rules, units);
        let admitted = limiter.admit(&charges, None);
        drop(charges);
        let (limiter, decisions) = (Arc::clone(limiter), Decisions::new(Vec::new()));
        let mut hold = Hold {
            limiter,
            decisions,
            rules,
            receipts: admitted.receipts,
            units,
            #[cfg(feature = "redis")]
            permit: None,
        };
        // Should the observer panic, the hold is there to give its permits back.
        hold.decisions = hold.limiter.by_rule(&hold.rules, &admitted.decisions, units);
        hold
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
    pub(super) decisions: Decisions,
    pub(super) rules: Vec<(Arc<Compiled>, Who)>,
    /// One for each limit of each rule; none if they refused.
    pub(super) receipts: Vec<Receipt>,
    units: u64,
    /// If it is in the shared store, the identity of its permits.
    #[cfg(feature = "redis")]
    permit: Option<u64>,
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
    /// turn can be given back only while it is the last, and where somebody waits in line, settling
    /// changes nothing.
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
        #[cfg(feature = "redis")]
        if let (Some(id), Some(shared)) = (self.permit, &self.limiter.shared) {
            return self.limiter.let_go_shared(shared, id);
        }
        self.limiter.release_all(&self.rules, &self.receipts);
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
        self.hold.limiter.not_shared()?;
        self.run();
        Ok(())
    }

    fn limiter(&self) -> &Arc<Inner> {
        &self.hold.limiter
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) {
        let Settle { hold, actual } = &self;
        match hold.permit {
            Some(_) => {
                hold.limiter.settle_shared(shared, &hold.rules, &hold.receipts, *actual).await;
            }
            None => self.run(),
        }
    }

    fn run(self) {
        let Settle { hold, actual } = &self;
        hold.limiter.settle_all(&hold.rules, &hold.receipts, *actual);
    }
}

impl Inner {
    /// Gives back what is held of concurrency limits.
    pub(super) fn release_all(&self, rules: &[(Arc<Compiled>, Who)], receipts: &[Receipt]) {
        release(&self.store, &held(&charges(rules, 0), receipts));
    }

    /// Settles what rules were charged at what was really used. Permits are not settled.
    pub(super) fn settle_all(
        &self,
        rules: &[(Arc<Compiled>, Who)],
        receipts: &[Receipt],
        actual: u64,
    ) {
        let charges = charges(rules, 0);
        for (index, count) in merged(receipts) {
            if charges[index].hold().is_none() {
                let actual = actual.saturating_mul(count);
                self.settle(&charges[index], &receipts[index].times(count), actual);
            }
        }
    }
}

/// The same key under the same rule, asked more than once, was one charge: the first of each, and of how
/// many.
pub(super) fn merged(receipts: &[Receipt]) -> Vec<(usize, u64)> {
    let mut merged: Vec<(usize, u64)> = Vec::with_capacity(receipts.len());
    for (index, receipt) in receipts.iter().enumerate() {
        match merged.iter_mut().find(|(first, _)| receipts[*first].is_beside(receipt)) {
            Some((_, count)) => *count += 1,
            None => merged.push((index, 1)),
        }
    }
    merged
}

awaitable!(['a 'a] Acquire<'a>, Permit<'a>);
awaitable!(['a 'a] Reserve<'a>, Hold);
awaitable!(['static] Settle, ());
