//! What somebody may mean by a key: a text alone can be a user, an API key, an address or more, and each of them
//! has a bucket of its own.
//!
//! Invariant: what a check of such a key meets is the first of them.

use super::Limiter;
use super::named_key::{AskError, named, unsaid};
use crate::rule::kind::one_of_each;
use crate::rule::{KeyKind, KeyPart, KeySpec};
use std::net::IpAddr;

/// Most keys that are looked at for one text. Beyond it the rarest of what it could mean is left out.
const MEANINGS_MAX: usize = 32;

impl Limiter {
    /// The keys that somebody may mean who writes one value for each part that the rule counts by. The first is
    /// what [`rule_for`](Limiter::rule_for) takes it for.
    pub fn meanings(&self, name: &str, key: &[&str]) -> Result<Vec<Vec<KeyPart>>, AskError> {
        let release = self.0.rules.load();
        let (entry, guess) = named(&release, name, unsaid(key))?;
        let (spec, on_missing) = (&entry.spec.key, entry.spec.on_missing);
        let mut all = vec![guess.parts()];
        if key.len() != spec.parts.len() {
            // Whatever is given may have any number of parts, and is nothing else then.
            return Ok(all);
        }
        let choices = key.iter().enumerate().map(|(number, value)| {
            let kinds = spec.kinds(number, on_missing).into_iter();
            let kinds = kinds.filter(|kind| may_be(spec, kind, value));
            kinds.map(|kind| KeyPart::new(kind.clone(), *value)).collect()
        });
        let kinds = |own: &[KeyPart]| -> Vec<KeyKind> {
            own.iter().map(|part| part.kind.clone()).collect()
        };
        let first = kinds(&all[0]);
        let others = one_of_each(&choices.collect::<Vec<_>>(), MEANINGS_MAX);
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
