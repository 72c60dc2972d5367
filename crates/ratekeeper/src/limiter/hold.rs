//! Reservations: charged as an estimate, to be settled at the true price.
//!
//! Invariants: one that is dropped stays charged; what it holds of concurrency limits is given back
//! once, however it ends.

use super::answer::{Answer, NeedsAwait, awaitable};
use super::holds::ByName;
use super::permit::{held, release};
#[cfg(feature = "redis")]
use super::shared::{Backing, Permits, Shared};
use super::{Asked, Inner, charges};
use crate::decision::Decisions;
use crate::few::Few;
use crate::store::Receipt;
use std::fmt;
use std::future::IntoFuture;
use std::ops::Deref;
use std::sync::Arc;

/// A reservation to be made; see [`Rule::reserve`](super::Rule::reserve).
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct Reserve<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) rules: Vec<Asked>,
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
        self.limiter().not_shared()?;
        Ok(self.run())
    }

    fn limiter(&self) -> &Arc<Inner> {
        self.limiter
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> Hold {
        // Rules that each server counts by itself have no other place than this one.
        if self.rules.iter().all(|asked| asked.rule.manner.instance) {
            return self.run();
        }
        let Reserve { limiter, rules, units } = self;
        let admitted = limiter.admit_shared(shared, &rules, u64::MAX, Permits::Here).await;
        let receipts = admitted.receipts;
        let (own, permit) = match admitted.backing {
            Backing::Memory(own) => (own, None),
            Backing::Shared(id) => {
                if !receipts.is_empty() && units > 0 {
                    limiter.keep_shared(shared, id, &rules);
                }
                (rules.clone(), Some(id))
            }
        };
        let mut hold = Hold::new(limiter, own, receipts);
        (hold.units, hold.permit) = (units, permit);
        // Should the observer panic, the hold is there to give its permits back.
        hold.decisions = hold.limiter.by_rule(&rules, &admitted.decisions);
        hold
    }

    pub(super) fn run(self) -> Hold {
        let Reserve { limiter, rules, units } = self;
        let admitted = limiter.admit(&charges(&rules), None);
        let mut hold = Hold::new(limiter, rules, admitted.receipts);
        hold.units = units;
        // Should the observer panic, the hold is there to give its permits back.
        hold.decisions = hold.limiter.by_rule(&hold.rules, &admitted.decisions);
        hold
    }
}

impl fmt::Debug for Reserve<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rules.iter().map(|asked| &**asked.rule.id());
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
    pub(super) rules: Vec<Asked>,
    /// One for each limit of each rule; none if they refused.
    pub(super) receipts: Vec<Receipt>,
    pub(super) units: u64,
    /// If it is in the shared store, the identity of its permits.
    #[cfg(feature = "redis")]
    pub(super) permit: Option<u64>,
}

impl Hold {
    /// Of what was charged in memory, with nothing said about it yet.
    pub(super) fn new(limiter: &Arc<Inner>, rules: Vec<Asked>, receipts: Vec<Receipt>) -> Hold {
        Hold {
            limiter: Arc::clone(limiter),
            decisions: Decisions::new(Few::default(), 0),
            rules,
            receipts,
            units: 0,
            #[cfg(feature = "redis")]
            permit: None,
        }
    }

    /// Whether something of a concurrency limit is held, to be given back at the end.
    pub(super) fn has_permits(&self) -> bool {
        let gives = |asked: &Asked| asked.rule.meters.iter().any(|meter| meter.hold().is_some());
        !self.receipts.is_empty() && self.rules.iter().any(gives)
    }

    /// Settles those of the rules that `actual` has a figure for.
    pub(super) fn settle_each(&self, actual: impl Fn(&Asked) -> Option<u64>) {
        let mut receipts = &self.receipts[..];
        for asked in &self.rules {
            let Some((own, others)) = receipts.split_at_checked(asked.rule.meters.len()) else {
                return;
            };
            receipts = others;
            if let Some(actual) = actual(asked) {
                self.settle_one(asked, own, actual);
            }
        }
    }

    /// Settles one rule; in a shared store without waiting for it.
    fn settle_one(&self, asked: &Asked, receipts: &[Receipt], actual: u64) {
        let rules = std::slice::from_ref(asked);
        #[cfg(feature = "redis")]
        if self.permit.is_some() {
            return self.limiter.settle_later(rules.to_vec(), receipts.to_vec(), actual);
        }
        self.limiter.settle_all(rules, receipts, actual);
    }

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
        self.limiter().not_shared()?;
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
    pub(super) fn release_all(&self, rules: &[Asked], receipts: &[Receipt]) {
        release(&self.store, &held(&charges(rules), receipts));
    }

    /// Settles what rules were charged at what was really used. Permits are not settled.
    pub(super) fn settle_all(&self, rules: &[Asked], receipts: &[Receipt], actual: u64) {
        let charges = charges(rules);
        let settled = settled(rules, actual);
        for (index, count) in merged(receipts) {
            if charges[index].hold().is_none() && settled[index] {
                let actual = actual.saturating_mul(count);
                self.settle(&charges[index], &receipts[index].times(count), actual);
            }
        }
    }
}

/// For each limit of each rule, whether it is settled: of rules some of which take estimates, only those,
/// unless all is given back.
pub(super) fn settled(rules: &[Asked], actual: u64) -> Vec<bool> {
    let all = actual == 0 || !rules.iter().any(|asked| asked.rule.manner.metered);
    let each = rules.iter().flat_map(|asked| {
        let settled = all || asked.rule.manner.metered;
        std::iter::repeat_n(settled, asked.rule.meters.len())
    });
    each.collect()
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

awaitable!(['a 'a] Reserve<'a>, Hold);
awaitable!(['static] Settle, ());
