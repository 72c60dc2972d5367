//! Buckets on their way out of one process and into another.
//!
//! Invariant: what is taken in charges nobody less than what was given out. Permits stay behind: who held
//! them is gone.

use super::Memory;
use super::line::Seen;
use super::place::Count;
use super::shard::Shard;
use super::slots::Slots;
use super::words::whole_at;
use crate::algorithm::NOW_MAX;
use crate::algorithm::sliding_log::Log;

/// One bucket, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    One { bucket: u64, spent: bool, words: [u64; 1] },
    Two { bucket: u64, spent: bool, words: [u64; 2] },
    Log { bucket: u64, spent: bool, whole_at: u64, entries: Vec<(u64, u64)> },
}

impl Memory {
    /// Hands over every bucket that is not whole yet, each as it is at its moment.
    pub(crate) fn each_kept(&self, now: u64, mut each: impl FnMut(Kept)) {
        // The last shard is what newcomers share, which is nobody's own.
        for (index, shard) in self.shards[..self.overflow()].iter().enumerate() {
            let upper = (index as u64).checked_shl(self.shift).unwrap_or(0);
            // Nothing moves while the book is held; what is done with the buckets may take a while.
            let (shard, mut kept) = (&shard.0, Vec::new());
            let book = shard.book();
            slots(&shard.one, now, |Seen { tag, spent, words }| {
                kept.push(Kept::One { bucket: upper | tag >> 2, spent, words });
            });
            slots(&shard.two, now, |Seen { tag, spent, words }| {
                kept.push(Kept::Two { bucket: upper | tag >> 2, spent, words });
            });
            book.logs.each_kept(now, &mut |own| kept.push(own));
            drop(book);
            kept.into_iter().for_each(&mut each);
        }
    }

    /// Takes a bucket in, if there is room and none of its name; says whether it did.
    pub(crate) fn take_in(&self, now: u64, kept: Kept) -> bool {
        let bucket = match kept {
            Kept::One { bucket, .. } | Kept::Two { bucket, .. } | Kept::Log { bucket, .. } => {
                bucket
            }
        };
        self.shards.get(self.shard_of(bucket)).is_some_and(|shard| shard.0.take_in(now, kept))
    }
}

/// The buckets of a table that are not whole yet, permits left out.
fn slots<const N: usize, const S: usize>(
    slots: &Slots<N, S>,
    now: u64,
    mut each: impl FnMut(Seen<N>),
) {
    let mut index = 0;
    while let Some(line) = slots.line(index).filter(|_| index < slots.lines()) {
        let locked = line.lock();
        let seen = (0..S).map(|slot| locked.seen(slot)).filter(|seen| seen.tag != 0);
        let lives = |seen: &Seen<N>| (now + 1..=NOW_MAX).contains(&whole_at(seen.words[0]));
        let seen: Vec<Seen<N>> = seen.filter(lives).collect();
        drop(locked);
        seen.into_iter().for_each(&mut each);
        index += 1;
    }
}

impl Shard {
    fn take_in(&self, now: u64, kept: Kept) -> bool {
        let mut book = self.book();
        match kept {
            Kept::One { bucket, spent, words } => {
                self.put_kept(&self.one, &mut book.one, now, (bucket, spent, words))
            }
            Kept::Two { bucket, spent, words } => {
                self.put_kept(&self.two, &mut book.two, now, (bucket, spent, words))
            }
            Kept::Log { bucket, spent, whole_at, entries } => {
                let log = Log::of(&entries);
                book.logs.take_in(bucket, (log, whole_at, spent), |weight| self.budget.take(weight))
            }
        }
    }

    /// Puts a bucket into a table of so many, if it is not there and there is room.
    fn put_kept<const N: usize, const S: usize>(
        &self,
        slots: &Slots<N, S>,
        count: &mut Count,
        now: u64,
        (bucket, spent, words): (u64, bool, [u64; N]),
    ) -> bool {
        if count.0 >= self.most || slots.contains(bucket) || !self.budget.take(1) {
            return false;
        }
        let dropped = count.grow(|len| slots.add(now, bucket, &[], len));
        self.budget.give(dropped);
        slots.hold(bucket).map(|mut held| held.write(words, spent)).is_some()
    }
}
