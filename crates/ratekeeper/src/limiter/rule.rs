//! A rule in the hands of a program: everything that can be asked of it.
//!
//! Invariant: nothing here decides; each method describes a call, which runs when it is awaited.

use super::answer::NeedsAwait;
use super::build::NAME_MAX;
use super::call::{Action, Call, Check, CheckMany};
use super::hold::Reserve;
use super::permit::Acquire;
use super::wait::Wait;
use super::{Asked, Compiled, Inner};
use crate::decision::Decision;
use crate::key::{Key, Who};
use crate::limit::Limit;
use crate::store::Meter;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One rule of a limiter. A cheap handle.
#[derive(Clone)]
pub struct Rule {
    pub(super) limiter: Arc<Inner>,
    pub(super) rule: Arc<Compiled>,
}

impl Rule {
    pub(super) fn new(limiter: Arc<Inner>, rule: Arc<Compiled>) -> Rule {
        Rule { limiter, rule }
    }

    /// The rule's name.
    pub fn name(&self) -> &str {
        self.rule.id()
    }

    /// The limits, all of which apply.
    pub fn limits(&self) -> &[Limit] {
        &self.rule.limits
    }

    /// The release of rules that it is of; the limiter may have another one by now.
    pub fn version(&self) -> u64 {
        self.rule.manner.version
    }

    /// How long a permit by name is held if nobody gives it back, all of it; `None` if the rule has no
    /// concurrency limit.
    pub fn hold(&self) -> Option<Duration> {
        self.rule.meters.iter().filter_map(Meter::hold).max().map(Duration::from_micros)
    }

    /// Asks whether a request of `key` may pass, and charges it if so: one unit, or
    /// `.cost(n)`. Await it, or call [`try_now`](Check::try_now).
    ///
    /// A shaping limit answers at once, too: the [delay](Decision::delay) says when to pass. A
    /// concurrency limit gives a [permit](Decision::permit) by name, which ends with its time, or by
    /// [`release`](crate::Limiter::release); inside a process [`acquire`](Rule::acquire) is what to use.
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

    /// The keyed hash of a key, as an [`Observer`](super::Observer) is told it: for logs, which name nobody.
    pub fn hash_of(&self, key: impl Key) -> u64 {
        self.limiter.secret.who(&key).local
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
        Wait::new(self, self.limiter.secret.who(&key))
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
        Acquire { rule: self, who: self.limiter.secret.who(&key), cost: 1 }
    }

    /// Charges an estimate, to be [settled](crate::Hold::settle) at the true price.
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
        let who = self.limiter.secret.who(&key);
        let rules = vec![Asked { rule: Arc::clone(&self.rule), who, cost: units }];
        Reserve { limiter: &self.limiter, rules, units }
    }

    /// Gives `units` back to `key`, at most what it has used. Of a shaping limit these are the latest
    /// turns; where somebody waits in line, the turns before were used, and nothing is given back.
    /// Permits are not given back like this either.
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
        let keys = keys.iter().map(|key| self.limiter.secret.who(key)).collect();
        CheckMany { rule: self, keys, cost: 1 }
    }

    /// The inner table alone: the key is hashed and the clock read beforehand.
    #[cfg(feature = "bench")]
    #[doc(hidden)]
    #[inline]
    pub fn table(&self, fingerprint: u64, now: u64) -> Decision {
        self.limiter.charge_at(now, &self.rule, fingerprint, 1)
    }

    /// A look at who has this fingerprint.
    pub(super) fn peek_at(&self, who: Who) -> Call<'_> {
        Call { rule: self, who, action: Action::Peek }
    }

    #[inline]
    fn call(&self, key: &impl Key, action: Action) -> Call<'_> {
        Call { rule: self, who: self.limiter.secret.who(key), action }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rule").field(self.rule.id()).finish()
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

    pub(super) fn new<'a>(
        name: &str,
        rules: impl ExactSizeIterator<Item = &'a str>,
    ) -> UnknownRule {
        UnknownRule {
            name: name.chars().take(NAME_MAX).collect(),
            more: rules.len() > UnknownRule::SHOWN,
            known: rules.take(UnknownRule::SHOWN).map(str::to_owned).collect(),
        }
    }
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
