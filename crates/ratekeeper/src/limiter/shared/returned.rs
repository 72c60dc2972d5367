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
use futures_util::future::join_all;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::sleep;

/// How often shares that have ended are looked for.
const SWEEP: Duration = Duration::from_millis(250);

/// How often a server that ends looks whether nothing is on its way any more.
const LOOK: Duration = Duration::from_millis(1);

/// Shares that are given back in one call, and calls that are under way at the same time.
const AT_ONCE: usize = 64;
const BESIDE: usize = 8;

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
        let each = left.iter().filter_map(|(owner, part)| {
            let (stamp, held) = (part.stamp, part.held);
            let back = Back::Settle { stamp, held, actual: held - part.left.min(held) };
            Some((owner.ask(None)?, back))
        });
        let each: Vec<(Ask<'_>, Back)> = each.collect();
        // In a cluster each may be on another server: they go by themselves, a few at a time.
        let size = if shared.redis.is_cluster() { 1 } else { AT_ONCE };
        let calls: Vec<&[(Ask<'_>, Back)]> = each.chunks(size).collect();
        for some in calls.chunks(BESIDE) {
            let now = self.clock.now();
            let done = join_all(some.iter().map(|call| shared.redis.back(call, now))).await;
            done.iter().filter_map(|done| done.as_ref().err()).for_each(|error| self.tell(error));
        }
    }

    /// Sees to it that what is left over of shares is given back when they end.
    pub(super) fn sweep(self: &Arc<Self>, shared: &Shared) {
        if !shared.sweeps.swap(true, Ordering::AcqRel) {
            tokio::spawn(Sweeping { limiter: Arc::downgrade(self), ended: false }.run());
        }
    }
}

/// The task that looks for shares that have ended, while there are any.
struct Sweeping {
    limiter: Weak<Inner>,
    ended: bool,
}

impl Sweeping {
    async fn run(mut self) {
        loop {
            sleep(SWEEP).await;
            let Some(limiter) = self.limiter.upgrade() else { return };
            let Some(shared) = &limiter.shared else { return };
            let left = shared.leases.ended(limiter.clock.now());
            limiter.give_shares_back(&left).await;
            if shared.leases.is_empty() {
                // Whoever comes now starts another; or came before, and is seen here.
                shared.sweeps.store(false, Ordering::SeqCst);
                if shared.leases.is_empty() || shared.sweeps.swap(true, Ordering::SeqCst) {
                    self.ended = true;
                    return;
                }
            }
        }
    }
}

impl Drop for Sweeping {
    fn drop(&mut self) {
        let limiter = self.limiter.upgrade().filter(|_| !self.ended);
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
            let leased = entry.all().filter(|rule| rule.leases());
            let bursts = leased.flat_map(|rule| rule.charges(0, 0)).map(|charge| charge.shown());
            let most = bursts.map(|burst| lease::share(burst, nodes)).max()?;
            Some((Arc::clone(&entry.spec.id), most.saturating_mul(u64::from(nodes))))
        });
        each.collect()
    }
}
