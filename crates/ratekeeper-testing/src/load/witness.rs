//! An observer that remembers what was wrong with the store.
//!
//! Invariant: it keeps every kind of error, and each text once, up to a bound.

use ratekeeper::outage::Class;
use ratekeeper::{Decision, Observer, StoreError};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

/// Most texts that are kept.
const TEXTS_MAX: usize = 1_000;

/// Remembers errors; a handle.
#[derive(Clone, Debug, Default)]
pub struct Witness(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    counts: HashMap<Class, u64>,
    texts: BTreeSet<String>,
}

impl Witness {
    /// How many errors of a class there were.
    pub fn count(&self, class: Class) -> u64 {
        self.seen().counts.get(&class).copied().unwrap_or(0)
    }

    /// The classes that there were, but the breaker's own.
    pub fn classes(&self) -> Vec<Class> {
        let seen = self.seen();
        let was = |class: &Class| seen.counts.contains_key(class) && *class != Class::Open;
        Class::ALL.into_iter().filter(was).collect()
    }

    /// The texts, each once.
    pub fn texts(&self) -> BTreeSet<String> {
        self.seen().texts.clone()
    }

    /// Forgets all.
    pub fn clear(&self) {
        *self.seen() = Seen::default();
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().expect("nobody panicked")
    }
}

impl Observer for Witness {
    fn decided(&self, _rule: &str, _decision: &Decision) {}

    fn store_failed(&self, error: &StoreError) {
        let mut seen = self.seen();
        *seen.counts.entry(error.class()).or_default() += 1;
        if seen.texts.len() < TEXTS_MAX {
            seen.texts.insert(format!("{error} {error:?}"));
        }
    }
}
