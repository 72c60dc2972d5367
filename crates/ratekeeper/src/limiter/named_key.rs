//! A rule and a key that somebody wrote: the very bucket that a request of that caller would meet.
//!
//! Invariant: a key that was written is counted as what the rule counts by, and never as something else.

use super::{Limiter, Rule, UnknownRule};
use crate::key::Key;
use crate::rule::KeyKind;
use std::fmt;
use std::sync::Arc;

/// A key of a rule, as that rule counts it; see [`Limiter::rule_for`].
#[derive(Clone, Debug)]
pub struct RuleKey(Form);

#[derive(Clone, Debug)]
enum Form {
    /// Whatever was given.
    Given(Vec<String>),
    /// With what each part is.
    Encoded(Vec<u8>),
}

impl Key for RuleKey {
    fn single(&self) -> Option<&[u8]> {
        match &self.0 {
            Form::Given(parts) => parts.single(),
            Form::Encoded(bytes) => Some(bytes),
        }
    }

    fn parts<F: FnMut(&[u8])>(&self, each: &mut F) {
        match &self.0 {
            Form::Given(parts) => parts.parts(each),
            Form::Encoded(bytes) => each(bytes),
        }
    }
}

/// Why a rule cannot be asked for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// There is no such rule.
    Unknown(UnknownRule),
    /// The key has another number of parts than the rule counts by.
    Parts {
        /// How many there are.
        given: usize,
        /// How many the rule counts by.
        wanted: usize,
    },
    /// The rule lets nobody pass, so there is nothing to ask.
    Closed,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Unknown(unknown) => write!(f, "{unknown}"),
            AskError::Parts { given, wanted: 1 } => {
                write!(f, "the key has {given} parts, and the rule counts by one; give one")
            }
            AskError::Parts { given: 1, wanted } => {
                write!(
                    f,
                    "the key has one part, and the rule counts by {wanted}; give a list of {wanted}"
                )
            }
            AskError::Parts { given, wanted } => {
                write!(
                    f,
                    "the key has {given} parts, and the rule counts by {wanted}; give a list of {wanted}"
                )
            }
            AskError::Closed => f.write_str(
                "the rule closes its route, so it has no limits; ask about a request instead",
            ),
        }
    }
}

impl std::error::Error for AskError {}

impl Limiter {
    /// The rule as it applies to a key that somebody wrote, one value for each part that the rule counts
    /// by, and to callers of a tier; with the key as the rule counts it. Overrides are heeded.
    pub fn rule_for(
        &self,
        name: &str,
        key: &[&str],
        tier: Option<&str>,
    ) -> Result<(Rule, RuleKey), AskError> {
        let release = self.0.rules.load();
        let Some(entry) = release.find(name) else {
            let names = release.entries.iter().map(|entry| &*entry.spec.id);
            return Err(AskError::Unknown(UnknownRule::new(name, names)));
        };
        let spec = &entry.spec.key;
        let form = if spec.is_given() {
            Form::Given(key.iter().map(|part| (*part).to_owned()).collect())
        } else {
            let said = key.iter().map(|part| (None::<&KeyKind>, *part));
            let parts = AskError::Parts { given: key.len(), wanted: spec.parts.len() };
            Form::Encoded(
                spec.written(said, |address| release.identity.network(address))
                    .ok_or(parts)?
                    .as_bytes()
                    .to_vec(),
            )
        };
        let key = RuleKey(form);
        let (who, now) = (self.0.secret.who(&key), self.0.clock.now());
        let own = entry.overridden(&who, now);
        let rule = own.or_else(|| entry.limited(release.tier(tier))).ok_or(AskError::Closed)?;
        Ok((Rule::new(Arc::clone(&self.0), Arc::clone(rule)), key))
    }
}
