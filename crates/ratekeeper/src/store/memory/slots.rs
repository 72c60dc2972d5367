//! A table of buckets: open addressing, line by line, in pages that never move.
//!
//! A bucket is found without any lock, and charged under the lock of its line alone. Adding and
//! removing are for one at a time, who holds the shard; whoever finds a bucket gone looks again.
//! Pages are all of one size and are only added, so that growing leaves no gaps in the heap.
//! Invariants: at most four of five slots are taken, so every search ends; a bucket lies in its
//! home line, or in a later one if all lines between are full; the number of lines changes only
//! while every line is locked.

use super::line::{Line, Locked, Seen, tag_of};
use super::words::whole_at;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use std::array;
use std::sync::OnceLock;

/// Buckets of one word: 16 bytes each.
pub(super) type OneWord = Slots<1, 4>;

/// Buckets of two words: 24 bytes each, and 8 unused in five of them.
pub(super) type TwoWords = Slots<2, 5>;

/// Lines of a page.
#[cfg(not(loom))]
const PAGE: usize = 32;
#[cfg(loom)]
const PAGE: usize = 2;

/// Lines that are looked at for a bucket to give way, from the newcomer's home on.
const NEIGHBOURS: usize = 8;

type Page<const N: usize, const S: usize> = OnceLock<Box<[Line<N, S>; PAGE]>>;

pub(super) struct Slots<const N: usize, const S: usize> {
    lines: AtomicUsize,
    /// As many as the most buckets can need; made when the first bucket comes, and each page when the
    /// table grows into it.
    pages: OnceLock<Box<[Page<N, S>]>>,
    most: usize,
}

/// Where a bucket is: line and slot.
pub(super) type Place = (usize, usize);

/// A bucket that could give way: where it is, and as it was seen.
pub(super) type Victim<const N: usize> = (Place, Seen<N>);

impl<const N: usize, const S: usize> Slots<N, S> {
    pub(super) fn new(most: usize) -> Slots<N, S> {
        Slots { lines: AtomicUsize::new(0), pages: OnceLock::new(), most }
    }

    pub(super) fn bytes(&self) -> usize {
        let Some(pages) = self.pages.get() else { return 0 };
        let made = pages.iter().filter(|page| page.get().is_some()).count();
        size_of_val(&**pages) + made * PAGE * size_of::<Line<N, S>>()
    }

    /// Whether the bucket is here.
    pub(super) fn contains(&self, bucket: u64) -> bool {
        self.locate(bucket).is_some()
    }

    /// The words of a bucket, all zeros if it is not here.
    pub(super) fn words(&self, bucket: u64) -> [u64; N] {
        self.hold(bucket).map_or([0; N], |held| held.words())
    }

    /// The first word that looking for the bucket reads.
    #[inline]
    pub(super) fn first_tag(&self, bucket: u64) -> Option<&AtomicU64> {
        let lines = self.lines();
        if lines == 0 { None } else { Some(self.line(home(tag_of(bucket), lines))?.first_tag()) }
    }

