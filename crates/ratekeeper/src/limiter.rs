//! The limiter: the whole walk from a rule and a key to a decision.
//!
//! Key to fingerprint, one reading of the clock, one call of the store, one decision: the walk is
//! `Inner::charge`. Invariant: a call is never an error because of the answer; what can go wrong
//! went wrong when the limiter was built.

mod build;
mod asked;
mod batch;
mod compile;
mod descriptors;
mod release;
mod switches;
mod select;
mod admission;
mod explain;
#[cfg(feature = "yaml")]
mod from_file;
mod doubts;
mod given;
mod state;
mod observer;
mod canary;
mod rule;
mod saved;
mod answer;
mod call;
mod callers;
mod admit;
mod permit;
mod hold;
mod holds;
mod named;
mod named_key;
mod meant;
mod leases;
mod wait;
mod queue;
mod alarm;
#[cfg(feature = "redis")]
mod shared;

#[cfg(feature = "tower")]
pub(crate) use admission::Waits;
pub use admission::{Admission, Prepared};
#[cfg(feature = "tower")]
pub(crate) use admission::{Begun, Later, Way};
pub use answer::{Answer, NeedsAwait};
pub use batch::{Batch, BatchAnswers};
pub use build::{Builder, IntoLimits, RuleError};
pub use call::{Call, Check, CheckAll, CheckMany, ReleasePermit};
pub use canary::Health;
pub use compile::OnStoreFailure;
pub use descriptors::{Described, Descriptor, Hits, OwnLimit, PreparedDescriptors};
pub use explain::{Explained, Explanation, Mode};
pub use hold::{Hold, Reserve, Settle};
pub use holds::{ByName, HOLD_TIME, HOLDS_MAX, HoldsFull, Reserved, SettleByName};
pub use named_key::{AskError, RuleKey};
pub use observer::{Observed, Observer};
pub use permit::{Acquire, Permit};
pub use rule::{Rule, UnknownRule};
pub use saved::{NotSaved, Saved};
pub use state::{Held, LogEntry, State};
pub use switches::Switch;
pub use wait::{Wait, Waiting};

use crate::clock::Clock;
use crate::decision::{Decision, Decisions, RuleResult};
use crate::few::Few;
use crate::key::{Key, Secret};
use crate::name::{HoldId, PermitId};
use crate::store::Charge;
use crate::store::memory::{Memory, MemoryStats};
use crate::sync::Mutex;
use arc_swap::ArcSwap;
use asked::{Asked, Compiled, charges};
use holds::Holds;
use leases::Leases;
use queue::Queues;
use release::Release;
use std::fmt;
use std::sync::Arc;
use switches::Switches;

/// Rules by name, over one store. A cheap handle: clones share everything.
///
/// ```
/// use ratekeeper::Limiter;
///
/// let limiter = Limiter::memory().rule("user", "5/second")?.rule("org", ["20/second", "1000/day"])?.build();
///
/// // Several rules are one decision: all charge, or none does.
/// let decision = limiter.check_all([("user", "42"), ("org", "7")])?.try_now()?;
/// assert!(decision.is_allowed());
/// assert_eq!(decision.rule(), Some("user"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Limiter(Arc<Inner>);

struct Inner {
    /// The rules that decide at present.
    rules: ArcSwap<Release>,
    switches: ArcSwap<Switches>,
    /// Held while rules are put in the place of others.
    releasing: Mutex<()>,
    /// The store; or, where it is shared, what each server may admit by itself while it is away.
    store: Memory,
    #[cfg(feature = "redis")]
    shared: Option<shared::Shared>,
    clock: Clock,
    secret: Secret,
    observer: Option<Box<dyn Observer>>,
    queues: Queues,
    leases: Leases,
    holds: Holds,
}

impl Limiter {
    /// A limiter whose state is in this process, in bounded memory.
    pub fn memory() -> Builder {
        Builder::default()
    }

    /// A limiter whose state is in Redis or Valkey, shared with others. It connects when it is first
    /// asked, so it can be built, and used, while the store is away. To be used in a tokio runtime.
    ///
    /// ```
    /// use ratekeeper::{Limiter, OnStoreFailure};
    ///
    /// let limiter = Limiter::redis("redis://127.0.0.1:6379/0".parse()?)
    ///     .rule("login", "20/minute")?
    ///     .on_store_failure("login", OnStoreFailure::Deny)?
    ///     .build();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "redis")]
    pub fn redis(config: crate::RedisConfig) -> Builder {
        Builder::default().shared(config)
    }

    /// Connects to the shared store and checks how it is set up; memory is always well.
    #[cfg(feature = "redis")]
    pub async fn verify(&self) -> Result<(), crate::StoreError> {
        match &self.0.shared {
            Some(shared) => shared.redis.verify().await,
            None => Ok(()),
        }
    }

    /// The rule of this name.
    pub fn rule(&self, name: &str) -> Result<Rule, UnknownRule> {
        let rule = self.find(name)?;
        Ok(Rule::new(Arc::clone(&self.0), rule))
    }

