//! What is decided without the shared store: refusals that it made a moment ago, and what this server holds of buckets.
//!
//! Invariant: a request is refused here only if the store would refuse it, and admitted only from units that the store
//! has charged; all limits of a request are decided here, or none is.

use super::Shared;
use crate::algorithm::{Retry, Verdict};
use crate::decision::{Decision, Source};
use crate::key::Who;
use crate::limiter::{Asked, Compiled, Inner};
use crate::store::Charge;
use crate::store::denied::{Said, Times};
use crate::store::lease::Spent;
use crate::store::redis::{Ask, Charged};
use std::sync::Arc;

impl Inner {
    /// The decision of one rule, if it is made here.
    #[inline]
    pub(in crate::limiter) fn near_one(
        self: &Arc<Self>,
        shared: &Shared,
        (rule, who, cost): (&Arc<Compiled>, Who, u64),
    ) -> Option<Decision> {
        if cost == 0 || rule.manner.instance {
            return None;
        }
        let now = self.clock.now();
        let [meter] = &rule.meters[..] else {
            let asked = Asked { rule: Arc::clone(rule), who, cost };
            let decisions = self.near(shared, std::slice::from_ref(&asked), u64::MAX)?;
            return Some(Decision::together(&decisions));
        };
        let charge = Charge::new(meter, who.local, cost);
        if let Some(Said { verdict, refuses: true }) = shared.denied.said(&charge, u64::MAX, now) {
            return Some(charge.decision(verdict, Source::DeniedCache));
        }
        if !rule.leases() {
            return None;
        }
        let spent = shared.leases.spend(charge.bucket(), cost, now)?;
        if spent.renew || rule.is_local() {
            let asked = [Asked { rule: Arc::clone(rule), who, cost }];
            self.spent(shared, &asked, &[spent]);
        }
        Some(spent.decision(&charge))
    }

    /// The decisions of all limits of all rules, if they are made here, for a caller of such patience.
    pub(in crate::limiter) fn near(
        self: &Arc<Self>,
        shared: &Shared,
        rules: &[Asked],
        patience: u64,
    ) -> Option<Vec<Decision>> {
        if rules.iter().any(|asked| asked.cost == 0) {
            return None;
        }
        let now = self.clock.now();
        self.denied(shared, rules, (patience, now)).or_else(|| self.leased(shared, rules, now))
    }

    /// Refuses, if the store would.
    pub(super) fn denied(
        &self,
        shared: &Shared,
        rules: &[Asked],
        (patience, now): (u64, u64),
    ) -> Option<Vec<Decision>> {
        let mut refuses = false;
        let mut decisions = Vec::new();
        for Asked { rule, who, cost } in rules {
            for charge in rule.charges(who.local, *cost) {
                let said = shared.denied.said(&charge, patience, now)?;
                refuses |= said.refuses;
                decisions.push(charge.decision(said.verdict, Source::DeniedCache));
            }
        }
        Some(decisions).filter(|_| refuses)
    }

    /// Admits from what is held of all buckets, if it is enough.
    fn leased(
        self: &Arc<Self>,
        shared: &Shared,
        rules: &[Asked],
        now: u64,
    ) -> Option<Vec<Decision>> {
        if rules.is_empty() || !rules.iter().all(|asked| asked.rule.leases()) {
            return None;
        }
        let each =
            || rules.iter().flat_map(|Asked { rule, who, cost }| rule.charges(who.local, *cost));
        let mut all = Vec::new();
        for charge in each() {
            let Some(spent) = shared.leases.spend(charge.bucket(), charge.cost(), now) else {
                let taken = each().take(all.len());
                taken.for_each(|own| shared.leases.unspend(own.bucket(), own.cost(), now));
                return None;
            };
            all.push(spent);
        }
        self.spent(shared, rules, &all);
        Some(each().zip(&all).map(|(charge, spent)| spent.decision(&charge)).collect())
    }

    /// Sees to what follows from spending: shares that are nearly spent are renewed, and what this server may admit
    /// while the store is away is kept in step.
    fn spent(self: &Arc<Self>, shared: &Shared, rules: &[Asked], all: &[Spent]) {
        self.keep_warm(shared, rules);
        let mut all = all.iter();
        for Asked { rule, who, .. } in rules {
            for (meter, spent) in (0..rule.meters.len()).zip(all.by_ref()) {
                if spent.renew {
                    self.renew_share(shared, rule, *who, meter);
                }
            }
        }
    }

    /// Takes note of what the store has said.
    pub(super) fn note(
        &self,
        shared: &Shared,
        (rules, asks): (&[Asked], &[Ask<'_>]),
        (sent, charged): (u64, &Charged),
    ) {
        if rules.iter().any(|asked| asked.rule.leases()) {
            for (ask, decision) in asks.iter().zip(&charged.decisions) {
                shared.leases.told(ask.charge.bucket(), decision.remaining());
            }
        }
        let is_spent = |decision: &Decision| decision.is_refused() || decision.remaining() == 0;
        if !charged.decisions.iter().any(is_spent) {
            return;
        }
        let times = Times { sent, received: self.clock.now() };
        for (ask, known) in asks.iter().zip(&charged.known) {
            shared.denied.note(&ask.charge, known, times);
        }
    }
}

impl Spent {
    /// Admitted: what remains in the store is at least what it said last.
    #[inline]
    fn decision(&self, charge: &Charge<'_>) -> Decision {
        let Spent { remaining, reset_after, .. } = *self;
        let verdict = Verdict { remaining, reset_after, retry_after: Retry::NOW, more_after: 0 };
        charge.decision(verdict, Source::Lease)
    }
}
