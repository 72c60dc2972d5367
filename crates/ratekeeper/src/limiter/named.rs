//! A table of what callers outside of this process hold, by name, each until its end.
//!
//! Invariants: there are never more than the most; a name cannot be guessed; who asks after `expire`
//! finds nothing that has ended, and nothing is taken out twice.

use crate::sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering, lock};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU64;

pub(super) struct Named<T> {
    /// When the next one ends; so that who has none to end need not look.
    next: AtomicU64,
    /// Room for so many more.
    room: AtomicUsize,
    /// Makes names that cannot be guessed.
    secret: RandomState,
    book: Mutex<Book<T>>,
}

struct Book<T> {
    by_name: BTreeMap<NonZeroU64, (u64, T)>,
    by_end: BTreeSet<(u64, NonZeroU64)>,
    count: u64,
}

/// The right to one more.
pub(super) struct Room<'a, T>(&'a Named<T>);

impl<T> Named<T> {
    pub(super) fn new(most: usize) -> Named<T> {
        let book = Book { by_name: BTreeMap::new(), by_end: BTreeSet::new(), count: 0 };
        let (next, room) = (AtomicU64::new(u64::MAX), AtomicUsize::new(most));
        Named { next, room, secret: RandomState::new(), book: Mutex::new(book) }
    }

    /// Ends what is due: `end` is handed each, and gives back what of it is left, and until when. Who
    /// finds `next` moved on finds that done, too.
    #[inline]
    pub(super) fn expire(
        &self,
        now: impl FnOnce() -> u64,
        end: impl FnMut(u64, T) -> Option<(u64, T)>,
    ) {
        let next = self.next.load(Ordering::Acquire);
        if next < u64::MAX {
            let now = now();
            if next <= now {
                self.expire_until(now, end);
            }
        }
    }

    #[cold]
    fn expire_until(&self, now: u64, mut end: impl FnMut(u64, T) -> Option<(u64, T)>) {
        let mut book = lock(&self.book);
        while let Some(&(_, name)) = book.by_end.first().filter(|(at, _)| *at <= now) {
            let rest = book.remove(name).and_then(|held| end(now, held));
            self.put_back(&mut book, name, rest);
        }
        self.note_next(&book);
    }

    /// Hands everything over for which `is` holds, and keeps what of it is left.
    pub(super) fn change(
        &self,
        is: impl Fn(&T) -> bool,
        mut change: impl FnMut(T) -> Option<(u64, T)>,
    ) {
        let mut book = lock(&self.book);
        let found = book.by_name.iter().filter(|(_, (_, held))| is(held));
        let names: Vec<NonZeroU64> = found.map(|(name, _)| *name).collect();
        for name in names {
            let rest = book.remove(name).and_then(&mut change);
            self.put_back(&mut book, name, rest);
        }
        self.note_next(&book);
    }

    /// Takes out what has this name, and hands it to `last` before anyone else sees the table.
    pub(super) fn take<R>(&self, name: NonZeroU64, last: impl FnOnce(T) -> R) -> Option<R> {
        let mut book = lock(&self.book);
        let held = book.remove(name)?;
        let done = last(held);
        self.put_back(&mut book, name, None);
        self.note_next(&book);
        Some(done)
    }

    /// Room for one more, before anything is charged for it.
    pub(super) fn room(&self) -> Option<Room<'_, T>> {
        let less = |room: usize| room.checked_sub(1);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        Some(Room(self))
    }

    fn put_back(&self, book: &mut Book<T>, name: NonZeroU64, rest: Option<(u64, T)>) {
        match rest {
            Some((end, held)) => book.insert(name, end, held),
            None => _ = self.room.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn note_next(&self, book: &MutexGuard<'_, Book<T>>) {
        let next = book.by_end.first().map_or(u64::MAX, |(end, _)| *end);
        self.next.store(next, Ordering::Release);
    }
}

impl<T> Book<T> {
    fn insert(&mut self, name: NonZeroU64, end: u64, held: T) {
        self.by_end.insert((end, name));
        self.by_name.insert(name, (end, held));
    }

    fn remove(&mut self, name: NonZeroU64) -> Option<T> {
        let (end, held) = self.by_name.remove(&name)?;
        self.by_end.remove(&(end, name));
        Some(held)
    }
}

impl<T> Room<'_, T> {
    /// Keeps something until its end, and gives it a name.
    pub(super) fn keep(self, end: u64, held: T) -> NonZeroU64 {
        let table = self.0;
        let mut book = lock(&table.book);
        let name = loop {
            book.count += 1;
            let number = NonZeroU64::new(table.secret.hash_one(book.count));
            if let Some(name) = number.filter(|name| !book.by_name.contains_key(name)) {
                break name;
            }
        };
        book.insert(name, end, held);
        table.note_next(&book);
        // The room is taken now, not given back.
        std::mem::forget(self);
        name
    }
}

impl<T> Drop for Room<'_, T> {
    fn drop(&mut self) {
        self.0.room.fetch_add(1, Ordering::Relaxed);
    }
}