    /// Takes a bucket, if it is here, for oneself alone.
    #[inline]
    pub(super) fn hold(&self, bucket: u64) -> Option<Held<'_, N, S>> {
        let tag = tag_of(bucket);
        loop {
            let (index, slot) = self.find(tag)?;
            let line = self.line(index)?.lock();
            if line.has(slot, tag) {
                return Some(Held { line, slot, tag });
            }
        }
    }

    /// Gives a bucket that is not here the place of one in its way that is whole again.
    pub(super) fn reuse(&self, now: u64, bucket: u64, mine: &[u64]) -> bool {
        let mut index = self.home(tag_of(bucket));
        while let Some(line) = self.line(index) {
            let mut locked = line.lock();
            for slot in 0..S {
                let seen = locked.seen(slot);
                if seen.tag != 0 && whole_at(seen.words[0]) <= now && !is_mine(seen.tag, mine) {
                    locked.write(slot, Self::fresh(bucket));
                    return true;
                }
            }
            if locked.has(S - 1, 0) {
                return false;
            }
            index = self.next(index);
        }
        false
    }

    /// Adds a bucket that is not here to the `len` that are; returns how many of them were dropped,
    /// being whole again, to make space.
    pub(super) fn add(&self, now: u64, bucket: u64, mine: &[u64], len: usize) -> usize {
        let full = (len + 1) * 5 > self.lines() * S * 4;
        let dropped = if full { self.rebuild(now, mine) } else { 0 };
        let mut index = self.home(tag_of(bucket));
        while let Some(line) = self.line(index) {
            if line.lock().push(Self::fresh(bucket)) {
                break;
            }
            index = self.next(index);
        }
        dropped
    }

    /// Of the neighbours, the one nearest to whole; never one that was spent and is not whole yet.
    pub(super) fn victim(&self, now: u64, bucket: u64, mine: &[u64]) -> Option<Victim<N>> {
        let home = self.home(tag_of(bucket));
        let near = (home..self.lines()).chain(0..home).take(NEIGHBOURS);
        let lines = near.filter_map(|index| Some((index, self.line(index)?)));
        lines
            .flat_map(|(index, line)| line.glance().map(move |(slot, seen)| ((index, slot), seen)))
            .filter(|(_, seen)| !seen.spent || whole_at(seen.words[0]) <= now)
            .filter(|(_, seen)| !is_mine(seen.tag, mine))
            .min_by_key(|(_, seen)| whole_at(seen.words[0]))
    }

    /// Empties a slot, if it is still as it was seen.
    pub(super) fn evict(&self, (place, seen): Victim<N>) -> bool {
        self.remove_if(place, |now| now == seen)
    }

    /// Forgets a bucket; says whether it was here.
    pub(super) fn remove(&self, bucket: u64) -> bool {
        let tag = tag_of(bucket);
        self.find(tag).is_some_and(|place| self.remove_if(place, |seen| seen.tag == tag))
    }

    /// Empties a slot. If its line was full, buckets that had to pass it come back.
    fn remove_if(&self, (index, slot): Place, may: impl FnOnce(Seen<N>) -> bool) -> bool {
        let Some(mut hole) = self.line(index).map(Line::lock) else { return false };
        if !may(hole.seen(slot)) {
            return false;
        }
        let (mut hole_at, mut index) = (index, self.next(index));
        let mut was_full = hole.take(slot);
        while let Some(line) = self.line(index).filter(|_| was_full) {
            let mut line = line.lock();
            was_full = !line.has(S - 1, 0);
            let passed = (0..S).find(|slot| {
                let tag = line.seen(*slot).tag;
                tag != 0 && self.distance(self.home(tag), index) >= self.distance(hole_at, index)
            });
            if let Some(slot) = passed {
                hole.push(line.seen(slot));
                line.take(slot);
                (hole_at, hole) = (index, line);
            }
            index = self.next(index);
        }
        true
    }

    /// Makes a table for the buckets that are not whole yet, with some space to grow; returns how
    /// many others there were.
    fn rebuild(&self, now: u64, mine: &[u64]) -> usize {
        let (former, mut dropped) = (self.lines(), 0);
        let mut locked: Vec<Locked<'_, N, S>> =
            (0..former).filter_map(|i| Some(self.line(i)?.lock())).collect();
        let mut live = Vec::new();
        for line in &mut locked {
            for seen in (0..S).map(|slot| line.seen(slot)).filter(|seen| seen.tag != 0) {
                let lives = whole_at(seen.words[0]) > now || is_mine(seen.tag, mine);
                if lives { live.push(seen) } else { dropped += 1 }
            }
            line.clear();
        }
        let lines = lines_for(live.len(), S);
        let pages = self.pages.get_or_init(|| {
            let most = lines_for(self.most, S).div_ceil(PAGE) + 1;
            (0..most).map(|_| Page::new()).collect()
        });
        for page in pages.iter().take(lines.div_ceil(PAGE)) {
            page.get_or_init(|| Box::new(array::from_fn(|_| Line::empty())));
        }
        locked.extend((former..lines).filter_map(|index| Some(self.line(index)?.lock())));
        self.lines.store(lines, Ordering::Release);
        for seen in live {
            let mut index = self.home(seen.tag);
            while !locked[index].push(seen) {
                index = self.next(index);
            }
        }
        dropped
    }

    /// Where the bucket is, for as long as nobody adds or removes.
    pub(super) fn locate(&self, bucket: u64) -> Option<Place> {
        self.find(tag_of(bucket))
    }

    /// Looks only at lines that were there when it began, since a page is made before its lines
    /// count; and at each of them once, since by now all of these may be full. Not to find a bucket
    /// without holding the book proves nothing: who needs to know opens it and looks again.
    #[inline]
    fn find(&self, tag: u64) -> Option<Place> {
        let lines = self.lines();
        let mut index = home(tag, lines);
        for _ in 0..lines {
            let line = self.line(index)?;
            if let Some(slot) = line.position(tag) {
                return Some((index, slot));
            }
            if !line.is_full() {
                return None;
            }
            index = next(index, lines);
        }
        None
    }

    #[inline]
    pub(super) fn line(&self, index: usize) -> Option<&Line<N, S>> {
        Some(&self.pages.get()?.get(index / PAGE)?.get()?[index % PAGE])
    }

    /// The line of this number, if there are so many.
    pub(super) fn line_in_use(&self, index: usize) -> Option<&Line<N, S>> {
        self.line(index).filter(|_| index < self.lines())
    }

    #[inline]
    fn lines(&self) -> usize {
        self.lines.load(Ordering::Acquire)
    }

    fn home(&self, tag: u64) -> usize {
        home(tag, self.lines())
    }

    fn next(&self, index: usize) -> usize {
        next(index, self.lines())
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.lines() - from }
    }

    fn fresh(bucket: u64) -> Seen<N> {
        Seen { tag: tag_of(bucket), spent: false, words: [0; N] }
    }
}

