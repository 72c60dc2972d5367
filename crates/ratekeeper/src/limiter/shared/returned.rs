//! Shares on their way back: what is left over of those that ended, and of all when a server ends.
//!
//! Invariant: one task looks for shares that have ended, while there are any; should its runtime end, the next share
//! starts another.

use super::Shared;
use super::shares::Owner;
use crate::limiter::{Inner, Limiter};
use crate::store::lease::{self, Left};
use crate::store::redis::{Ask, Back};
use crate::sync::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::sleep;

/// How often shares that have ended are looked for.
const SWEEP: Duration = Duration::from_millis(250);

/// How often a server that ends looks whether nothing is on its way any more.
const LOOK: Duration = Duration::from_millis(1);

/// Shares that are given back in one call.
const AT_ONCE: usize = 64;

impl Inner {
    /// Gives back what is left over of shares, without waiting for it.
    pub(super) fn give_shares_back_later(self: &Arc<Self>, left: Vec<Left<Owner>>) {
        if left.is_empty() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let limiter = Arc::clone(self);
        runtime.spawn(async move { limiter.give_shares_back(&left).await });
    }

    async fn give_shares_back(&self, left: &[Left<Owner>]) {
        let Some(shared) = &self.shared else { return };
        for part in left.chunks(AT_ONCE) {
            let each = part.iter().filter_map(|(owner, part)| {
                let (stamp, held) = (part.stamp, part.held);
                let back = Back::Settle { stamp, held, actual: held - part.left.min(held) };
                Some((owner.ask(None)?, back))
            });
            let each: Vec<(Ask<'_>, Back)> = each.collect();
            if let Err(error) = shared.redis.back(&each, self.clock.now()).await {
                self.tell(&error);
            }
        }
    }

    /// Sees to it that what is left over of shares is given back when they end.
    pub(super) fn sweep(self: &Arc<Self>, shared: &Shared) {
        if !shared.sweeps.swap(true, Ordering::AcqRel) {
            tokio::spawn(Sweeping(Arc::downgrade(self)).run());
        }
    }
}

/// The task that looks for shares that have ended, while there are any.
struct Sweeping(Weak<Inner>);

impl Sweeping {
    async fn run(self) {
        loop {
            sleep(SWEEP).await;
            let Some(limiter) = self.0.upgrade() else { return };
            let Some(shared) = &limiter.shared else { return };
            let (left, any) = shared.leases.ended(limiter.clock.now());
            limiter.give_shares_back(&left).await;
            if !any {
                return;
            }
        }
    }
}

impl Drop for Sweeping {
    fn drop(&mut self) {
        let limiter = self.0.upgrade();
        if let Some(shared) = limiter.as_ref().and_then(|limiter| limiter.shared.as_ref()) {
            shared.sweeps.store(false, Ordering::Release);
        }
    }
}

impl Limiter {
    /// Gives back to the shared store what this server has taken of buckets and not spent, and takes no more: before
    /// it ends. Memory has nothing to give back.
    pub async fn drain(&self) {
        if let Some(shared) = &self.0.shared {
            shared.drains.store(true, Ordering::Release);
            // What is on its way is held before it can be given back.
            while shared.wishes.load(Ordering::Acquire) > 0 {
                sleep(LOOK).await;
            }
            self.0.give_shares_back(&shared.leases.end_all()).await;
        }
    }

    /// What leases may admit beyond the limit of a key at most, under each rule that leases: a share for each server.
    pub fn overshoot(&self) -> Vec<(Arc<str>, u64)> {
        let Some(shared) = &self.0.shared else { return Vec::new() };
        let nodes = shared.nodes.count();
        let release = self.0.rules.load();
        let each = release.entries.iter().filter_map(|entry| {
            let leased = entry.live.iter().filter(|rule| rule.leases());
            let bursts = leased.flat_map(|rule| rule.charges(0, 0)).map(|charge| charge.shown());
            let most = bursts.map(|burst| lease::share(burst, nodes)).max()?;
            Some((Arc::clone(&entry.spec.id), most.saturating_mul(u64::from(nodes))))
        });
        each.collect()
    }
}
