//! A flat table of buckets: open addressing, line by line, in pages that never move.
//!
//! A line fills one or two lines of the processor's cache, so that a bucket is mostly found with one
//! access to memory. Pages are all of one size and are only added, so that growing leaves no gaps
//! in the heap. Invariants: at most four of five slots are taken, so every search ends; the taken
//! slots of a line come first; a bucket lies in its home line, or in a later one if all lines
//! between are full; a tag of zero is an empty slot.

use super::words::whole_at;

/// Buckets of one word: 16 bytes each.
pub(super) type OneWord = Slots<1, 4>;

/// Buckets of two words: 24 bytes each, and 8 unused in five of them.
pub(super) type TwoWords = Slots<2, 5>;

/// Lines of a page; a table smaller than that is one page of its size.
const PAGE: usize = 32;

/// Lines that are looked at for a bucket to give way, from the newcomer's home on.
const NEIGHBOURS: usize = 8;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line<const N: usize, const S: usize> {
    /// The fingerprint, shifted up by one: the bit that falls out is known from the shard. The bit
    /// that comes in says that the last charge left nothing: such a bucket is not evicted before it
    /// is whole again.
    tags: [u64; S],
    words: [[u64; N]; S],
}

const SPENT: u64 = 1;

pub(super) struct Slots<const N: usize, const S: usize> {
    pages: Vec<Box<[Line<N, S>]>>,
    lines: usize,
    len: usize,
}

/// One bucket in the table.
pub(super) struct Slot<'a, const N: usize> {
    tag: &'a mut u64,
    words: &'a mut [u64; N],
}

impl<const N: usize> Slot<'_, N> {
    #[inline]
    pub(super) fn words(&self) -> [u64; N] {
        *self.words
    }

    #[inline]
    pub(super) fn write(self, words: [u64; N], spent: bool) {
        *self.tag = *self.tag & !SPENT | u64::from(spent);
        *self.words = words;
    }
}

/// Where a bucket is: line and slot.
pub(super) type Place = (usize, usize);

impl<const N: usize, const S: usize> Slots<N, S> {
    const EMPTY: Line<N, S> = Line { tags: [0; S], words: [[0; N]; S] };

    pub(super) fn new() -> Slots<N, S> {
        Slots { pages: Vec::new(), lines: 0, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        self.lines * size_of::<Line<N, S>>()
            + self.pages.capacity() * size_of::<Box<[Line<N, S>]>>()
    }

    #[inline]
    pub(super) fn get(&mut self, bucket: u64) -> Option<Slot<'_, N>> {
        let (line, slot) = self.find(bucket)?;
        let line = self.line_mut(line);
        Some(Slot { tag: &mut line.tags[slot], words: &mut line.words[slot] })
    }

    #[inline]
    pub(super) fn find(&self, bucket: u64) -> Option<Place> {
        let tag = tag_of(bucket);
        let mut index = self.home(tag);
        loop {
            let line = self.pages.get(index / PAGE)?.get(index % PAGE)?;
            if let Some(slot) = line.tags.iter().position(|other| other & !SPENT == tag) {
                return Some((index, slot));
            }
            if line.tags[S - 1] == 0 {
                return None;
            }
            index = self.next(index);
        }
    }

    /// The first word that looking for the bucket reads, so that it is on its way.
    #[inline]
    pub(super) fn touch(&self, bucket: u64) -> u64 {
        if self.lines == 0 { 0 } else { self.line(self.home(tag_of(bucket))).tags[0] }
    }

    /// Gives a bucket that is not here the place of one in its way that is whole again.
    pub(super) fn reuse(&mut self, now: u64, bucket: u64, mine: &[u64]) -> bool {
        if self.lines == 0 {
            return false;
        }
        let mut index = self.home(tag_of(bucket));
        loop {
            let line = self.line_mut(index);
            for slot in 0..S {
                let tag = line.tags[slot];
                if tag != 0 && whole_at(line.words[slot][0]) <= now && !is_mine(tag, mine) {
                    line.tags[slot] = tag_of(bucket);
                    line.words[slot] = [0; N];
                    return true;
                }
            }
            if line.tags[S - 1] == 0 {
                return false;
            }
            index = self.next(index);
        }
    }

    /// Adds a bucket that is not here; returns how many that are whole again were dropped to make
    /// space.
    pub(super) fn add(&mut self, now: u64, bucket: u64, mine: &[u64]) -> usize {
        let full = (self.len + 1) * 5 > self.lines * S * 4;
        let dropped = if full { self.rebuild(now, mine) } else { 0 };
        self.put(tag_of(bucket), [0; N]);
        dropped
    }