/// A bucket that is held for oneself alone, until dropped.
pub(super) struct Held<'a, const N: usize, const S: usize> {
    line: Locked<'a, N, S>,
    slot: usize,
    tag: u64,
}

impl<const N: usize, const S: usize> Held<'_, N, S> {
    #[inline]
    pub(super) fn words(&self) -> [u64; N] {
        self.line.words(self.slot)
    }

    #[inline]
    pub(super) fn write(&mut self, words: [u64; N], spent: bool) {
        self.line.write(self.slot, Seen { tag: self.tag, spent, words });
    }

    /// Notes that somebody was refused here, so that the bucket stays; its words are as they were.
    #[inline]
    pub(super) fn note_refusal(&mut self) {
        self.line.set_spent(self.slot);
    }
}

/// Where a search begins: the lower 32 bits of the fingerprint, scaled to the table.
#[inline]
fn home(tag: u64, lines: usize) -> usize {
    (((tag >> 2 & 0xffff_ffff) * lines as u64) >> 32) as usize
}

#[inline]
fn next(index: usize, lines: usize) -> usize {
    if index + 1 >= lines { 0 } else { index + 1 }
}

/// Lines for so many buckets, seven of ten slots taken, in whole pages.
fn lines_for(buckets: usize, slots: usize) -> usize {
    let lines = (buckets * 10 / 7 + 1).div_ceil(slots) + 1;
    if lines < PAGE { lines } else { lines.next_multiple_of(PAGE) }
}

fn is_mine(tag: u64, mine: &[u64]) -> bool {
    mine.iter().any(|&bucket| tag_of(bucket) == tag)
}
