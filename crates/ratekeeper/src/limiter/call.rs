//! Calls: described first, run when awaited or when [`try_now`](Check::try_now) is called.
//!
//! Invariant: a call that is dropped has done nothing.

use super::answer::{Answer, NeedsAwait, awaitable};
#[cfg(feature = "redis")]
use super::shared::{Permits, Shared};
use super::{Asked, Inner, Rule};
use crate::decision::{Decision, Decisions};
use crate::key::Who;
use crate::name::PermitId;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Charge(u64),
    Peek,
    Refund(u64),
    Reset,
}

/// A call on one key; see [`Rule`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct Call<'a> {
    pub(super) rule: &'a Rule,
    pub(super) who: Who,
    pub(super) action: Action,
}

impl Call<'_> {
    /// The answer, without await.
    pub fn try_now(self) -> Result<Decision, NeedsAwait> {
        self.limiter().not_shared()?;
        Ok(self.run())
    }

    fn limiter(&self) -> &Arc<Inner> {
        &self.rule.limiter
    }

    /// What is decided here, though the store is shared.
    #[cfg(feature = "redis")]
    fn near(&self, shared: &Shared) -> Option<Decision> {
        let Call { rule: Rule { limiter, rule }, who, action } = self;
        let Action::Charge(cost) = *action else { return None };
        let decision = limiter.near_one(shared, (rule, *who, cost))?;
        limiter.observe(rule, who.local, &decision, cost);
        Some(decision)
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> Decision {
        let Call { rule: Rule { limiter, rule }, who, action } = self;
        if rule.manner.instance {
            return self.run();
        }
        let asked = |cost| Asked { rule: Arc::clone(rule), who, cost };
        match action {
            // Whether it is decided here was looked at before.
            Action::Charge(cost) => charge_far(limiter, shared, asked(cost)).await,
            Action::Peek => charge_far(limiter, shared, asked(0)).await,
            Action::Refund(_) | Action::Reset => {
                limiter.change_shared(shared, &asked(0), action).await
            }
        }
    }

    #[inline]
    fn run(self) -> Decision {
        let Call { rule: Rule { limiter, rule }, who: Who { local: fingerprint, .. }, action } =
            self;
        match action {
            Action::Charge(cost) => limiter.charge(rule, fingerprint, cost),
            Action::Peek => limiter.charge(rule, fingerprint, 0),
            Action::Refund(units) => limiter.refund(rule, fingerprint, units),
            Action::Reset => limiter.reset(rule, fingerprint),
        }
    }
}

/// A request of one key; see [`Rule::check`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a check does nothing unless it is awaited, or run by `try_now`"]
pub struct Check<'a>(pub(super) Call<'a>);

impl Check<'_> {
    /// Units that the request takes. 0 looks without charging.
    pub fn cost(mut self, cost: u64) -> Self {
        self.0.action = Action::Charge(cost);
        self
    }

    /// The decision, without await.
    #[inline]
    pub fn try_now(self) -> Result<Decision, NeedsAwait> {
        self.limiter().not_shared()?;
        Ok(self.run())
    }

    #[inline]
    fn run(self) -> Decision {
        self.0.run()
    }

    fn limiter(&self) -> &Arc<Inner> {
        self.0.limiter()
    }

    #[cfg(feature = "redis")]
    fn near(&self, shared: &Shared) -> Option<Decision> {
        self.0.near(shared)
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> Decision {
        self.0.run_shared(shared).await
    }
}

/// Requests of many keys under one rule; see [`Rule::check_many`].
#[derive(Clone, Debug)]
#[must_use = "a check does nothing unless it is awaited, or run by `try_now`"]
pub struct CheckMany<'a> {
    pub(super) rule: &'a Rule,
    pub(super) keys: Vec<Who>,
    pub(super) cost: u64,
}

impl CheckMany<'_> {
    /// Units that each request takes.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    /// The decisions, in the order of the keys, without await.
    pub fn try_now(self) -> Result<Vec<Decision>, NeedsAwait> {
        self.limiter().not_shared()?;
        Ok(self.run())
    }

    fn limiter(&self) -> &Arc<Inner> {
        &self.rule.limiter
    }

    /// In parts, so that not all calls that may be under way are these.
    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> Vec<Decision> {
        let Rule { limiter, rule } = self.rule;
        if rule.manner.instance {
            return self.run();
        }
        let mut decisions = Vec::with_capacity(self.keys.len());
        for part in self.keys.chunks(AT_ONCE) {
            let each = part.iter().map(|who| async {
                let asked = Asked { rule: Arc::clone(rule), who: *who, cost: self.cost };
                charge_one(limiter, shared, asked).await
            });
            decisions.extend(futures_util::future::join_all(each).await);
        }
        decisions
    }

    fn run(self) -> Vec<Decision> {
        self.rule.limiter.charge_each(&self.rule.rule, &self.keys, self.cost)
    }
}

