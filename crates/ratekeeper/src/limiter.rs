//! The limiter: the whole walk from a rule and a key to a decision.
//!
//! Key to fingerprint, one reading of the clock, one call of the store, one decision: the walk is
//! `Inner::charge`. Invariant: a call is never an error because of the answer; what can go wrong
//! went wrong when the limiter was built.

mod build;
mod call;

pub use build::{Builder, IntoLimits, RuleError};
pub use call::{Answer, Call, Check, CheckAll, CheckMany, NeedsAwait};

use crate::clock::Clock;
use crate::decision::{Decision, Decisions};
use crate::key::{Key, Secret};
use crate::store::memory::{Memory, MemoryStats};
use crate::store::{Charge, Meter};
use call::Action;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

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
    rules: HashMap<Arc<str>, Arc<Compiled>>,
    /// Names in the order in which they were added.
    order: Vec<Arc<str>>,
    store: Memory,
    clock: Clock,
    secret: Secret,
    observer: Option<Box<dyn Observer>>,
}

/// A rule, ready to run: one meter for each limit; none if it is unlimited.
struct Compiled {
    name: Arc<str>,
    meters: Vec<Meter>,
}

/// Is told of every decision; for metrics. Called on the caller's thread: be quick.
pub trait Observer: Send + Sync + 'static {
    /// A rule decided. Peeks, refunds and resets are not decisions.
    fn decided(&self, rule: &str, decision: &Decision);
}

impl Limiter {
    /// A limiter whose state is in this process, in bounded memory.
    pub fn memory() -> Builder {
        Builder::default()
    }

    /// The rule of this name.
    pub fn rule(&self, name: &str) -> Result<Rule, UnknownRule> {
        let rule = self.find(name)?;
        Ok(Rule { limiter: Arc::clone(&self.0), rule })
    }

    /// The names of all rules, in the order in which they were added.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.order.iter().map(|name| &**name)
    }

    /// Asks several rules, each for a key of its own, as one decision: all charge, or none does.
    pub fn check_all<'a, K: Key>(
        &self,
        asked: impl IntoIterator<Item = (&'a str, K)>,
    ) -> Result<CheckAll<'_>, UnknownRule> {
        let mut rules = Vec::new();
        for (name, key) in asked {
            rules.push((self.find(name)?, self.0.secret.fingerprint(&key)));
        }
        Ok(CheckAll { limiter: &self.0, rules, cost: 1 })
    }

    /// What the memory store holds and has done.
    pub fn stats(&self) -> MemoryStats {
        self.0.store.stats()
    }

    fn find(&self, name: &str) -> Result<Arc<Compiled>, UnknownRule> {
        self.0.rules.get(name).map(Arc::clone).ok_or_else(|| UnknownRule {
            name: name.chars().take(build::NAME_MAX).collect(),
            known: self.rules().take(UnknownRule::SHOWN).map(str::to_owned).collect(),
            more: self.0.order.len() > UnknownRule::SHOWN,
        })
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("rules", &self.0.order).finish_non_exhaustive()
    }
}

/// One rule of a limiter. A cheap handle.
#[derive(Clone)]
pub struct Rule {
    limiter: Arc<Inner>,
    rule: Arc<Compiled>,
}

impl Rule {
    /// The rule's name.
    pub fn name(&self) -> &str {
        &self.rule.name
    }

    /// Asks whether a request of `key` may pass, and charges it if so: one unit, or
    /// `.cost(n)`. Await it, or call [`try_now`](Check::try_now).
    #[inline]
    pub fn check(&self, key: impl Key) -> Check<'_> {
        Check(self.call(&key, Action::Charge(1)))
    }

    /// [`check`](Rule::check) without await, for one unit.
    #[inline]
    pub fn try_check(&self, key: impl Key) -> Result<Decision, NeedsAwait> {
        self.check(key).try_now()
    }

    /// The figures of `key`; charges nothing.
    pub fn peek(&self, key: impl Key) -> Call<'_> {
        self.call(&key, Action::Peek)
    }

    /// Gives `units` back to `key`, at most what it has used.
    pub fn refund(&self, key: impl Key, units: u64) -> Call<'_> {
        self.call(&key, Action::Refund(units))
    }

    /// Forgets what `key` has used.
    pub fn reset(&self, key: impl Key) -> Call<'_> {
        self.call(&key, Action::Reset)
    }

    /// [`check`](Rule::check) for many keys, each by itself, at the same instant. Faster than one
    /// by one.
    pub fn check_many<K: Key>(&self, keys: &[K]) -> CheckMany<'_> {
        let fingerprints = keys.iter().map(|key| self.limiter.secret.fingerprint(key)).collect();
        CheckMany { rule: self, fingerprints, cost: 1 }
    }

    /// The inner table alone: the key is hashed and the clock read beforehand.
    #[cfg(feature = "bench")]
    #[doc(hidden)]
    #[inline]
    pub fn table(&self, fingerprint: u64, now: u64) -> Decision {
        self.limiter.charge_at(now, &self.rule, fingerprint, 1)
    }

    #[inline]
    fn call(&self, key: &impl Key, action: Action) -> Call<'_> {
        Call { rule: self, fingerprint: self.limiter.secret.fingerprint(key), action }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rule").field(&self.rule.name).finish()
    }
}

