//! The limiter: the whole walk from a rule and a key to a decision.
//!
//! Key to fingerprint, one reading of the clock, one call of the store, one decision: the walk is
//! `Inner::charge`. Invariant: a call is never an error because of the answer; what can go wrong
//! went wrong when the limiter was built.

mod build;
mod call;
mod admit;
mod hold;
mod leases;
mod wait;
mod queue;
mod alarm;

pub use build::{Builder, IntoLimits, RuleError};
pub use call::{Answer, Call, Check, CheckAll, CheckMany, NeedsAwait};
pub use hold::{Acquire, Hold, Permit, Reserve, Settle};
pub use wait::{Wait, Waiting};

use crate::clock::{Clock, Watcher};
use crate::decision::{Decision, Decisions, PermitId};
use crate::key::{Key, Secret};
use crate::store::memory::{Memory, MemoryStats};
use crate::store::{Charge, Meter};
use call::Action;
use leases::Leases;
use queue::Queues;
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
    queues: Queues,
    leases: Leases,
}

/// A rule, ready to run: one meter for each limit; none if it is unlimited.
struct Compiled {
    name: Arc<str>,
    meters: Vec<Meter>,
    /// Whether all its limits are rates under which what is admitted passes at once.
    plain: bool,
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

    /// Reserves units under several rules, each for a key of its own: all of them hold, or none does.
    /// See [`Rule::reserve`].
    pub fn reserve_all<'a, K: Key>(
        &self,
        asked: impl IntoIterator<Item = (&'a str, K)>,
        units: u64,
    ) -> Result<Reserve<'_>, UnknownRule> {
        let CheckAll { limiter, rules, .. } = self.check_all(asked)?;
        Ok(Reserve { limiter, rules, units })
    }

    /// Gives back a permit that a [`check`](Rule::check) took; `false` if there is none of this name,
    /// or if its time is over.
    pub fn release(&self, permit: PermitId) -> bool {
        self.0.leases.expire(&self.0.store, || self.0.clock.now());
        self.0.leases.release(&self.0.store, permit)
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
        self.0.fmt(f)
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
    ///
    /// A shaping limit answers at once, too: the [delay](Decision::delay) says when to pass. A
    /// concurrency limit gives a [permit](Decision::permit) by name, which ends with its time, or by
    /// [`release`](Limiter::release); inside a process [`acquire`](Rule::acquire) is what to use.
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

    /// Waits until a request of `key` may pass, and charges it then: one unit, or `.cost(n)`.
    ///
    /// Under a shaping limit it takes its place in the line at once, and passes in its turn; the
    /// answer is a refusal, without any wait, if the line is full or the wait would be too long.
    /// Dropped before that, it leaves the line, and all behind it move up. Under other limits it asks
    /// again when its time has come, in no order. How long is up to you: see
    /// [`max_wait`](Wait::max_wait) and [`deadline`](Wait::deadline).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ratekeeper::{Limit, Limiter};
    ///
    /// let limiter = Limiter::memory().rule("partner", Limit::per_second(100).shaping())?.build();
    /// let partner = limiter.rule("partner")?;
    /// for _ in 0..3 {
    ///     assert!(partner.wait("calls").await.is_allowed());       // now, 10 ms later, 20 ms later
    /// }
    /// # Ok(()) }
    /// ```
    pub fn wait(&self, key: impl Key) -> Wait<'_> {
        Wait::new(self, self.limiter.secret.fingerprint(&key))
    }

    /// Takes a unit, or `.cost(n)`, of each concurrency limit of the rule, to be given back when the
    /// permit is dropped; other limits of the rule are charged as by [`check`](Rule::check).
    ///
    /// ```
    /// use ratekeeper::Limiter;
    ///
    /// let limiter = Limiter::memory().rule("exports", "2 concurrent")?.build();
    /// let exports = limiter.rule("exports")?;
    /// let first = exports.acquire("alice").try_now()?;
    /// let second = exports.acquire("alice").try_now()?;
    /// assert!(second.is_allowed());
    /// assert!(exports.acquire("alice").try_now()?.is_refused());
    /// drop(first);
    /// assert!(exports.acquire("alice").try_now()?.is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire(&self, key: impl Key) -> Acquire<'_> {
        Acquire { rule: self, fingerprint: self.limiter.secret.fingerprint(&key), cost: 1 }
    }

    /// Charges an estimate, to be [settled](Hold::settle) at the true price.
    ///
    /// ```
    /// use ratekeeper::Limiter;
    ///
    /// let limiter = Limiter::memory().rule("tokens", "10000/minute")?.build();
    /// let tokens = limiter.rule("tokens")?;
    /// let hold = tokens.reserve("alice", 4000).try_now()?;
    /// assert!(hold.is_allowed());
    /// hold.settle(3120).try_now()?;
    /// assert_eq!(tokens.peek("alice").try_now()?.remaining(), 6880);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve(&self, key: impl Key, units: u64) -> Reserve<'_> {
        let rules = vec![(Arc::clone(&self.rule), self.limiter.secret.fingerprint(&key))];
        Reserve { limiter: &self.limiter, rules, units }
    }

    /// Gives `units` back to `key`, at most what it has used. Of a shaping limit these are the latest
    /// turns, or, where somebody waits, time: the line moves up. Permits are not given back like
    /// this.
    pub fn refund(&self, key: impl Key, units: u64) -> Call<'_> {
        self.call(&key, Action::Refund(units))
    }

    /// Forgets what `key` has used. Whoever waits for a turn still waits, with the first one's turn
    /// now; permits by name are given back, those held in this process are not.
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
            [meter] if rule.plain => self.store.charge(now, &Charge::new(meter, fingerprint, cost)),
            _ => self.charge_rule(now, rule, fingerprint, cost),
        }
    }

    /// One rule of several limits, or of such that need more than a bucket.
    fn charge_rule(&self, now: u64, rule: &Compiled, fingerprint: u64, cost: u64) -> Decision {
        let charges: Vec<_> = rule.charges(fingerprint, cost).collect();
        if rule.plain {
            return Decision::together(&self.store.charge_all(now, &charges).0);
        }
        Decision::together(&self.admit_by_name(&charges, None).decisions)
    }

    /// Several rules, each with a key, as one decision.
    fn charge_all(&self, rules: &[(Arc<Compiled>, u64)], cost: u64) -> Decisions {
        let charges = charges(rules, cost);
        let decisions = match rules.iter().all(|(rule, _)| rule.plain) {
            true => self.store.charge_all(self.clock.now(), &charges).0,
            false => self.admit_by_name(&charges, None).decisions,
        };
        self.by_rule(rules, &decisions, cost)
    }

    /// The decisions of all limits as those of their rules.
    fn by_rule(
        &self,
        rules: &[(Arc<Compiled>, u64)],
        decisions: &[Decision],
        cost: u64,
    ) -> Decisions {
        let mut rest = decisions;
        let mut results = Vec::with_capacity(rules.len());
        for (rule, _) in rules {
            let (own, others) = rest.split_at(rule.meters.len());
            let decision = Decision::together(own);
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
            [meter] if rule.plain => self.store.charge_each(now, meter, fingerprints, cost),
            _ => {
                let each = |fingerprint: &u64| self.charge_at(now, rule, *fingerprint, cost);
                fingerprints.iter().map(each).collect()
            }
        };
        decisions.iter().for_each(|decision| self.observe(rule, decision, cost));
        decisions
    }

    #[inline]
    fn observe(&self, rule: &Compiled, decision: &Decision, cost: u64) {
        if let Some(observer) = self.observer.as_ref().filter(|_| cost > 0) {
            observer.decided(&rule.name, decision);
        }
    }
}

impl Compiled {
    /// A charge for each limit.
    fn charges(&self, fingerprint: u64, cost: u64) -> impl Iterator<Item = Charge<'_>> {
        self.meters.iter().map(move |meter| Charge::new(meter, fingerprint, cost))
    }
}

fn charges(rules: &[(Arc<Compiled>, u64)], cost: u64) -> Vec<Charge<'_>> {
    rules.iter().flat_map(|(rule, fingerprint)| rule.charges(*fingerprint, cost)).collect()
}

/// When time is moved by hand, those are woken whose time has come.
impl Watcher for Inner {
    fn moved(&self) {
        self.queues.turn(self.clock.now());
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("rules", &self.order).finish_non_exhaustive()
    }
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
