//! Building a limiter: everything that can be wrong is found here, before the first request.

mod limits;

pub use limits::IntoLimits;

use super::holds::{HOLD_TIME, HOLDS_MAX, Holds};
use super::leases::Leases;
use super::queue::Queues;
use super::release::Release;
use super::saved::Saved;
#[cfg(feature = "redis")]
use super::shared::Shared;
use super::switches::Switches;
use super::{Inner, Limiter, Observer, OnStoreFailure, UnknownRule};
use crate::clock::{Clock, ManualClock, Watcher};
use crate::key::Secret;
use crate::limit::{Limit, LimitError};
use crate::rule::{Consistency, Limits, RuleSet, RuleSpec};
use crate::store::memory::{KEYS_DEFAULT, Memory};
use crate::sync::Mutex;
use arc_swap::ArcSwap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Longest name of a rule; it appears in header fields.
pub(super) const NAME_MAX: usize = 64;

/// Collects rules; [`build`](Builder::build) makes the limiter.
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    set: RuleSet,
    keys: usize,
    clock: Clock,
    observer: Option<Box<dyn Observer>>,
    holds: (usize, Duration),
    saved: Option<Saved>,
    #[cfg(feature = "redis")]
    shared: Option<crate::RedisConfig>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            set: RuleSet::default(),
            keys: KEYS_DEFAULT,
            clock: Clock::system(),
            observer: None,
            holds: (HOLDS_MAX, HOLD_TIME),
            saved: None,
            #[cfg(feature = "redis")]
            shared: None,
        }
    }
}

impl Builder {
    /// Adds a rule: one limit (`"100/minute burst 20"`, or a built one), or several that all apply.
    pub fn rule(mut self, name: &str, limits: impl IntoLimits) -> Result<Builder, RuleError> {
        let limits = checked(name, limits)?;
        if self.set.rules.iter().any(|known| *known.id == *name) {
            return Err(RuleError { rule: name.to_owned(), fault: Fault::Duplicate });
        }
        self.set.rules.push(RuleSpec::new(name, Limits::Same(limits)));
        Ok(self)
    }

    /// Takes a whole set of rules; those that were there before it are gone.
    pub fn rules(mut self, set: RuleSet) -> Builder {
        self.set = set;
        self
    }

    /// Most keys to remember, one million unless said. At the cap the key nearest to whole gives
    /// way; a key that has spent all it had does not, and where only such are near, newcomers share
    /// one bucket of their rule.
    pub fn keys(mut self, keys: usize) -> Builder {
        self.keys = keys;
        self
    }

    /// Most reservations [by name](super::Reserve::by_name) at a time, 65 536 unless said, and how long
    /// each may wait to be settled, ten minutes unless said. In a shared store only the time counts.
    pub fn holds(mut self, most: usize, time: Duration) -> Builder {
        self.holds = (most, time);
        self
    }

    /// Goes on from a state that was [saved](Limiter::save). A shared store has its own.
    pub fn saved(mut self, saved: Saved) -> Builder {
        self.saved = Some(saved);
        self
    }

    /// Takes the time from a clock that is moved by hand, for tests.
    pub fn clock(mut self, clock: &ManualClock) -> Builder {
        self.clock = Clock::Manual(clock.clone());
        self
    }

    /// Takes the time from tokio, so that a test that pauses it holds this limiter still, too. To be
    /// called in a runtime.
    #[cfg(all(feature = "wait", not(loom)))]
    pub fn tokio_clock(mut self) -> Builder {
        self.clock = Clock::Tokio(crate::clock::TokioClock::start());
        self
    }

    /// The same, from this time since the epoch on.
    #[cfg(all(feature = "sim", feature = "wait", not(loom)))]
    #[doc(hidden)]
    pub fn tokio_clock_at(mut self, since_epoch: Duration) -> Builder {
        self.clock = Clock::Tokio(crate::clock::TokioClock::start_at(since_epoch));
        self
    }

    /// What a rule does while the shared store is away; it admits unless said. Memory is never away.
    pub fn on_store_failure(
        mut self,
        name: &str,
        policy: OnStoreFailure,
    ) -> Result<Builder, UnknownRule> {
        self.known(name)?.on_store_failure = policy;
        Ok(self)
    }

