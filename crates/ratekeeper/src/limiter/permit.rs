//! Permits: units of a concurrency limit, held in this process.
//!
//! Invariant: a permit is given back once, however its holder ends.

use super::answer::{Answer, NeedsAwait, awaitable};
#[cfg(feature = "redis")]
use super::shared::{Backing, Permits, Shared};
#[cfg(feature = "redis")]
use super::{Asked, charges};
use super::{Inner, Rule};
use crate::decision::Decision;
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
        self.limiter().not_shared()?;
        Ok(self.run())
    }

    fn limiter(&self) -> &Arc<Inner> {
        &self.rule.limiter
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> Permit<'a> {
        let Acquire { rule: Rule { limiter, rule }, who, cost } = self;
        if rule.manner.instance {
            return self.run();
        }
        let rules = [Asked { rule: Arc::clone(rule), who, cost }];
        let admitted = limiter.admit_shared(shared, &rules, u64::MAX, Permits::Here).await;
        let decision = Decision::together(&admitted.decisions);
        let held = match admitted.backing {
            _ if admitted.receipts.is_empty() || cost == 0 => Held::Nothing,
            Backing::Memory(own) => Held::Several(held(&charges(&own), &admitted.receipts)),
            Backing::Shared(id) => {
                limiter.keep_shared(shared, id, &rules);
                Held::Shared(id)
            }
        };
        let permit = Permit { limiter: Handle::Borrowed(limiter), decision, held };
        limiter.observe(rule, who.local, &decision, cost);
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
        limiter.observe(rule, fingerprint, &decision, cost);
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
        limiter.observe(rule, fingerprint, &decision, cost);
        permit
    }
}

/// Those of the receipts that are for permits.
pub(super) fn held(charges: &[Charge<'_>], receipts: &[Receipt]) -> Vec<Receipt> {
    let each = charges.iter().zip(receipts).filter(|(charge, _)| charge.hold().is_some());
    each.map(|(_, receipt)| *receipt).collect()
}

pub(super) fn release(store: &Memory, permits: &[Receipt]) {
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

awaitable!(['a 'a] Acquire<'a>, Permit<'a>);
