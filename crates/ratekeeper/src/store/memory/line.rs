//! A line of slots with its lock: what one access to memory brings.
//!
//! The lock is a bit of the first tag, so that taking it touches nothing but the line itself; all
//! words are atomics, so that this is safe code. Invariants: tags and words change only under the
//! lock; the taken slots of a line come first; a tag of zero is an empty slot.

use crate::sync::{AtomicU64, Ordering, pause};
use std::array;

/// Set in the first tag while somebody holds the line.
const LOCKED: u64 = 0b10;

/// Set in a tag if the last charge left nothing or was refused: such a bucket is not evicted before
/// it is whole again.
const SPENT: u64 = 0b01;

const FLAGS: u64 = LOCKED | SPENT;

/// What marks the bucket with this fingerprint: its lower 62 bits. The others are known from the
/// shard. Never zero, which is the empty slot's.
#[inline]
pub(super) fn tag_of(bucket: u64) -> u64 {
    match bucket << 2 {
        0 => FLAGS + 1,
        tag => tag,
    }
}

/// `S` slots of a tag and `N` words each.
#[repr(align(64))]
pub(super) struct Line<const N: usize, const S: usize> {
    tags: [AtomicU64; S],
    words: [[AtomicU64; N]; S],
}

/// A slot as it was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen<const N: usize> {
    pub(super) tag: u64,
    pub(super) spent: bool,
    pub(super) words: [u64; N],
}

impl<const N: usize, const S: usize> Line<N, S> {
    pub(super) fn empty() -> Line<N, S> {
        let word = || AtomicU64::new(0);
        Line {
            tags: array::from_fn(|_| word()),
            words: array::from_fn(|_| array::from_fn(|_| word())),
        }
    }

    pub(super) fn first_tag(&self) -> &AtomicU64 {
        &self.tags[0]
    }

    /// Which slot has this tag, for the moment.
    #[inline]
    pub(super) fn position(&self, tag: u64) -> Option<usize> {
        self.tags.iter().position(|other| other.load(Ordering::Relaxed) & !FLAGS == tag)
    }

    /// Whether there was no empty slot a moment ago.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.tags[S - 1].load(Ordering::Relaxed) & !FLAGS != 0
    }

    /// The slots in turn, each as it is at its moment; the empty ones left out.
    pub(super) fn glance(&self) -> impl Iterator<Item = (usize, Seen<N>)> + '_ {
        (0..S).filter_map(|slot| {
            let tag = self.tags[slot].load(Ordering::Relaxed);
            let words = array::from_fn(|word| self.words[slot][word].load(Ordering::Relaxed));
            let seen = Seen { tag: tag & !FLAGS, spent: tag & SPENT != 0, words };
            (seen.tag != 0).then_some((slot, seen))
        })
    }

    /// Waits until the line is free, and takes it.
    #[inline]
    pub(super) fn lock(&self) -> Locked<'_, N, S> {
        let mut tried = 0;
        loop {
            let first = self.tags[0].load(Ordering::Relaxed) & !LOCKED;
            let taken = self.tags[0].compare_exchange(
                first,
                first | LOCKED,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if taken.is_ok() {
                return Locked { line: self, first };
            }
            pause(tried);
            tried += 1;
        }
    }
}

/// A line that is held; free again when dropped.
pub(super) struct Locked<'a, const N: usize, const S: usize> {
    line: &'a Line<N, S>,
    /// The first tag, without the lock.
    first: u64,
}

impl<const N: usize, const S: usize> Locked<'_, N, S> {
    /// Whether the slot still has this tag.
    #[inline]
    pub(super) fn has(&self, slot: usize, tag: u64) -> bool {
        self.flagged(slot) & !FLAGS == tag
    }

    #[inline]
    pub(super) fn words(&self, slot: usize) -> [u64; N] {
        array::from_fn(|word| self.line.words[slot][word].load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn write(&mut self, slot: usize, seen: Seen<N>) {
        self.set_flagged(slot, seen.tag | u64::from(seen.spent));
        for (word, value) in self.line.words[slot].iter().zip(seen.words) {
            word.store(value, Ordering::Relaxed);
        }
    }

    pub(super) fn seen(&self, slot: usize) -> Seen<N> {
        let tag = self.flagged(slot);
        Seen { tag: tag & !FLAGS, spent: tag & SPENT != 0, words: self.words(slot) }
    }

    /// Writes into the first empty slot; `false` if there is none.
    pub(super) fn push(&mut self, seen: Seen<N>) -> bool {
        let empty = (0..S).find(|slot| self.has(*slot, 0));
        empty.map(|slot| self.write(slot, seen)).is_some()
    }

    /// Empties a slot; the last taken one fills the gap. Says whether the line was full.
    pub(super) fn take(&mut self, slot: usize) -> bool {
        let last = (0..S).rev().find(|slot| !self.has(*slot, 0)).unwrap_or(slot);
        self.write(slot, self.seen(last));
        self.set_flagged(last, 0);
        last == S - 1
    }

    pub(super) fn clear(&mut self) {
        (0..S).for_each(|slot| self.set_flagged(slot, 0));
    }

    #[inline]
    pub(super) fn set_spent(&mut self, slot: usize) {
        self.set_flagged(slot, self.flagged(slot) | SPENT);
    }

    #[inline]
    fn flagged(&self, slot: usize) -> u64 {
        if slot == 0 { self.first } else { self.line.tags[slot].load(Ordering::Relaxed) }
    }

    #[inline]
    fn set_flagged(&mut self, slot: usize, tag: u64) {
        if slot == 0 {
            self.first = tag;
        } else {
            self.line.tags[slot].store(tag, Ordering::Relaxed);
        }
    }
}

impl<const N: usize, const S: usize> Drop for Locked<'_, N, S> {
    #[inline]
    fn drop(&mut self) {
        self.line.tags[0].store(self.first, Ordering::Release);
    }
}