    /// How exactly servers that share a store count together under a rule; exactly, unless said.
    pub fn consistency(
        mut self,
        name: &str,
        consistency: Consistency,
    ) -> Result<Builder, UnknownRule> {
        self.known(name)?.consistency = consistency;
        Ok(self)
    }

    fn known(&mut self, name: &str) -> Result<&mut RuleSpec, UnknownRule> {
        match self.set.rules.iter().position(|known| *known.id == *name) {
            Some(number) => Ok(&mut self.set.rules[number]),
            None => Err(UnknownRule::new(name, self.set.rules.iter().map(|known| &*known.id))),
        }
    }

    /// Keeps the state in a store that is shared.
    #[cfg(feature = "redis")]
    pub(super) fn shared(mut self, config: crate::RedisConfig) -> Builder {
        self.shared = Some(config);
        self
    }

    /// Tells an observer of every decision.
    pub fn observer(mut self, observer: impl Observer) -> Builder {
        self.observer = Some(Box::new(observer));
        self
    }

    /// The limiter.
    pub fn build(mut self) -> Limiter {
        let own = || self.saved.as_ref().map_or_else(Secret::default, Saved::secret);
        #[cfg(not(feature = "redis"))]
        let secret = own();
        #[cfg(feature = "redis")]
        let secret = match &self.shared {
            Some(config) => Secret::of_fleet(config.key_secret.as_deref()),
            None => own(),
        };
        let release = Release::new(&secret, self.set, 1, None);
        #[cfg(feature = "redis")]
        let shared = self.shared.map(|config| {
            let given_time = matches!(self.clock, Clock::Manual(_));
            Shared::new(config, given_time)
        });
        let (store, leases) = (Memory::new(self.keys), Leases::new(self.keys.max(1)));
        #[cfg(feature = "redis")]
        let saved = self.saved.filter(|_| shared.is_none());
        #[cfg(not(feature = "redis"))]
        let saved = self.saved;
        // Windows and logs of a time that is to come would not move until then.
        saved.iter().for_each(|saved| self.clock.not_before(saved.at));
        let now = self.clock.now();
        for kept in saved.iter().flat_map(Saved::buckets) {
            store.take_in(now, kept);
        }
        let inner = Inner {
            rules: ArcSwap::from_pointee(release),
            switches: ArcSwap::from_pointee(Switches::new()),
            releasing: Mutex::new(()),
            store,
            #[cfg(feature = "redis")]
            shared,
            clock: self.clock,
            secret,
            observer: self.observer,
            queues: Queues::default(),
            leases,
            holds: Holds::new(self.holds.0, self.holds.1),
        };
        let inner = Arc::new(inner);
        if let Clock::Manual(clock) = &inner.clock {
            let watcher: Arc<dyn Watcher> = Arc::<Inner>::clone(&inner);
            clock.tell(Arc::downgrade(&watcher));
        }
        Limiter(inner)
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("rules", &self.set.rules)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// The limits of a rule of this name, if both make sense.
pub(super) fn checked(name: &str, limits: impl IntoLimits) -> Result<Vec<Limit>, RuleError> {
    let fail = |fault| Err(RuleError { rule: name.chars().take(NAME_MAX).collect(), fault });
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) {
        return fail(Fault::Name);
    }
    match limits.into_limits() {
        Ok(limits) if limits.is_empty() => fail(Fault::Empty),
        Ok(limits) if limits.iter().filter(|limit| limit.is_shaping()).count() > 1 => {
            fail(Fault::Lines)
        }
        Ok(limits) => Ok(limits),
        Err(error) => fail(Fault::Limit(error)),
    }
}

/// Why a rule cannot be added, and what would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    rule: String,
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    Name,
    Duplicate,
    Empty,
    Lines,
    Limit(LimitError),
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}`: ", self.rule.escape_debug())?;
        match &self.fault {
            Fault::Name => {
                write!(f, "is not a name; write 1 to {NAME_MAX} letters, digits, `-`, `_` or `.`")
            }
            Fault::Duplicate => f.write_str("is there already; give each rule a name of its own"),
            Fault::Empty => {
                f.write_str("has no limit; write one such as `100/minute`, or `unlimited`")
            }
            Fault::Lines => f.write_str(
                "has more than one shaping limit, and a request can stand in one line; keep one",
            ),
            Fault::Limit(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RuleError {}
