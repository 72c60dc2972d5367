//! What is decided while the store is away: each rule does what it was told.
//!
//! Invariant: whatever a server admits by itself is charged to its share, which is kept in step while the store is
//! there.

use super::{Admitted, Backing, Permits, Shared, asks};
use crate::decision::{Decision, Source};
use crate::limiter::{Asked, Inner, OnStoreFailure, charges};
use crate::store::redis::{Outcome, StoreError};

impl Inner {
    /// What is decided where it has not.
    pub(super) fn failed(
        &self,
        shared: &Shared,
        rules: &[Asked],
        (patience, permits): (u64, Permits),
        error: &StoreError,
    ) -> Admitted {
        self.tell(error);
        match error.class().policy().decision {
            Outcome::Outage => self.admit_without(shared, rules, patience, permits),
            Outcome::Refused => {
                let asks = asks(rules, patience);
                Admitted::nowhere(asks.iter().map(|ask| ask.charge.refused()).collect())
            }
        }
    }

    /// Decides without the store: each rule does what it was told.
    pub(super) fn admit_without(
        &self,
        shared: &Shared,
        rules: &[Asked],
        patience: u64,
        permits: Permits,
    ) -> Admitted {
        let own = shared.shares(&self.secret, rules);
        let denies = |asked: &Asked| asked.rule.manner.on_store_failure == OnStoreFailure::Deny;
        let denied = rules.iter().any(denies);
        let mut charges = charges(&own);
        if denied {
            charges.iter_mut().for_each(|charge| *charge = charge.peek());
        }
        if patience == 0 {
            charges.iter_mut().for_each(|charge| *charge = charge.until(0));
        }
        let admitted = match permits {
            Permits::ByName => self.admit_by_name(&charges, None),
            Permits::Here | Permits::Reserved => self.admit(&charges, None),
        };
        drop(charges);
        let mut local = admitted.decisions.iter();
        let mut decisions = Vec::new();
        for Asked { rule, cost, .. } in rules {
            for _ in &rule.meters {
                decisions.push(match rule.manner.on_store_failure {
                    OnStoreFailure::Allow => Decision::FAILED_OPEN,
                    OnStoreFailure::Deny if *cost == 0 => Decision::FAILED_OPEN,
                    OnStoreFailure::Deny => Decision::FAILED_CLOSED,
                    OnStoreFailure::Local => {
                        local.next().map_or(Decision::FAILED_OPEN, |decision| Decision {
                            source: Source::Local,
                            ..*decision
                        })
                    }
                });
            }
        }
        let receipts = if denied { Vec::new() } else { admitted.receipts };
        Admitted { decisions, receipts, backing: Backing::Memory(own) }
    }

    /// Charges what the store admitted to this server's own share, so that it is in step if the store
    /// goes away. What does not fit has used the share up.
    pub(super) fn keep_warm(&self, shared: &Shared, rules: &[Asked]) {
        if !rules.iter().any(|asked| asked.cost > 0 && asked.is_local()) {
            return;
        }
        let (own, now) = (shared.shares(&self.secret, rules), self.clock.now());
        for charge in charges(&own).iter().filter(|charge| charge.hold().is_none()) {
            let warm = self.store.charge(now, charge);
            if warm.is_refused() && warm.remaining() > 0 {
                let _ = self.store.charge(now, &charge.for_units(warm.remaining()));
            }
        }
    }
}
