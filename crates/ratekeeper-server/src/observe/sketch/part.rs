//! One part of a list of keys: those whose hashes end alike.
//!
//! Invariant: no count is below `least`.

use super::super::rules::Row;
use super::text::Text;
use super::{ENTRIES, STAYS};
use std::sync::Arc;

/// Entries that are compared at once.
const AT_ONCE: usize = 16;

pub(super) struct Part {
    /// 0 is nobody.
    pub(super) ids: [u64; ENTRIES],
    pub(super) counts: [u64; ENTRIES],
    /// A count that none is below, and where to look for the next that has it.
    least: u64,
    next: usize,
    pub(super) entries: [Entry; ENTRIES],
}

impl Default for Part {
    fn default() -> Part {
        let entries = [const { Entry::EMPTY }; ENTRIES];
        let (ids, counts, least, next) = ([0; ENTRIES], [0; ENTRIES], 0, 0);
        Part { ids, counts, least, next, entries }
    }
}

pub(super) struct Entry {
    pub(super) row: Option<Arc<Row>>,
    pub(super) who: u64,
    pub(super) key: Option<Text>,
    pub(super) refused: u64,
    pub(super) error: u64,
}

impl Entry {
    const EMPTY: Entry = Entry { row: None, who: 0, key: None, refused: 0, error: 0 };
}

impl Part {
    /// Where a key is. All of a few are compared at once, which takes less time than to stop at the first.
    pub(super) fn find(&self, id: u64) -> Option<usize> {
        for (number, some) in self.ids.chunks_exact(AT_ONCE).enumerate() {
            if some.iter().fold(false, |any, known| any | (*known == id)) {
                let place = some.iter().position(|known| *known == id)?;
                return Some(number * AT_ONCE + place);
            }
        }
        None
    }

    /// An entry that counts least, and how much that is. Counts only grow, so it is looked for from the last on.
    pub(super) fn least(&mut self) -> (usize, u64) {
        for _ in 0..ENTRIES {
            let place = self.next;
            self.next = (place + 1) % ENTRIES;
            if self.counts[place] == self.least {
                return (place, self.least);
            }
        }
        self.least = self.counts.iter().copied().min().unwrap_or(0);
        let place = self.counts.iter().position(|count| *count == self.least).unwrap_or(0);
        (place, self.least)
    }

    /// How often the key was seen since it has the entry.
    pub(super) fn seen(&self, place: usize) -> u64 {
        self.counts[place] - self.entries[place].error
    }

    pub(super) fn is_nameless(&self, place: usize) -> bool {
        let entry = &self.entries[place];
        entry.row.is_some() && entry.key.is_none() && self.seen(place) >= STAYS
    }
}