    /// All rules, in their order; those that close a route have no limits to ask.
    pub fn rules(&self) -> Vec<Rule> {
        let release = self.0.rules.load();
        let limited = release.entries.iter().filter_map(|entry| entry.limited(0));
        limited.map(|rule| Rule::new(Arc::clone(&self.0), Arc::clone(rule))).collect()
    }

    /// Asks several rules, each for a key of its own, as one decision: all charge, or none does.
    pub fn check_all<'a, K: Key>(
        &self,
        asked: impl IntoIterator<Item = (&'a str, K)>,
    ) -> Result<CheckAll<'_>, UnknownRule> {
        let mut rules = Vec::new();
        for (name, key) in asked {
            rules.push(Asked { rule: self.find(name)?, who: self.0.secret.who(&key), cost: 1 });
        }
        Ok(CheckAll { limiter: &self.0, rules })
    }

    /// Reserves units under several rules, each for a key of its own: all of them hold, or none does.
    /// See [`Rule::reserve`].
    pub fn reserve_all<'a, K: Key>(
        &self,
        asked: impl IntoIterator<Item = (&'a str, K)>,
        units: u64,
    ) -> Result<Reserve<'_>, UnknownRule> {
        let CheckAll { limiter, rules } = self.check_all(asked)?.cost(units);
        Ok(Reserve { limiter, rules, units })
    }

    /// Gives back a permit that a [`check`](Rule::check) took; `false` if there is none of this name,
    /// or if its time is over.
    pub fn release(&self, permit: PermitId) -> ReleasePermit<'_> {
        ReleasePermit { limiter: &self.0, permit }
    }

    /// Settles a reservation by name at what was really used, see [`Hold::settle`]; `false` if there is
    /// none of this name, or if its time is over.
    pub fn settle(&self, hold: HoldId, actual: u64) -> SettleByName<'_> {
        SettleByName { limiter: &self.0, hold, actual }
    }

    /// Gives a reservation by name back: settles it at nothing.
    pub fn cancel(&self, hold: HoldId) -> SettleByName<'_> {
        self.settle(hold, 0)
    }

    /// What the memory store holds and has done.
    pub fn stats(&self) -> MemoryStats {
        self.0.store.stats()
    }

    fn find(&self, name: &str) -> Result<Arc<Compiled>, UnknownRule> {
        let release = self.0.rules.load();
        let found = release.find(name).and_then(|entry| entry.limited(0));
        let names = || release.entries.iter().map(|entry| &*entry.spec.id);
        found.map(Arc::clone).ok_or_else(|| UnknownRule::new(name, names()))
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let release = self.0.rules.load();
        let rules: Vec<&str> = release.entries.iter().map(|entry| &*entry.spec.id).collect();
        f.debug_struct("Limiter").field("rules", &rules).finish_non_exhaustive()
    }
}

impl Inner {
    /// One rule, one key.
    #[inline]
    fn charge(&self, rule: &Compiled, fingerprint: u64, cost: u64) -> Decision {
        let decision = self.charge_at(self.clock.now(), rule, fingerprint, cost);
        self.observe(rule, fingerprint, &decision, cost);
        decision
    }

    #[inline]
    fn charge_at(&self, now: u64, rule: &Compiled, fingerprint: u64, cost: u64) -> Decision {
        match &rule.meters[..] {
            [meter] if rule.plain => self.store.charge(now, &Charge::new(meter, fingerprint, cost)),
            _ => self.charge_rule(now, rule, fingerprint, cost),
        }
    }

    /// One rule of several limits, or of such that need more than a bucket.
    fn charge_rule(&self, now: u64, rule: &Compiled, fingerprint: u64, cost: u64) -> Decision {
        if let [meter] = &rule.meters[..]
            && meter.pace().is_some()
        {
            return self.admit_turn(&Charge::new(meter, fingerprint, cost), None).decision;
        }
        let charges: Vec<_> = rule.charges(fingerprint, cost).collect();
        if rule.plain {
            return Decision::together(&self.store.charge_all(now, &charges).0);
        }
        Decision::together(&self.admit_by_name(&charges, None).decisions)
    }

    /// Several rules, each with a key, as one decision.
    fn charge_all(&self, rules: &[Asked]) -> Decisions {
        let charges = charges(rules);
        let decisions = match rules.iter().all(|asked| asked.rule.plain) {
            true => self.store.charge_all(self.clock.now(), &charges).0,
            false => self.admit_by_name(&charges, None).decisions,
        };
        self.by_rule(rules, &decisions)
    }

    /// The decisions of all limits as those of their rules, and these as one.
    fn by_rule(&self, rules: &[Asked], decisions: &[Decision]) -> Decisions {
        let version = rules.first().map_or(0, |asked| asked.rule.manner.version);
        Decisions::new(self.results(rules, decisions, false), version)
    }

    /// The decisions of all limits as those of their rules.
    fn results(&self, rules: &[Asked], decisions: &[Decision], shadow: bool) -> Few<RuleResult> {
        let mut rest = decisions;
        let mut results = Few::default();
        for Asked { rule, who, cost } in rules {
            let (own, others) = rest.split_at(rule.meters.len());
            let result = RuleResult::new(&rule.label, own);
            self.observe_as(rule, who.local, &result, *cost, shadow);
            results.push(result);
            rest = others;
        }
        results
    }
}
