//! What the simulated server holds: keys, each with an end, and the way back to a moment before.
//!
//! Invariant: a key without an end is never taken in silently: it is noted as a fault.

use std::collections::{BTreeMap, VecDeque};

/// How long changes can be taken back, in microseconds.
const REACH: u64 = 1_000_000;

/// A value, and the microsecond at which it ends.
type Held = (Vec<u8>, u64);

/// The keys of a server.
#[derive(Debug, Default)]
pub(super) struct Keys {
    held: BTreeMap<Vec<u8>, Held>,
    /// The server's time, in microseconds since the epoch.
    now: u64,
    /// What keys held before each change, and when it was.
    journal: VecDeque<(u64, Vec<u8>, Option<Held>)>,
    /// Keys that somebody wanted to keep for ever.
    pub immortal: Vec<String>,
}

impl Keys {
    /// The server's time, in microseconds since the epoch.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Moves the time on.
    pub(super) fn move_to(&mut self, now: u64) {
        self.now = self.now.max(now);
        let reach = self.now.saturating_sub(REACH);
        while self.journal.front().is_some_and(|(at, ..)| *at < reach) {
            self.journal.pop_front();
        }
    }

    /// What a key holds.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Vec<u8>> {
        self.held.get(key).filter(|(_, end)| *end > self.now).map(|(value, _)| value)
    }

    /// Puts a value there until a millisecond since the epoch.
    pub(super) fn set(&mut self, key: &[u8], value: Vec<u8>, end_ms: Option<u64>) {
        if end_ms.is_none() {
            self.immortal.push(String::from_utf8_lossy(key).into_owned());
        }
        let end = end_ms.map_or(u64::MAX, |end| end * 1_000);
        let next = (end > self.now).then_some((value, end));
        self.put(key, next);
    }

    /// Takes a key out; whether it was there.
    pub(super) fn delete(&mut self, key: &[u8]) -> bool {
        let was = self.get(key).is_some();
        self.put(key, None);
        was
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.journal.clear();
    }

    /// Takes back what has changed in the last microseconds, a second at most.
    pub(super) fn go_back(&mut self, micros: u64) {
        let to = self.now.saturating_sub(micros);
        while self.journal.back().is_some_and(|(at, ..)| *at >= to) {
            if let Some((_, key, before)) = self.journal.pop_back() {
                self.place(key, before);
            }
        }
    }

    fn put(&mut self, key: &[u8], next: Option<Held>) {
        let before = self.held.get(key).cloned();
        self.journal.push_back((self.now, key.to_vec(), before));
        self.place(key.to_vec(), next);
    }

    fn place(&mut self, key: Vec<u8>, held: Option<Held>) {
        match held {
            Some(held) => self.held.insert(key, held),
            None => self.held.remove(&key),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: going back restores what was there at that moment, and ends count by the clock.
    /// Method: three changes of one key at known times, taken back in two steps.
    #[test]
    fn changes_are_taken_back_in_their_order() {
        let mut keys = Keys::default();
        for (at, value) in [(1_000, b"a"), (500_000, b"b"), (800_000, b"c")] {
            keys.move_to(at);
            keys.set(b"key", value.to_vec(), Some(2_000));
        }
        keys.go_back(100_000);
        assert_eq!(keys.get(b"key"), Some(&b"b".to_vec()));
        keys.go_back(799_500);
        assert_eq!(keys.get(b"key"), None);
        keys.set(b"key", b"d".to_vec(), Some(801));
        assert!(keys.get(b"key").is_some());
        keys.move_to(801_000);
        assert!(keys.get(b"key").is_none() && keys.immortal.is_empty());
    }
}
