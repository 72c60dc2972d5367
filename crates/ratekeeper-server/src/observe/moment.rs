//! All counts at a moment, and what happened between two.
//!
//! Invariant: counts only grow, so what lies between two moments is never less than nothing.

use super::histogram::Counts;
use super::{Counted, Observe, Shadowed};
use ratekeeper::{Limiter, MemoryStats, StoreUsage};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// All counts at a moment.
pub(crate) struct Moment {
    pub(crate) up: Duration,
    counted: Vec<Counted>,
    pub(crate) decisions: Counts,
    pub(crate) store: Counts,
    pub(crate) memory: MemoryStats,
}

impl Moment {
    /// What rules did since another moment; those that did nothing are left out.
    pub(crate) fn since(&self, before: &Moment) -> Vec<Counted> {
        let known: HashMap<&str, &Counted> =
            before.counted.iter().map(|own| (&*own.rule, own)).collect();
        let nothing = Counted::default();
        let more = self.counted.iter().map(|own| {
            let last = known.get(&*own.rule).copied().unwrap_or(&nothing);
            Counted {
                rule: Arc::clone(&own.rule),
                allowed: own.allowed - last.allowed,
                refused: own.refused - last.refused,
                delayed: own.delayed - last.delayed,
                near_limit: own.near_limit - last.near_limit,
                shadow_refused: own.shadow_refused - last.shadow_refused,
            }
        });
        more.filter(|own| own.allowed + own.refused + own.shadow_refused > 0).collect()
    }
}

impl Observe {
    /// What each rule decided since the start, and what it did in shadow.
    pub(crate) fn in_shadow(&self) -> Vec<(Counted, Shadowed)> {
        self.rules.rows().iter().map(|row| (row.counted(), row.in_shadow())).collect()
    }

    /// Forgets what was counted in the shadow of other limits than rules have now.
    pub(crate) fn renew_shadows(&self, limiter: &Limiter) {
        self.rules.rows().iter().for_each(|row| row.renew_shadow(limiter));
    }

    /// Whether nobody counts the seconds yet; from now on, somebody does.
    pub(crate) fn begins(&self) -> bool {
        !self.begun.swap(true, Ordering::Relaxed)
    }

    /// All counts at this moment.
    pub(crate) fn moment(&self, limiter: &Limiter) -> Moment {
        Moment {
            up: self.up(),
            counted: self.counted(),
            decisions: self.decision_seconds.counts(),
            store: self.store.seconds.counts(),
            memory: limiter.stats(),
        }
    }

    /// What the shared store says that it holds.
    pub(crate) async fn usage(&self, limiter: &Limiter) -> Option<StoreUsage> {
        self.store.usage(limiter).await
    }

    /// Whether decisions are made without the shared store, and whether a server of it is not asked.
    pub(crate) fn is_degraded(&self, limiter: &Limiter) -> (bool, bool) {
        (self.store.is_degraded(limiter, self.up()), limiter.is_store_open())
    }
}
