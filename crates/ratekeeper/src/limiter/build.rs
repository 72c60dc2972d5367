//! Building a limiter: everything that can be wrong is found here, before the first request.

use super::{Compiled, Inner, Limiter, Observer};
use crate::clock::{Clock, ManualClock};
use crate::key::Secret;
use crate::limit::{Limit, LimitBuilder, LimitError, Rate};
use crate::store::Meter;
use crate::store::memory::{KEYS_DEFAULT, Memory};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Longest name of a rule; it appears in header fields.
pub(super) const NAME_MAX: usize = 64;

/// Collects rules; [`build`](Builder::build) makes the limiter.
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    rules: Vec<(Arc<str>, Vec<Limit>)>,
    keys: usize,
    clock: Option<ManualClock>,
    observer: Option<Box<dyn Observer>>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder { rules: Vec::new(), keys: KEYS_DEFAULT, clock: None, observer: None }
    }
}

impl Builder {
    /// Adds a rule: one limit (`"100/minute burst 20"`, or a built one), or several that all apply.
    pub fn rule(mut self, name: &str, limits: impl IntoLimits) -> Result<Builder, RuleError> {
        let fail = |fault| Err(RuleError { rule: name.chars().take(NAME_MAX).collect(), fault });
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) {
            return fail(Fault::Name);
        }
        if self.rules.iter().any(|(known, _)| **known == *name) {
            return fail(Fault::Duplicate);
        }
        match limits.into_limits() {
            Ok(limits) if limits.is_empty() => fail(Fault::Empty),
            Ok(limits) => {
                self.rules.push((name.into(), limits));
                Ok(self)
            }
            Err(error) => fail(Fault::Limit(error)),
        }
    }

    /// Most keys to remember, one million unless said. At the cap the key nearest to whole gives
    /// way; a key that has spent all it had does not, and where only such are near, newcomers share
    /// one bucket of their rule.
    pub fn keys(mut self, keys: usize) -> Builder {
        self.keys = keys;
        self
    }

    /// Takes the time from a clock that is moved by hand, for tests.
    pub fn clock(mut self, clock: &ManualClock) -> Builder {
        self.clock = Some(clock.clone());
        self
    }

    /// Tells an observer of every decision.
    pub fn observer(mut self, observer: impl Observer) -> Builder {
        self.observer = Some(Box::new(observer));
        self
    }

    /// The limiter.
    pub fn build(self) -> Limiter {
        let secret = Secret::default();
        let mut rules = HashMap::with_capacity(self.rules.len());
        let mut order = Vec::with_capacity(self.rules.len());
        for (name, limits) in self.rules {
            let meters = meters(&secret, &name, &limits);
            rules.insert(Arc::clone(&name), Arc::new(Compiled { name: Arc::clone(&name), meters }));
            order.push(name);
        }
        let clock = self.clock.map_or_else(Clock::system, Clock::Manual);
        let store = Memory::new(self.keys);
        Limiter(Arc::new(Inner { rules, order, store, clock, secret, observer: self.observer }))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("rules", &self.rules)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// One meter for each limit that limits. A bucket's name is its rule and its shape, so that a
/// changed amount keeps what was used; the rate of a bucket is part of its shape, since its state
/// depends on it. Limits of one shape within a rule are told apart by their number.
fn meters(secret: &Secret, rule: &str, limits: &[Limit]) -> Vec<Meter> {
    let shape = |rate: &Rate| {
        (rate.algorithm, rate.period, rate.algorithm.is_bucket().then_some(rate.amount))
    };
    let rates: Vec<Rate> = limits.iter().filter_map(Limit::rate).collect();
    let numbered = rates.iter().enumerate().filter_map(|(index, rate)| {
        let same = rates[..index].iter().filter(|other| shape(other) == shape(rate)).count();
        Meter::new(*rate, secret.salt((rule, shape(rate), same)))
    });
    numbered.collect()
}

/// What a rule can be given as its limits.
pub trait IntoLimits {
    /// The limits, if each makes sense.
    fn into_limits(self) -> Result<Vec<Limit>, LimitError>;
}

/// One limit, in each of its forms.
macro_rules! one_limit {
    ($($form:ty),*) => {$(
        impl IntoLimits for $form {
            fn into_limits(self) -> Result<Vec<Limit>, LimitError> {
                [self].into_limits()
            }
        }
    )*};
}

one_limit!(&str, Limit, LimitBuilder);

impl<L, const N: usize> IntoLimits for [L; N]
where
    Limit: TryFrom<L>,
    LimitError: From<<Limit as TryFrom<L>>::Error>,
{
    fn into_limits(self) -> Result<Vec<Limit>, LimitError> {
        self.into_iter().map(|limit| Ok(Limit::try_from(limit)?)).collect()
    }
}

impl<L> IntoLimits for Vec<L>
where
    Limit: TryFrom<L>,
    LimitError: From<<Limit as TryFrom<L>>::Error>,
{
    fn into_limits(self) -> Result<Vec<Limit>, LimitError> {
        self.into_iter().map(|limit| Ok(Limit::try_from(limit)?)).collect()
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
            Fault::Limit(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RuleError {}