impl Inner {
    /// One rule, one key.
    #[inline]
    fn charge(&self, rule: &Compiled, fingerprint: u64, cost: u64) -> Decision {
        let decision = self.charge_at(self.clock.now(), rule, fingerprint, cost);
        self.observe(rule, &decision, cost);
        decision
    }

    #[inline]
    fn charge_at(&self, now: u64, rule: &Compiled, fingerprint: u64, cost: u64) -> Decision {
        match &rule.meters[..] {
            [] => Decision::UNLIMITED,
            [meter] => self.store.charge(now, &Charge::new(meter, fingerprint, cost)),
            meters => {
                let charge = |meter| Charge::new(meter, fingerprint, cost);
                let charges: Vec<_> = meters.iter().map(charge).collect();
                decide(&self.store.charge_all(now, &charges))
            }
        }
    }

    /// Several rules, each with a key, as one decision.
    fn charge_all(&self, rules: &[(Arc<Compiled>, u64)], cost: u64) -> Decisions {
        let mut charges = Vec::with_capacity(rules.len());
        for (rule, fingerprint) in rules {
            charges.extend(rule.meters.iter().map(|meter| Charge::new(meter, *fingerprint, cost)));
        }
        let decisions = self.store.charge_all(self.clock.now(), &charges);
        let mut rest = &decisions[..];
        let mut results = Vec::with_capacity(rules.len());
        for (rule, _) in rules {
            let (own, others) = rest.split_at(rule.meters.len());
            let decision = decide(own);
            self.observe(rule, &decision, cost);
            results.push((Arc::clone(&rule.name), decision));
            rest = others;
        }
        Decisions::new(results)
    }

    /// One rule, many keys, each by itself; the clock is read once.
    fn charge_each(&self, rule: &Compiled, fingerprints: &[u64], cost: u64) -> Vec<Decision> {
        let now = self.clock.now();
        let decisions: Vec<Decision> = match &rule.meters[..] {
            [meter] => self.store.charge_each(now, meter, fingerprints, cost),
            _ => {
                let each = |fingerprint: &u64| self.charge_at(now, rule, *fingerprint, cost);
                fingerprints.iter().map(each).collect()
            }
        };
        decisions.iter().for_each(|decision| self.observe(rule, decision, cost));
        decisions
    }

    fn refund(&self, rule: &Compiled, fingerprint: u64, units: u64) -> Decision {
        let now = self.clock.now();
        let refund = |meter| self.store.refund(now, &Charge::new(meter, fingerprint, units));
        decide(&rule.meters.iter().map(refund).collect::<Vec<_>>())
    }

    fn reset(&self, rule: &Compiled, fingerprint: u64) -> Decision {
        for meter in &rule.meters {
            self.store.reset(&Charge::new(meter, fingerprint, 0));
        }
        self.charge_at(self.clock.now(), rule, fingerprint, 0)
    }

    #[inline]
    fn observe(&self, rule: &Compiled, decision: &Decision, cost: u64) {
        if let Some(observer) = self.observer.as_ref().filter(|_| cost > 0) {
            observer.decided(&rule.name, decision);
        }
    }
}

/// The decisions of one rule's limits as one: that of the decisive limit, and what remains is what
/// all of them would admit.
fn decide(decisions: &[Decision]) -> Decision {
    let Some((_, decisive)) = Decision::decisive(decisions.iter()) else {
        return Decision::UNLIMITED;
    };
    let mut decision = *decisive;
    for other in decisions {
        decision.verdict.remaining = decision.verdict.remaining.min(other.verdict.remaining);
    }
    decision
}

/// A name that is no rule's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule {
    name: String,
    known: Vec<String>,
    more: bool,
}

impl UnknownRule {
    /// Names that the message lists at most.
    const SHOWN: usize = 16;
}

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no rule is named `{}`; ", self.name.escape_debug())?;
        if self.known.is_empty() {
            return f.write_str("there are no rules");
        }
        write!(f, "the rules are {}", self.known.join(", "))?;
        if self.more { f.write_str(", …") } else { Ok(()) }
    }
}

impl std::error::Error for UnknownRule {}
