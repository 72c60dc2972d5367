//! Whether the limiter can do its work at this moment: one decision, made as any other is.
//!
//! Invariant: the canary is a key and a rule of its own, so that no caller's bucket is touched, and no
//! observer is told of it as a decision.

use super::{Asked, Inner, Limiter};
use crate::decision::Decision;
use crate::limit::Limit;
use crate::limiter::compile::{Manner, OnStoreFailure, compile};
use std::sync::Arc;

/// The rule and the key of the canary: no rule has a space in its name.
const NAME: &str = "canary of readiness";

/// What the canary may take: more than anybody asks for.
const RATE: u64 = 1_000_000;

/// Whether requests can be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// As they should be.
    Well,
    /// The shared store is away, and every rule admits by itself, or a share.
    Degraded,
    /// The shared store is away, and a rule refuses until it is back.
    Refusing,
}

impl Limiter {
    /// Decides a request that nobody sent, in the store where all others are decided.
    pub async fn canary(&self) -> Health {
        let Some(asked) = self.0.canary() else { return Health::Well };
        if !self.0.decide_canary(&asked).await.is_without_figures() {
            return Health::Well;
        }
        let release = self.0.rules.load();
        match release.denying().any(|spec| self.0.is_enforced(spec)) {
            true => Health::Refusing,
            false => Health::Degraded,
        }
    }

    /// Whether a shared store is not asked for now, because it failed.
    #[cfg(feature = "redis")]
    pub fn is_store_open(&self) -> bool {
        self.0.shared.as_ref().is_some_and(|shared| shared.redis.is_open())
    }

    /// What a shared store says that it holds; `None` if there is none, or if it does not say.
    #[cfg(feature = "redis")]
    pub async fn store_usage(&self) -> Option<crate::StoreUsage> {
        let shared = self.0.shared.as_ref()?;
        shared.redis.usage().await.ok()
    }
}

impl Inner {
    fn canary(&self) -> Option<Asked> {
        let limit = Limit::per_second(RATE).build().ok()?;
        let manner = Manner { on_store_failure: OnStoreFailure::Deny, ..Manner::default() };
        let rule = Arc::new(compile(&self.secret, &NAME.into(), &[limit], &manner));
        Some(Asked { rule, who: self.secret.who(NAME), cost: 1 })
    }

    async fn decide_canary(self: &Arc<Self>, asked: &Asked) -> Decision {
        #[cfg(feature = "redis")]
        if let Some(shared) = &self.shared {
            let permits = super::shared::Permits::ByName;
            let rules = std::slice::from_ref(asked);
            let admitted = self.admit_shared(shared, rules, 0, permits).await;
            return Decision::together(&admitted.decisions);
        }
        self.charge_at(self.clock.now(), &asked.rule, asked.who.local, asked.cost)
    }
}
