//! Permits with an identity, for callers that are not in this process: each ends with its time.
//!
//! What is held is counted in the store, like any permit; here is only who holds it until when.
//! Invariants: a permit is given back once, by its holder or by its end; whoever asks a concurrency
//! limit finds none that has ended; there are never more than `most`.

use crate::decision::PermitId;
use crate::store::Receipt;
use crate::store::memory::Memory;
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU64;

pub(super) struct Leases {
    /// When the next one ends; so that who has none to end need not look.
    next: AtomicU64,
    /// Room for so many more.
    room: AtomicUsize,
    /// Makes identities that cannot be guessed.
    secret: RandomState,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    by_id: BTreeMap<PermitId, Vec<Part>>,
    by_end: BTreeSet<(u64, PermitId)>,
    count: u64,
}

/// What a permit holds of one limit, and until when.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) end: u64,
    pub(super) receipt: Receipt,
}

/// The right to one more lease.
pub(super) struct Room<'a>(&'a Leases);

impl Leases {
    pub(super) fn new(most: usize) -> Leases {
        let (next, room) = (AtomicU64::new(u64::MAX), AtomicUsize::new(most));
        Leases { next, room, secret: RandomState::new(), book: Mutex::new(Book::default()) }
    }

    /// Gives back what has ended. Who finds `next` moved on finds it given back, too.
    #[inline]
    pub(super) fn expire(&self, store: &Memory, now: impl FnOnce() -> u64) {
        let next = self.next.load(Ordering::Acquire);
        if next < u64::MAX {
            let now = now();
            if next <= now {
                self.expire_until(store, now);
            }
        }
    }

    #[cold]
    fn expire_until(&self, store: &Memory, now: u64) {
        let mut book = lock(&self.book);
        while let Some(&(_, id)) = book.by_end.first().filter(|(end, _)| *end <= now) {
            self.end(&mut book, store, id, |part| part.end <= now);
        }
    }

    /// Room for one more, before anything is charged for it.
    pub(super) fn room(&self) -> Option<Room<'_>> {
        let less = |room: usize| room.checked_sub(1);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        Some(Room(self))
    }

    /// Gives a permit back; `false` if there is none of this name, or no longer.
    pub(super) fn release(&self, store: &Memory, id: PermitId) -> bool {
        self.end(&mut lock(&self.book), store, id, |_| true)
    }

    /// Gives back what permits hold of this bucket.
    pub(super) fn forget(&self, store: &Memory, bucket: u64) {
        let mut book = lock(&self.book);
        let of_bucket = |part: &Part| part.receipt.is_of(bucket);
        let holding = book.by_id.iter().filter(|(_, parts)| parts.iter().any(of_bucket));
        let ids: Vec<PermitId> = holding.map(|(id, _)| *id).collect();
        for id in ids {
            self.end(&mut book, store, id, of_bucket);
        }
    }

    /// Gives back the parts of a permit that are `over`; `false` if there is no such permit.
    fn end(
        &self,
        book: &mut Book,
        store: &Memory,
        id: PermitId,
        over: impl Fn(&Part) -> bool,
    ) -> bool {
        let Some(parts) = book.by_id.remove(&id) else { return false };
        for part in &parts {
            book.by_end.remove(&(part.end, id));
        }
        let (gone, kept): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(over);
        for Part { receipt, .. } in &gone {
            store.release(receipt.bucket(), receipt.units());
        }
        if kept.is_empty() {
            self.room.fetch_add(1, Ordering::Relaxed);
        } else {
            book.keep(id, kept);
        }
        self.note_next(book);
        true
    }

    fn note_next(&self, book: &Book) {
        let next = book.by_end.first().map_or(u64::MAX, |(end, _)| *end);
        self.next.store(next, Ordering::Release);
    }
}

impl Book {
    fn keep(&mut self, id: PermitId, parts: Vec<Part>) {
        self.by_end.extend(parts.iter().map(|part| (part.end, id)));
        self.by_id.insert(id, parts);
    }
}

impl Room<'_> {
    /// Notes who holds what was charged, and gives it a name.
    pub(super) fn lease(self, parts: Vec<Part>) -> PermitId {
        let leases = self.0;
        let mut book = lock(&leases.book);
        let id = loop {
            book.count += 1;
            let number = NonZeroU64::new(leases.secret.hash_one(book.count));
            let fresh = |id: &PermitId| !book.by_id.contains_key(id);
            if let Some(id) = number.map(PermitId).filter(fresh) {
                break id;
            }
        };
        book.keep(id, parts);
        leases.note_next(&book);
        std::mem::forget(self);
        id
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.0.room.fetch_add(1, Ordering::Relaxed);
    }
}
