//! The keys that ask most, and those that are refused most, in little room: Space-Saving (Metwally and
//! others, 2005), in parts by the key's hash, each with a lock of its own.
//!
//! Invariants: there are [`ENTRIES_MAX`] entries and no more; a count is never too low, and too high by at
//! most the error that is told with it. A key's text is kept only while its entry stays.

mod part;
mod text;

use super::rules::Row;
use part::{Entry, Part};
use ratekeeper::rule::KeyPart;
use serde::Serialize;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use text::Text;

/// Entries of each of the two lists.
pub const ENTRIES_MAX: usize = PARTS * ENTRIES;

const PARTS: usize = 16;
const ENTRIES: usize = 64;

/// Kinds of keys that are told apart by whether a text is wanted.
const WANTED: usize = 4_096;

/// Times that a key has to be seen while it has an entry before its text is kept.
const STAYS: u64 = 2;

#[derive(Default)]
pub(super) struct Sketch {
    asked: List,
    refused: List,
}

/// A key that is seen often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Frequent {
    pub(crate) rule: Arc<str>,
    /// Its parts, and what each of them is; `None` until it was seen some times.
    pub(crate) key: Option<Vec<String>>,
    pub(crate) kinds: Option<Vec<String>>,
    /// Whether they were cut, so that they are no key.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cut: bool,
    /// The hash that stands for it in logs.
    pub(crate) hash: String,
    /// Requests, or refusals.
    pub(crate) count: u64,
    /// How many of them were refused, since it has an entry.
    pub(crate) refused: u64,
    /// By how much the count may be too high.
    pub(crate) error: u64,
}

struct List {
    parts: [Mutex<Part>; PARTS],
    /// How many entries like a key have a text that is to be kept, and is not there; by some bits of its hash.
    wanted: [AtomicU16; WANTED],
}

impl Default for List {
    fn default() -> List {
        List { parts: Default::default(), wanted: [const { AtomicU16::new(0) }; WANTED] }
    }
}

impl Sketch {
    /// A key was decided under a rule.
    pub(super) fn touch(&self, row: &Arc<Row>, who: u64, refused: bool) {
        self.asked.touch(row, who, refused);
        if refused {
            self.refused.touch(row, who, true);
        }
    }

    /// Whether the text of a key may be wanted; not, if that of no key like it is.
    pub(super) fn wants(&self, who: u64) -> bool {
        self.asked.wants(who) || self.refused.wants(who)
    }

    /// Whether the text of any key is to be kept, and is not there.
    #[cfg(test)]
    fn wants_keys(&self) -> bool {
        let some = |list: &List| list.wanted.iter().any(|own| own.load(Ordering::Relaxed) > 0);
        some(&self.asked) || some(&self.refused)
    }