/// One request under several rules; see [`Limiter::check_all`](super::Limiter::check_all).
#[must_use = "a check does nothing unless it is awaited, or run by `try_now`"]
pub struct CheckAll<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) rules: Vec<Asked>,
}

impl CheckAll<'_> {
    /// Units that the request takes under each rule.
    pub fn cost(mut self, cost: u64) -> Self {
        self.rules.iter_mut().for_each(|asked| asked.cost = cost);
        self
    }

    /// The decision, without await.
    pub fn try_now(self) -> Result<Decisions, NeedsAwait> {
        self.limiter().not_shared()?;
        Ok(self.run())
    }

    fn limiter(&self) -> &Arc<Inner> {
        self.limiter
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> Decisions {
        let CheckAll { limiter, rules } = &self;
        if rules.iter().any(|asked| asked.rule.manner.instance) {
            return limiter.check_near_and_far(self.rules).await;
        }
        if let Some(decisions) = limiter.near(shared, rules, u64::MAX) {
            return limiter.by_rule(rules, &decisions);
        }
        let admitted = limiter.admit_far(shared, rules, u64::MAX, Permits::ByName).await;
        limiter.by_rule(rules, &admitted.decisions)
    }

    fn run(self) -> Decisions {
        self.limiter.charge_all(&self.rules)
    }
}

impl fmt::Debug for CheckAll<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rules.iter().map(|asked| &**asked.rule.id());
        f.debug_list().entries(names).finish()
    }
}

/// A permit by name to be given back; see [`Limiter::release`](super::Limiter::release).
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct ReleasePermit<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) permit: PermitId,
}

impl ReleasePermit<'_> {
    /// Whether there was such a permit, without await.
    pub fn try_now(self) -> Result<bool, NeedsAwait> {
        self.limiter().not_shared()?;
        Ok(self.run())
    }

    fn run(self) -> bool {
        self.limiter.end_names();
        self.limiter.leases.release(&self.limiter.store, self.permit)
    }

    fn limiter(&self) -> &Arc<Inner> {
        self.limiter
    }

    #[cfg(feature = "redis")]
    async fn run_shared(self, shared: &Shared) -> bool {
        let ReleasePermit { limiter, permit } = self;
        // One that was given while the store was away is known here alone.
        self.run() || limiter.release_shared(shared, permit).await
    }
}

impl fmt::Debug for ReleasePermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReleasePermit").field(&self.permit).finish()
    }
}

/// Calls of one batch that are under way at the same time in a shared store.
#[cfg(feature = "redis")]
pub(super) const AT_ONCE: usize = 128;

#[cfg(feature = "redis")]
pub(super) async fn charge_one(limiter: &Arc<Inner>, shared: &Shared, asked: Asked) -> Decision {
    if let Some(decision) = limiter.near_one(shared, (&asked.rule, asked.who, asked.cost)) {
        limiter.observe(&asked.rule, asked.who.local, &decision, asked.cost);
        return decision;
    }
    charge_far(limiter, shared, asked).await
}

/// The same by the store, whatever is known here.
#[cfg(feature = "redis")]
async fn charge_far(limiter: &Arc<Inner>, shared: &Shared, asked: Asked) -> Decision {
    let rules = std::slice::from_ref(&asked);
    let admitted = limiter.admit_far(shared, rules, u64::MAX, Permits::ByName).await;
    let decision = Decision::together(&admitted.decisions);
    limiter.observe(&asked.rule, asked.who.local, &decision, asked.cost);
    decision
}

awaitable!(['a 'a] Call<'a>, Decision, near);
awaitable!(['a 'a] Check<'a>, Decision, near);
awaitable!(['a 'a] CheckMany<'a>, Vec<Decision>);
awaitable!(['a 'a] CheckAll<'a>, Decisions);
awaitable!(['a 'a] ReleasePermit<'a>, bool);