    /// Of the neighbours, the one nearest to whole, and when it is; never one that was spent and is
    /// not whole yet.
    pub(super) fn victim(&self, now: u64, bucket: u64, mine: &[u64]) -> Option<(Place, u64)> {
        let home = self.home(tag_of(bucket));
        let near = (home..self.lines).chain(0..home).take(NEIGHBOURS);
        let slots = near.flat_map(|line| (0..S).map(move |slot| (line, slot)));
        slots
            .filter_map(|(index, slot)| {
                let line = self.line(index);
                let (tag, whole_at) = (line.tags[slot], whole_at(line.words[slot][0]));
                let may_go =
                    tag != 0 && (tag & SPENT == 0 || whole_at <= now) && !is_mine(tag, mine);
                may_go.then_some(((index, slot), whole_at))
            })
            .min_by_key(|(_, whole_at)| *whole_at)
    }

    /// Empties a slot. If its line was full, buckets that had to pass it may now come back.
    pub(super) fn remove(&mut self, (mut hole, slot): Place) {
        self.len -= 1;
        let mut was_full = self.take(hole, slot);
        let mut index = self.next(hole);
        while was_full {
            let passed = (0..S).find(|slot| {
                let tag = self.line(index).tags[*slot];
                tag != 0 && self.distance(self.home(tag), index) >= self.distance(hole, index)
            });
            was_full = self.line(index).tags[S - 1] != 0;
            if let Some(slot) = passed {
                let (tag, words) = (self.line(index).tags[slot], self.line(index).words[slot]);
                self.put_in(hole, tag, words);
                self.take(index, slot);
                hole = index;
            }
            index = self.next(index);
        }
    }

    /// Makes a table for the buckets that are not whole yet, with some space to grow.
    fn rebuild(&mut self, now: u64, mine: &[u64]) -> usize {
        let mut live = Vec::with_capacity(self.len);
        for line in self.pages.iter().flatten() {
            let taken = line.tags.into_iter().zip(line.words).filter(|(tag, _)| *tag != 0);
            live.extend(
                taken.filter(|(tag, words)| whole_at(words[0]) > now || is_mine(*tag, mine)),
            );
        }
        let dropped = self.len - live.len();
        self.resize((live.len() * 10 / 7 + 1).div_ceil(S) + 1);
        self.len = 0;
        live.into_iter().for_each(|(tag, words)| self.put(tag, words));
        dropped
    }

    /// As many empty lines, in whole pages once there is more than one.
    fn resize(&mut self, lines: usize) {
        let (pages, of) = if lines <= PAGE { (1, lines) } else { (lines.div_ceil(PAGE), PAGE) };
        self.pages.retain(|page| page.len() == of);
        self.pages.truncate(pages);
        self.pages.iter_mut().for_each(|page| page.fill(Self::EMPTY));
        self.pages.reserve_exact(pages - self.pages.len());
        self.pages.resize_with(pages, || vec![Self::EMPTY; of].into_boxed_slice());
        self.lines = pages * of;
    }

    fn put(&mut self, tag: u64, words: [u64; N]) {
        let mut index = self.home(tag);
        while self.line(index).tags[S - 1] != 0 {
            index = self.next(index);
        }
        self.put_in(index, tag, words);
        self.len += 1;
    }

    /// Into a line that is not full.
    fn put_in(&mut self, index: usize, tag: u64, words: [u64; N]) {
        let line = self.line_mut(index);
        if let Some(slot) = line.tags.iter().position(|tag| *tag == 0) {
            (line.tags[slot], line.words[slot]) = (tag, words);
        }
    }

    /// Out of a line; its last bucket fills the gap. Says whether the line was full.
    fn take(&mut self, index: usize, slot: usize) -> bool {
        let line = self.line_mut(index);
        let last = line.tags.iter().rposition(|tag| *tag != 0).unwrap_or(slot);
        (line.tags[slot], line.words[slot]) = (line.tags[last], line.words[last]);
        line.tags[last] = 0;
        last == S - 1
    }

    #[inline]
    fn line(&self, index: usize) -> &Line<N, S> {
        &self.pages[index / PAGE][index % PAGE]
    }

    #[inline]
    fn line_mut(&mut self, index: usize) -> &mut Line<N, S> {
        &mut self.pages[index / PAGE][index % PAGE]
    }

    /// Where a search begins: the lower 32 bits of the fingerprint, scaled to the table.
    #[inline]
    fn home(&self, tag: u64) -> usize {
        (((tag >> 1 & 0xffff_ffff) * self.lines as u64) >> 32) as usize
    }

    #[inline]
    fn next(&self, index: usize) -> usize {
        if index + 1 == self.lines { 0 } else { index + 1 }
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.lines - from }
    }
}

/// Never zero, which is the empty slot's.
#[inline]
fn tag_of(bucket: u64) -> u64 {
    match bucket << 1 {
        0 => 2,
        tag => tag,
    }
}

fn is_mine(tag: u64, mine: &[u64]) -> bool {
    mine.iter().any(|&bucket| tag_of(bucket) == tag & !SPENT)
}