    /// Keeps the text of a key, if it is wanted.
    pub(super) fn name(&self, row: &Arc<Row>, who: u64, key: &dyn Fn() -> Vec<KeyPart>) {
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
        let place = match part.find(id) {
            Some(place) => place,
            None => self.admit(&mut part, id, row, who),
        };
        part.counts[place] += 1;
        part.entries[place].refused += u64::from(refused);
        if part.seen(place) == STAYS && part.entries[place].key.is_none() {
            self.wanted(who).fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many entries like this one have no text.
    fn wanted(&self, who: u64) -> &AtomicU16 {
        &self.wanted[(who >> 32) as usize % WANTED]
    }

    fn wants(&self, who: u64) -> bool {
        self.wanted(who).load(Ordering::Relaxed) > 0
    }

    /// Gives the entry that counts least to a newcomer, who may have been there as often.
    fn admit(&self, part: &mut Part, id: u64, row: &Arc<Row>, who: u64) -> usize {
        let (place, least) = part.least();
        if part.is_nameless(place) {
            self.wanted(part.entries[place].who).fetch_sub(1, Ordering::Relaxed);
        }
        part.ids[place] = id;
        part.entries[place] =
            Entry { row: Some(Arc::clone(row)), who, key: None, refused: 0, error: least };
        place
    }

    fn name(&self, row: &Arc<Row>, who: u64, key: &dyn Fn() -> Vec<KeyPart>) {
        let id = id(row, who);
        let mut part = self.part(id);
        let Some(place) = part.find(id) else { return };
        if part.is_nameless(place) {
            part.entries[place].key = Some(Text::of(key()));
            self.wanted(who).fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn frequent(&self, most: usize) -> Vec<Frequent> {
        let mut all = Vec::new();
        for part in &self.parts {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner);
            for (entry, count) in part.entries.iter().zip(part.counts) {
                let Entry { row: Some(row), who, key, refused, error } = entry else { continue };
                let (rule, hash) = (Arc::clone(row.id()), hash(*who));
                let (refused, error) = (*refused, *error);
                let (key, kinds, cut) = match key.clone() {
                    Some(Text { values, kinds, cut }) => (Some(values), Some(kinds), cut),
                    None => (None, None, false),
                };
                all.push(Frequent { rule, key, kinds, cut, hash, count, refused, error });
            }
        }
        all.sort_by(|one, other| other.count.cmp(&one.count).then(one.hash.cmp(&other.hash)));
        all.truncate(most);
        all
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

#[cfg(test)]
mod tests {
    use super::super::rules::Rules;
    use super::text::KEY_CHARS_MAX;
    use super::*;
    use ratekeeper::rule::KeyKind;

    fn part(kind: KeyKind, value: &str) -> KeyPart {
        KeyPart::new(kind, value)
    }

    /// Any number as a hash would be.
    fn spread(number: u64) -> u64 {
        let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }

    /// Goal: whoever asks often is on the list, whatever else is asked for; counts are never too low, and no
    /// more too high than is told.
    /// Method: ten keys, each in a hundredth of the requests, among 200 000 keys that come once.
    #[test]
    fn who_asks_often_is_found_in_a_flood() {
        let (rules, sketch) = (Rules::default(), Sketch::default());
        let mut truth = 0;
        for number in 0..200_000_u64 {
            rules.with("api", |row| sketch.touch(row, spread(1_000 + number), false));
            if number % 10 == 0 {
                let often = spread(number / 10 % 10);
                rules.with("api", |row| sketch.touch(row, often, true));
                truth += u64::from(number / 10 % 10 == 0);
            }
        }
        let (asked, refused) = sketch.frequent(10);
        let often: Vec<String> = (0..10).map(|number| hash(spread(number))).collect();
        for list in [&asked, &refused] {
            assert!(list.iter().all(|own| often.contains(&own.hash)), "{list:?}");
            let own = list.iter().find(|own| own.hash == often[0]).unwrap();
            assert!(own.count >= truth && own.count - own.error <= truth, "{own:?}, {truth}");
        }
        assert_eq!(sketch.frequent(usize::MAX).0.len(), ENTRIES_MAX);
        assert_eq!(sketch.frequent(usize::MAX).1.len(), 10);
    }

    /// Goal: the same key under two rules is two entries; its text is kept once it has stayed, and asked for
    /// no more than once for each list.
    /// Method: touch and name in turn; count how often the text is asked for.
    #[test]
    fn texts_are_kept_for_keys_that_stay() {
        let (rules, sketch) = (Rules::default(), Sketch::default());
        let asked = std::cell::Cell::new(0);
        let key = || {
            asked.set(asked.get() + 1);
            vec![part(KeyKind::User, "alice"), part(KeyKind::Path, &"x".repeat(2 * KEY_CHARS_MAX))]
        };
        for _ in 0..5 {
            rules.with("one", |row| sketch.name(row, 7, &key));
            rules.with("one", |row| sketch.touch(row, 7, false));
        }
        rules.with("other-rule", |row| sketch.touch(row, 7, false));
        let (list, refused) = sketch.frequent(5);
        assert_eq!((list.len(), refused.len(), asked.get()), (2, 0, 1));
        assert_eq!((list[0].count, list[1].count), (5, 1));
        let parts = list[0].key.as_ref().unwrap();
        assert_eq!((&*parts[0], parts[1].chars().count()), ("alice", KEY_CHARS_MAX + 1));
        let kinds = list[0].kinds.as_ref().unwrap();
        assert_eq!((&kinds[..], list[0].cut), (&["user".to_owned(), "path".to_owned()][..], true));
        assert!(list[1].key.is_none() && !sketch.wants_keys());
    }

    /// Goal: a flood of keys that come once leaves no text wanted, so that nobody looks for any.
    /// Method: keys that stay, then enough others to drive them out.
    #[test]
    fn who_is_driven_out_is_wanted_no_more() {
        let (rules, sketch) = (Rules::default(), Sketch::default());
        for number in 0..2_000_u64 {
            for _ in 0..STAYS {
                rules.with("api", |row| sketch.touch(row, spread(number), false));
            }
        }
        assert!(sketch.wants_keys());
        for number in 0..2_000_u64 {
            rules.with("api", |row| {
                sketch.name(row, spread(number), &|| vec![part(KeyKind::Ip, "k")]);
            });
        }
        assert!(!sketch.wants_keys());
    }
}
