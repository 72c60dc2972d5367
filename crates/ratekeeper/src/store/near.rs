//! A bounded table of what a process knows of some buckets by itself.
//!
//! Names of buckets are keyed hashes already, so they are used as they are; parts of the table have a lock each.
//! Invariant: no part holds more than its cap.

use crate::sync::{Mutex, MutexGuard, lock};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Parts of the table.
const PARTS: usize = 64;

/// Bits of a name that choose the part: others than those by which a map finds its place.
const PART_SHIFT: u32 = 40;

pub(crate) type Map<T> = HashMap<u64, T, BuildHasherDefault<Same>>;

pub(crate) struct Table<T> {
    parts: Box<[Mutex<Map<T>>]>,
    /// Most entries of a part.
    cap: usize,
}

impl<T> Table<T> {
    /// For about so many entries.
    pub(crate) fn new(entries: usize) -> Table<T> {
        let parts = (0..PARTS).map(|_| Mutex::new(Map::default())).collect();
        Table { parts, cap: entries.div_ceil(PARTS) }
    }

    /// The part that has a bucket's entry, if there is one.
    #[inline]
    pub(crate) fn part(&self, bucket: u64) -> MutexGuard<'_, Map<T>> {
        lock(&self.parts[(bucket >> PART_SHIFT) as usize % PARTS])
    }

    /// Puts an entry in; `false` if its part is full.
    pub(crate) fn put(&self, bucket: u64, entry: T) -> bool {
        let mut part = self.part(bucket);
        let has_room = part.len() < self.cap || part.contains_key(&bucket);
        if has_room {
            part.insert(bucket, entry);
        }
        has_room
    }

    /// The same of a cache: what is `over` makes room, and if that is little, all the rest of the part does, so that
    /// not each newcomer has to look for it.
    pub(crate) fn cache(&self, bucket: u64, entry: T, over: impl Fn(&T) -> bool) {
        let mut part = self.part(bucket);
        if part.len() >= self.cap {
            part.retain(|_, entry| !over(entry));
            if part.len() > self.cap / 4 * 3 {
                part.clear();
            }
        }
        part.insert(bucket, entry);
    }

    /// Each part in turn.
    pub(crate) fn each(&self, mut act: impl FnMut(&mut Map<T>)) {
        self.parts.iter().for_each(|part| act(&mut lock(part)));
    }
}

/// A hash is its own hash.
#[derive(Clone, Copy, Default)]
pub(crate) struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    /// Goal: a part that is full takes nobody new, and changes who is there.
    /// Method: names of one part, up to its cap and beyond.
    #[test]
    fn a_full_part_takes_nobody_new() {
        let table = Table::new(64 * 3);
        assert!((0..3).all(|name| table.put(name, name + 10)));
        assert!(!table.put(3, 13), "it is full");
        assert!(table.put(2, 22), "who is there already may change");
        let part = table.part(0);
        assert_eq!((part.len(), part.get(&2), part.get(&3)), (3, Some(&22), None));
    }

    /// Goal: a cache that is full forgets what is over; if that is little, the rest of the part.
    /// Method: eight names of a part for eight, of which six are over, and one more; then of which none is.
    #[test]
    fn a_full_cache_makes_room() {
        let table = Table::new(64 * 8);
        let over = |entry: &u64| *entry < 6;
        (0..8).for_each(|name| table.cache(name, name, over));
        table.cache(8, 8, over);
        let mut names: Vec<u64> = table.part(0).keys().copied().collect();
        names.sort_unstable();
        assert_eq!(names, [6, 7, 8]);
        (9..14).for_each(|name| table.cache(name, name, over));
        assert_eq!(table.part(0).len(), 8);
        table.cache(14, 14, over);
        assert_eq!(table.part(0).len(), 1, "none was over");
    }
}
