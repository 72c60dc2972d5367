//! What comes back to a shared store: refunds, resets, settled reservations, turns and permits.
//!
//! Invariant: what cannot be given back because the store is away stays charged, and permits then end
//! with their time.

use super::{Permits, Shared, asks};
use crate::decision::Decision;
use crate::limiter::call::Action;
use crate::limiter::hold::{merged, settled};
use crate::limiter::{Asked, Inner};
use crate::name::PermitId;
use crate::store::Receipt;
use crate::store::redis::{Ask, Back};
use std::sync::Arc;
use tokio::runtime::Handle;

impl Inner {
    /// Refunds or forgets what a key has used.
    pub(in crate::limiter) async fn change_shared(
        self: &Arc<Self>,
        shared: &Shared,
        rule: &Asked,
        action: Action,
    ) -> Decision {
        let back = |ask: &Ask<'_>| match action {
            Action::Reset => Back::Forget,
            Action::Refund(units) if ask.charge.hold().is_none() => Back::Refund(units),
            _ => Back::Release(0),
        };
        let rules = std::slice::from_ref(rule);
        let asks = asks(rules, 0);
        let mut each: Vec<_> = asks.iter().map(|ask| (*ask, back(ask))).collect();
        if let Action::Reset = action {
            let formers = asks.iter().flat_map(|ask| ask.formers(self.clock.now()));
            each.extend(formers.map(|former| (former, Back::Forget)));
        }
        let reset = matches!(action, Action::Reset);
        let done = shared.redis.back(&each, self.clock.now()).await;
        self.forget_near(shared, &asks, reset);
        match done {
            Ok(done) => {
                self.change_shares(shared, rules, action);
                let done = done.into_iter().take(asks.len()).map(|(_, decision)| decision);
                Decision::together(&done.collect::<Vec<_>>())
            }
            Err(error) => {
                self.tell(&error);
                self.change_shares(shared, rules, action);
                Decision::together(
                    &self.admit_without(shared, rules, u64::MAX, Permits::Here).decisions,
                )
            }
        }
    }

    /// The same with this server's own share.
    fn change_shares(&self, shared: &Shared, rules: &[Asked], action: Action) {
        for Asked { rule, who, .. } in shared.shares(&self.secret, rules) {
            let _ = match action {
                Action::Refund(units) => self.refund(&rule, who.local, units),
                _ => self.reset(&rule, who.local),
            };
        }
    }

    /// Settles charges at what was really used.
    pub(in crate::limiter) async fn settle_shared(
        &self,
        shared: &Shared,
        rules: &[Asked],
        receipts: &[Receipt],
        actual: u64,
    ) {
        let asks = asks(rules, 0);
        let mut each: Vec<(Ask<'_>, Back)> = Vec::new();
        let settled = settled(rules, actual);
        for (index, count) in merged(receipts) {
            let (ask, receipt) = (asks[index], receipts[index].times(count));
            if ask.charge.hold().is_none() && settled[index] {
                let (held, actual) = (receipt.units(), actual.saturating_mul(count));
                each.push((ask, Back::Settle { stamp: receipt.stamp(), held, actual }));
            }
        }
        if !each.is_empty()
            && let Err(error) = shared.redis.back(&each, self.clock.now()).await
        {
            self.tell(&error);
        }
        self.forget_near(shared, &asks, false);
    }

    /// The same, without waiting for it.
    pub(in crate::limiter) fn settle_later(
        self: &Arc<Self>,
        rules: Vec<Asked>,
        receipts: Vec<Receipt>,
        actual: u64,
    ) {
        let Ok(runtime) = Handle::try_current() else { return };
        let limiter = Arc::clone(self);
        runtime.spawn(async move {
            if let Some(shared) = &limiter.shared {
                limiter.settle_shared(shared, &rules, &receipts, actual).await;
            }
        });
    }

    /// Gives back a turn that nobody waits for any more, and what goes with it, without waiting for it.
    pub(in crate::limiter) fn leave_turn(
        self: &Arc<Self>,
        rules: Vec<Asked>,
        receipts: Vec<Receipt>,
        permit: Option<PermitId>,
    ) {
        let Ok(runtime) = Handle::try_current() else { return };
        let limiter = Arc::clone(self);
        runtime.spawn(async move {
            let Some(shared) = &limiter.shared else { return };
            limiter.leave_shared(shared, &rules, &receipts).await;
            if let Some(permit) = permit {
                limiter.release_shared(shared, permit).await;
            }
        });
    }

    /// Gives a turn back, if it is still the last.
    async fn leave_shared(&self, shared: &Shared, rules: &[Asked], receipts: &[Receipt]) {
        let asks = asks(rules, 0);
        let shaped = asks.iter().zip(receipts).filter(|(ask, _)| ask.charge.pace().is_some());
        let each: Vec<_> = shaped
            .map(|(ask, receipt)| {
                (*ask, Back::Settle { stamp: receipt.stamp(), held: receipt.units(), actual: 0 })
            })
            .collect();
        if let Err(error) = shared.redis.back(&each, self.clock.now()).await {
            self.tell(&error);
        }
        self.forget_near(shared, &asks, false);
    }

    /// Gives a permit by name back.
    pub(in crate::limiter) async fn release_shared(
        &self,
        shared: &Shared,
        permit: PermitId,
    ) -> bool {
        match shared.redis.release(permit.0.get(), self.clock.now()).await {
            Ok(released) => released,
            Err(error) => {
                self.tell(&error);
                false
            }
        }
    }
}
