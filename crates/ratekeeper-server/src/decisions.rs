//! The last refusals, each by its name, for who asks why.
//!
//! Invariant: there is a bound on how many are kept, and on what is kept of each; the oldest goes first. Keys
//! are in here as they were sent, and leave by the admin API alone.

use ratekeeper::{Decisions, Limiter, Request};
use serde::Serialize;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Refusals that are kept.
pub const REFUSALS_MAX: usize = 4_096;

/// Longest text that is kept of a refusal, in characters.
const TEXT_MAX: usize = 256;

/// The letters of a name, each of 5 bits; none is easily taken for another.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Letters of a name.
const NAME_LEN: usize = 26;

/// The last refusals of a server.
#[derive(Debug, Default)]
pub struct Refusals {
    kept: Mutex<VecDeque<Arc<Refusal>>>,
    secret: RandomState,
    number: AtomicU64,
}

/// Who was refused, as far as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The parts of the key under the rule that refused.
    pub key: Vec<String>,
    /// The method, where a request was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The address at the other end of its connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
}

/// One refusal.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Its name.
    pub id: String,
    /// When it was, in time since the epoch.
    pub at: Duration,
    /// Which door refused.
    pub door: &'static str,
    /// Who was refused.
    pub asked: Asked,
    /// What was decided.
    pub decisions: Decisions,
}

impl Refusals {
    /// Keeps a decision of this time, in microseconds since the epoch, if it is a refusal, and says its name.
    pub fn note(
        &self,
        now: u64,
        door: &'static str,
        decisions: &Decisions,
        asked: impl FnOnce() -> Asked,
    ) -> Option<String> {
        if decisions.is_allowed() {
            return None;
        }
        let at = Duration::from_micros(now);
        let id = self.name(at);
        let (asked, decisions) = (asked().cut(), decisions.clone());
        let refusal = Arc::new(Refusal { id: id.clone(), at, door, asked, decisions });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= REFUSALS_MAX {
            kept.pop_front();
        }
        kept.push_back(refusal);
        Some(id)
    }

    /// The refusal of this name, if it is among the last.
    pub fn find(&self, id: &str) -> Option<Arc<Refusal>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|own| own.id.eq_ignore_ascii_case(id)).map(Arc::clone)
    }

    /// The newest, in that order.
    pub fn newest(&self, most: usize) -> Vec<Arc<Refusal>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().take(most).map(Arc::clone).collect()
    }

    /// A name that no other refusal has, on any server: the time, and 80 bits that nobody chose.
    fn name(&self, at: Duration) -> String {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let high = u128::from(self.secret.hash_one((number, 0_u8)) & 0xffff);
        let low = u128::from(self.secret.hash_one((number, 1_u8)));
        let value = (at.as_millis() & ((1 << 48) - 1)) << 80 | high << 64 | low;
        let letter = |place: usize| {
            let bits = value >> (5 * (NAME_LEN - 1 - place)) & 31;
            char::from(LETTERS[bits as usize])
        };
        (0..NAME_LEN).map(letter).collect()
    }
}

impl Asked {
    /// Who sent a request that was refused.
    pub(crate) fn about(limiter: &Limiter, request: &Request<'_>, decisions: &Decisions) -> Asked {
        let key = decisions.rule().and_then(|rule| limiter.key_of(rule, request));
        Asked {
            key: key.unwrap_or_default(),
            method: Some(request.method.to_owned()),
            path: Some(request.path.to_owned()),
            ip: request.peer.map(|peer| peer.to_string()),
        }
    }

    /// The same, within bounds.
    fn cut(mut self) -> Asked {
        let texts = [&mut self.method, &mut self.path, &mut self.ip].into_iter().flatten();
        for text in texts.chain(&mut self.key) {
            if let Some((end, _)) = text.char_indices().nth(TEXT_MAX) {
                text.truncate(end);
                text.push('…');
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000_000;

    fn refused() -> Decisions {
        let limiter = Limiter::memory().rule("api", "1/day").unwrap().build();
        let ask = || limiter.check_all([("api", "alice")]).unwrap().try_now().unwrap();
        assert!(ask().is_allowed());
        ask()
    }

    /// Goal: names are of one length, in order of time, and each once.
    /// Method: many of one moment, and one of a later.
    #[test]
    fn names_are_in_order_and_differ() {
        let refusals = Refusals::default();
        let name = |at| refusals.name(Duration::from_millis(at));
        let mut names: Vec<String> = (0..1_000).map(|_| name(1_800_000_000_000)).collect();
        assert!(names.iter().all(|own| own.len() == NAME_LEN && own.starts_with("01")));
        assert!(names.iter().all(|own| *own < name(1_800_000_000_001)));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 1_000);
    }

    /// Goal: the last refusals are kept, within bounds, and what was admitted is not.
    /// Method: one more than there may be, with texts that are too long.
    #[test]
    fn the_last_are_kept() {
        let (refusals, refused) = (Refusals::default(), refused());
        let long = || Asked { key: vec!["ä".repeat(TEXT_MAX + 1)], ..Asked::default() };
        let names: Vec<String> = (0..=REFUSALS_MAX)
            .filter_map(|_| refusals.note(NOW, "check", &refused, long))
            .collect();
        assert_eq!(names.len(), REFUSALS_MAX + 1);
        assert!(refusals.find(&names[0]).is_none());
        let found = refusals.find(&names[1].to_lowercase()).unwrap();
        assert_eq!(found.asked.key[0].chars().count(), TEXT_MAX + 1);
        assert_eq!(refusals.newest(1)[0].id, names[REFUSALS_MAX]);
        let limiter = Limiter::memory().rule("api", "1/day").unwrap().build();
        let admitted = limiter.check_all([("api", "alice")]).unwrap().try_now().unwrap();
        assert_eq!(refusals.note(NOW, "check", &admitted, Asked::default), None);
    }
}
