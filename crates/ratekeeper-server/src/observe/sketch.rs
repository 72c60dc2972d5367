//! The keys that ask most, and those that are refused most, in little room: Space-Saving (Metwally and
//! others, 2005), in parts by the key's hash, each with a lock of its own.
//!
//! Invariants: there are [`ENTRIES_MAX`] entries and no more; a count is never too low, and too high by at
//! most the error that is told with it. A key's text is kept only while its entry stays.

use super::rules::Row;
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Entries of each of the two lists.
pub const ENTRIES_MAX: usize = PARTS * ENTRIES;

const PARTS: usize = 16;
const ENTRIES: usize = 64;

/// Times that a key has to be seen while it has an entry before its text is kept.
const STAYS: u64 = 2;

/// Parts of a key that are kept, and characters of each.
const KEY_PARTS_MAX: usize = 16;
const KEY_CHARS_MAX: usize = 128;

#[derive(Default)]
pub(super) struct Sketch {
    asked: List,
    refused: List,
}

/// A key that is seen often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Frequent {
    pub(crate) rule: Arc<str>,
    /// Its parts; `None` until it was seen some times.
    pub(crate) key: Option<Vec<String>>,
    /// The hash that stands for it in logs.
    pub(crate) hash: String,
    /// Requests, or refusals.
    pub(crate) count: u64,
    /// How many of them were refused, since it has an entry.
    pub(crate) refused: u64,
    /// By how much the count may be too high.
    pub(crate) error: u64,
}

#[derive(Default)]
struct List {
    parts: [Mutex<Part>; PARTS],
    /// Entries whose text is to be kept, and is not there.
    nameless: AtomicUsize,
}

struct Part {
    /// 0 is nobody.
    ids: [u64; ENTRIES],
    counts: [u64; ENTRIES],
    entries: [Entry; ENTRIES],
}

impl Default for Part {
    fn default() -> Part {
        let entries = [const { Entry::EMPTY }; ENTRIES];
        Part { ids: [0; ENTRIES], counts: [0; ENTRIES], entries }
    }
}

struct Entry {
    row: Option<Arc<Row>>,
    who: u64,
    key: Option<Vec<String>>,
    refused: u64,
    error: u64,
}

impl Entry {
    const EMPTY: Entry = Entry { row: None, who: 0, key: None, refused: 0, error: 0 };
}

impl Sketch {
    /// A key was decided under a rule.
    pub(super) fn touch(&self, row: &Arc<Row>, who: u64, refused: bool) {
        self.asked.touch(row, who, refused);
        if refused {
            self.refused.touch(row, who, true);
        }
    }

    /// Whether the text of any key is to be kept, and is not there.
    pub(super) fn wants_keys(&self) -> bool {
        let some = |list: &List| list.nameless.load(Ordering::Relaxed) > 0;
        some(&self.asked) || some(&self.refused)
    }

    /// Keeps the text of a key, if it is wanted.
    pub(super) fn name(&self, row: &Arc<Row>, who: u64, key: &dyn Fn() -> Vec<String>) {
        self.asked.name(row, who, key);
        self.refused.name(row, who, key);
    }

    pub(super) fn frequent(&self, most: usize) -> (Vec<Frequent>, Vec<Frequent>) {
        (self.asked.frequent(most), self.refused.frequent(most))
    }
}

impl List {
    fn part(&self, id: u64) -> MutexGuard<'_, Part> {
        // The lowest bits: which part. A panic under the lock leaves counts that are still counts.
        let part = &self.parts[id as usize % PARTS];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self, row: &Arc<Row>, who: u64, refused: bool) {
        let id = id(row, who);
        let mut part = self.part(id);
        let place = match part.ids.iter().position(|known| *known == id) {
            Some(place) => place,
            None => self.admit(&mut part, id, row, who),
        };
        part.counts[place] += 1;
        part.entries[place].refused += u64::from(refused);
        if part.seen(place) == STAYS && part.entries[place].key.is_none() {
            self.nameless.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Gives the entry that counts least to a newcomer, who may have been there as often.
    fn admit(&self, part: &mut Part, id: u64, row: &Arc<Row>, who: u64) -> usize {
        let (mut place, mut least) = (0, u64::MAX);
        for (at, count) in part.counts.iter().enumerate() {
            if *count < least {
                (place, least) = (at, *count);
            }
        }
        if part.is_nameless(place) {
            self.nameless.fetch_sub(1, Ordering::Relaxed);
        }
        part.ids[place] = id;
        part.entries[place] =
            Entry { row: Some(Arc::clone(row)), who, key: None, refused: 0, error: least };
        place
    }

    fn name(&self, row: &Arc<Row>, who: u64, key: &dyn Fn() -> Vec<String>) {
        let id = id(row, who);
        let mut part = self.part(id);
        let Some(place) = part.ids.iter().position(|known| *known == id) else { return };
        if part.is_nameless(place) {
            part.entries[place].key = Some(shortened(key()));
            self.nameless.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn frequent(&self, most: usize) -> Vec<Frequent> {
        let mut all = Vec::new();
        for part in &self.parts {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            for (entry, count) in part.entries.iter().zip(part.counts) {
                let Entry { row: Some(row), who, key, refused, error } = entry else { continue };
                let (rule, key, hash) = (Arc::clone(row.id()), key.clone(), hash(*who));
                let (refused, error) = (*refused, *error);
                all.push(Frequent { rule, key, hash, count, refused, error });
            }
        }
        all.sort_by(|one, other| other.count.cmp(&one.count).then(one.hash.cmp(&other.hash)));
        all.truncate(most);
        all
    }
}

impl Part {
    /// How often the key was seen since it has the entry.
    fn seen(&self, place: usize) -> u64 {
        self.counts[place] - self.entries[place].error
    }

    fn is_nameless(&self, place: usize) -> bool {
        let entry = &self.entries[place];
        entry.row.is_some() && entry.key.is_none() && self.seen(place) >= STAYS
    }
}

/// A key under a rule; never 0, which is nobody.
fn id(row: &Row, who: u64) -> u64 {
    (who ^ row.salt).max(1)
}

/// A key's hash as logs and answers write it.
pub(super) fn hash(who: u64) -> String {
    format!("{who:016x}")
}

fn shortened(key: Vec<String>) -> Vec<String> {
    let short = |part: String| match part.char_indices().nth(KEY_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &part[..end]),
        None => part,
    };
    key.into_iter().take(KEY_PARTS_MAX).map(short).collect()
}
