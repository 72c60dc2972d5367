//! What somebody may mean by a key: a text alone can be a user, an API key, an address or more, and each of them
//! has a bucket of its own.
//!
//! Invariant: a key that is told with what its parts are leads to the bucket of which it was told.

use super::named_key::{AskError, RuleKey, named};
use super::{Limiter, Rule};
use crate::rule::kind::KeyPart;
use crate::rule::{KeyKind, KeySpec};
use std::net::IpAddr;
use std::sync::Arc;

/// Most keys that are looked at for one text. Beyond it the rarest of what it could mean is left out.
const MEANINGS_MAX: usize = 32;

impl Limiter {
    /// The rule as it applies to a key of which is known what its parts are, such as one that an
    /// [`Observer`](super::Observer) was told, and to callers of a tier; with the key as the rule counts it.
    pub fn rule_of(
        &self,
        name: &str,
        key: &[KeyPart],
        tier: Option<&str>,
    ) -> Result<(Rule, RuleKey), AskError> {
        let release = self.0.rules.load();
        let said: Vec<_> = key.iter().map(|part| (Some(&part.kind), &*part.value)).collect();
        let (entry, key) = named(&release, name, &said)?;
        let (who, now) = (self.0.secret.who(&key), self.0.clock.now());
        let rule = entry.limits_of(&who, release.tier(tier), now).ok_or(AskError::Closed)?;
        Ok((Rule::new(Arc::clone(&self.0), Arc::clone(rule)), key))
    }

    /// The keys that somebody may mean who writes one value for each part that the rule counts by. The first is
    /// what [`rule_for`](Limiter::rule_for) takes it for.
    pub fn meanings(&self, name: &str, key: &[&str]) -> Result<Vec<Vec<KeyPart>>, AskError> {
        let release = self.0.rules.load();
        let said: Vec<_> = key.iter().map(|part| (None, *part)).collect();
        let (entry, guess) = named(&release, name, &said)?;
        let (spec, on_missing) = (&entry.spec.key, entry.spec.on_missing);
        let mut all = vec![guess.parts()];
        if key.len() != spec.parts.len() {
            // Whatever is given may have any number of parts, and is nothing else then.
            return Ok(all);
        }
        let mut others: Vec<Vec<KeyPart>> = vec![Vec::new()];
        for (number, value) in key.iter().enumerate() {
            let kinds = spec.kinds(number, on_missing);
            let kinds = kinds.into_iter().filter(|kind| may_be(spec, kind, value));
            let part = |kind: &KeyKind| KeyPart::new(kind.clone(), *value);
            let parts: Vec<KeyPart> = kinds.map(part).collect();
            let longer = |own: &Vec<KeyPart>| -> Vec<Vec<KeyPart>> {
                parts.iter().map(|part| [&own[..], std::slice::from_ref(part)].concat()).collect()
            };
            others = others.iter().flat_map(longer).take(MEANINGS_MAX).collect();
        }
        let kinds = |own: &[KeyPart]| -> Vec<KeyKind> {
            own.iter().map(|part| part.kind.clone()).collect()
        };
        let first = kinds(&all[0]);
        all.extend(others.into_iter().filter(|own| kinds(own) != first));
        Ok(all)
    }
}

/// Whether a value could be this. What was given is a guess's, where a rule counts by something else.
fn may_be(spec: &KeySpec, kind: &KeyKind, value: &str) -> bool {
    match kind {
        KeyKind::Ip => value.parse::<IpAddr>().is_ok(),
        KeyKind::Given => spec.is_given(),
        _ => true,
    }
}
