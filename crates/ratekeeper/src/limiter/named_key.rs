//! A rule and a key that somebody wrote: the very bucket that a request of that caller would meet.
//!
//! Invariant: a key that was written is counted as what the rule counts by, and never as something else.

use super::release::{Entry, Release, TRIAL};
use super::select::{Applies, Selected, is_shadow};
use super::{Inner, Limiter, Prepared, Rule, UnknownRule};
use crate::key::Key;
use crate::limit::Limit;
use crate::rule::key::parts_of;
use crate::rule::kind::KeyPart;
use crate::rule::{KeyKind, Rollout};
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

impl RuleKey {
    /// Its parts, as people read them.
    pub fn parts(&self) -> Vec<KeyPart> {
        let given = |value: &String| KeyPart::new(KeyKind::Given, value.clone());
        match &self.0 {
            Form::Given(parts) => parts.iter().map(given).collect(),
            Form::Encoded(bytes) => parts_of(bytes),
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
    /// The rule does not count by what a part of the key is said to be.
    Kind(KeyKind),
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
            AskError::Kind(kind) => {
                write!(f, "the rule does not count by `{kind}` there; look at its `key`")
            }
            AskError::Closed => f.write_str(
                "the rule closes its route, so it has no limits; ask about a request instead",
            ),
        }
    }
}

impl std::error::Error for AskError {}

impl Limiter {
    /// Finds out how a rule applies to a key that somebody wrote, as [`rule_for`](Limiter::rule_for) does,
    /// and charges nothing yet. Switches and the rollout of the rule are heeded: one that is off is not
    /// asked, and one in shadow refuses nothing.
    pub fn prepare_rule(
        &self,
        name: &str,
        key: &[&str],
        tier: Option<&str>,
        cost: u64,
    ) -> Result<Prepared, AskError> {
        Prepared::of_rule(&self.0, &self.0.rules.load(), name, (key, tier), cost)
    }

    /// The rule as it applies to a key that somebody wrote, one value for each part that the rule counts
    /// by, and to callers of a tier; with the key as the rule counts it. Overrides are heeded.
    pub fn rule_for(
        &self,
        name: &str,
        key: &[&str],
        tier: Option<&str>,
    ) -> Result<(Rule, RuleKey), AskError> {
        self.found(name, unsaid(key), tier)
    }

    /// The same for a key of which is known what its parts are, such as one that an
    /// [`Observer`](super::Observer) was told.
    pub fn rule_of(
        &self,
        name: &str,
        key: &[KeyPart],
        tier: Option<&str>,
    ) -> Result<(Rule, RuleKey), AskError> {
        self.found(name, key.iter().map(|part| (Some(&part.kind), &*part.value)), tier)
    }

    fn found<'v>(
        &self,
        name: &str,
        key: impl ExactSizeIterator<Item = Said<'v>> + Clone,
        tier: Option<&str>,
    ) -> Result<(Rule, RuleKey), AskError> {
        let release = self.0.rules.load();
        let (entry, key) = named(&release, name, key)?;
        let (who, now) = (self.0.secret.who(&key), self.0.clock.now());
        let rule = entry.limits_of(&who, release.tier(tier), now).ok_or(AskError::Closed)?;
        Ok((Rule::new(Arc::clone(&self.0), Arc::clone(rule)), key))
    }
}

impl Prepared {
    /// How a rule of a release applies to a key that somebody wrote, and to callers of a tier.
    pub(super) fn of_rule(
        limiter: &Arc<Inner>,
        release: &Release,
        name: &str,
        (key, tier): (&[&str], Option<&str>),
        cost: u64,
    ) -> Result<Prepared, AskError> {
        let (entry, key) = named(release, name, unsaid(key))?;
        let mut selected = Selected { looks: cost == 0, ..Selected::default() };
        let rollout = limiter.switched(name).unwrap_or(entry.spec.rollout);
        if rollout != Rollout::Off {
            let (who, tier) = (limiter.secret.who(&key), release.tier(tier));
            limiter.meet(name, &who, &|| key.parts());
            let applies = match entry.limits_of(&who, tier, limiter.clock.now()) {
                Some(rule) => Applies::Limits { rule, trial: entry.tried(tier), who, cost },
                None => Applies::Closed,
            };
            let shadow = is_shadow(rollout, name, key.single().unwrap_or_default());
            selected.add(entry, applies, shadow);
        }
        Ok(Prepared::new(limiter, selected, release))
    }
}

impl Limiter {
    /// The tiers of the release that decides, the first of which is that of callers who have none.
    pub fn tiers(&self) -> Vec<Arc<str>> {
        self.0.rules.load().tiers.clone()
    }

    /// How many values name a key under a rule.
    pub fn key_parts(&self, rule: &str) -> Result<usize, UnknownRule> {
        let release = self.0.rules.load();
        let names = || release.entries.iter().map(|entry| &*entry.spec.id);
        let entry = release.find(rule).ok_or_else(|| UnknownRule::new(rule, names()))?;
        Ok(entry.spec.key.parts.len())
    }

    /// The limits of a rule, for each tier if they differ; none if it closes its route, or is not there. Of a
    /// rule by the name under which an observer is told of its limits on trial, those.
    pub fn limits_of(&self, rule: &str) -> Vec<Vec<Limit>> {
        let release = self.0.rules.load();
        let found: &[_] = match rule.strip_suffix(TRIAL) {
            Some(rule) => release.find(rule).map_or(&[], |entry| &entry.trial),
            None => release.find(rule).map_or(&[], |entry| &entry.live),
        };
        found.iter().map(|own| own.limits.to_vec()).collect()
    }
}

/// A value, and what it is, if that was said.
type Said<'v> = (Option<&'v KeyKind>, &'v str);

/// Values of which nobody said what they are.
pub(super) fn unsaid<'v>(key: &'v [&'v str]) -> impl ExactSizeIterator<Item = Said<'v>> + Clone {
    key.iter().map(|value| (None, *value))
}

/// The rule of this name, and a key that somebody wrote as that rule counts it.
pub(super) fn named<'r, 'v>(
    release: &'r Release,
    name: &str,
    key: impl ExactSizeIterator<Item = Said<'v>> + Clone,
) -> Result<(&'r Entry, RuleKey), AskError> {
    let Some(entry) = release.find(name) else {
        let names = release.entries.iter().map(|entry| &*entry.spec.id);
        return Err(AskError::Unknown(UnknownRule::new(name, names)));
    };
    let (spec, on_missing) = (&entry.spec.key, entry.spec.on_missing);
    let is_given = |kind: Option<&KeyKind>| kind.is_none_or(|own| *own == KeyKind::Given);
    if spec.is_given() && key.clone().all(|(kind, _)| is_given(kind)) {
        let parts = key.map(|(_, part)| part.to_owned()).collect();
        return Ok((entry, RuleKey(Form::Given(parts))));
    }
    for (number, (kind, _)) in key.clone().enumerate() {
        if let Some(kind) = kind.filter(|kind| !spec.kinds(number, on_missing).contains(kind)) {
            return Err(AskError::Kind(kind.clone()));
        }
    }
    let parts = AskError::Parts { given: key.len(), wanted: spec.parts.len() };
    let written = spec.written(key, |address| release.identity.network(address));
    Ok((entry, RuleKey(Form::Encoded(written.ok_or(parts)?.as_bytes().to_vec()))))
}
