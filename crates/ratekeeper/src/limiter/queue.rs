//! Who waits: for a turn under a shaping rule, or until it is time to ask again.
//!
//! One alarm for all of them, and no thread, task or timer for each. The lines are spread over some
//! shards by bucket, each behind a lock; the store is charged while that lock is held, so that
//! places are in the order of their turns. Invariants: a shard's `next` is no later than the first
//! one who has to be woken in it; a lock here is taken before any of the store's, and in the order of
//! the shards; nobody who waits is woken, and no waker dropped, while one is held.

mod lines;
mod sleepers;

use super::alarm::Alarm;
use crate::algorithm::bucket::{Arrival, Bucket};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, lock};
use lines::{Lines, Ticket as Place, Woken};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Shards: more than cores that would wait for each other.
#[cfg(not(loom))]
const SHARDS: usize = 32;
#[cfg(loom)]
const SHARDS: usize = 1;

/// Most that the alarm lets go under one lock.
const AT_ONCE: usize = 256;

pub(crate) struct Queues {
    shards: Vec<Shard>,
    pub(super) alarm: Alarm,
    /// Which shard the next sleeper goes to.
    sleeper: AtomicU64,
}

struct Shard {
    /// When somebody has to be woken next, for who does not hold the lock.
    next: AtomicU64,
    lines: Mutex<Lines>,
}

/// A place in a line. Whoever loses it has left without giving it up.
#[derive(Debug)]
pub(crate) struct Ticket(Place);

/// A time to be woken at.
#[derive(Debug)]
pub(crate) struct Sleeper {
    shard: usize,
    at: (u64, u64),
}

impl Default for Queues {
    fn default() -> Queues {
        let shard =
            || Shard { next: AtomicU64::new(u64::MAX), lines: Mutex::new(Lines::default()) };
        let shards = (0..SHARDS).map(|_| shard()).collect();
        Queues { shards, alarm: Alarm::default(), sleeper: AtomicU64::new(0) }
    }
}

impl Ticket {
    /// Whether the place is in the line of this bucket.
    pub(super) fn is_of(&self, bucket: u64) -> bool {
        self.0.bucket == bucket
    }
}

impl Queues {
    /// Holds the lines of these buckets.
    pub(super) fn hold(&self, buckets: impl Iterator<Item = u64>) -> Held<'_> {
        let mut wanted: Vec<usize> = buckets.map(shard_of).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut locked = wanted.into_iter().map(|shard| (shard, lock(&self.shards[shard].lines)));
        Held { queues: self, first: locked.next(), more: locked.collect(), woken: Vec::new() }
    }

    /// Holds the lines of one bucket.
    pub(super) fn hold_one(&self, bucket: u64) -> Held<'_> {
        let shard = shard_of(bucket);
        let first = Some((shard, lock(&self.shards[shard].lines)));
        Held { queues: self, first, more: Vec::new(), woken: Vec::new() }
    }

    /// Whether the place still waits for its turn; if so, `waker` will be woken then.
    pub(super) fn waits(&self, ticket: &Ticket, now: u64, waker: &Waker) -> bool {
        let place = ticket.0;
        self.with(shard_of(place.bucket), |lines, woken| {
            lines.release(place.bucket, now, woken);
            lines.waits(place, waker, woken)
        })
    }

    /// Sleeps until `tick`.
    pub(super) fn sleep(&self, tick: u64, waker: &Waker) -> Sleeper {
        let shard = self.sleeper.fetch_add(1, Ordering::Relaxed) as usize % SHARDS;
        let number = self.with(shard, |lines, _| lines.sleepers.sleep(tick, waker.clone()));
        Sleeper { shard, at: (tick, number) }
    }

    /// Whether the time has not come yet; if so, `waker` will be woken then.
    pub(super) fn sleeps(&self, sleeper: &Sleeper, now: u64, waker: &Waker) -> bool {
        let Sleeper { shard, at } = *sleeper;
        now < at.0 && self.with(shard, |lines, woken| lines.sleepers.sleeps(at, waker, woken))
    }

    /// Sleeps no longer.
    pub(super) fn rise(&self, sleeper: &Sleeper) {
        let Sleeper { shard, at } = *sleeper;
        self.with(shard, |lines, woken| lines.sleepers.rise(at, woken));
    }

    /// Wakes everyone whose time has come, and says when the next one's does; `u64::MAX` if nobody
    /// waits.
    pub(super) fn turn(&self, now: u64) -> u64 {
        let mut next = u64::MAX;
        let mut woken = Vec::new();
        for shard in &self.shards {
            while shard.next.load(Ordering::SeqCst) <= now {
                let mut lines = lock(&shard.lines);
                lines.release_due(now, AT_ONCE, &mut woken);
                shard.next.store(lines.next(), Ordering::SeqCst);
                drop(lines);
                wake(&mut woken);
            }
            next = next.min(shard.next.load(Ordering::SeqCst));
        }
        next
    }

    /// Wakes everyone, so that they ask again: whoever kept the alarm is gone.
    pub(super) fn wake_everyone(&self) {
        for shard in 0..SHARDS {
            self.with(shard, |lines, woken| lines.everyone(woken));
        }
    }

    /// Does something with the lines of one shard.
    fn with<R>(&self, shard: usize, change: impl FnOnce(&mut Lines, &mut Woken) -> R) -> R {
        let mut woken = Vec::new();
        let mut lines = lock(&self.shards[shard].lines);
        let done = change(&mut lines, &mut woken);
        self.note_next(shard, &lines);
        drop(lines);
        wake(&mut woken);
        done
    }

    /// Sets the alarm for the first one who has to be woken.
    fn note_next(&self, shard: usize, lines: &Lines) {
        let next = lines.next();
        self.shards[shard].next.store(next, Ordering::SeqCst);
        self.alarm.not_later(next);
    }
}

/// Wakes those whose time has come; others had a waker that is no longer needed.
fn wake(woken: &mut Woken) {
    for (waker, turn) in woken.drain(..) {
        if turn {
            // A waker that panics is its owner's fault; the others are woken all the same.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

/// The upper bits choose the shard of the store, so here it is the lower ones.
fn shard_of(bucket: u64) -> usize {
    bucket as usize % SHARDS
}

/// Lines that are held. When dropped, they are free first, and then those are woken whose turn it is.
pub(super) struct Held<'a> {
    queues: &'a Queues,
    first: Option<(usize, MutexGuard<'a, Lines>)>,
    more: Vec<(usize, MutexGuard<'a, Lines>)>,
    woken: Woken,
}

impl Held<'_> {
    /// Puts a waiter at the end of the line of its bucket; its turn is at `start`, if it is the first.
    pub(super) fn enter(
        &mut self,
        bucket: u64,
        turn: (&Bucket, Arrival),
        cost: u64,
        waker: &Waker,
    ) -> Ticket {
        Ticket(self.change(bucket, |lines, _| lines.enter(bucket, turn, cost, waker.clone())))
    }

    /// Notes that somebody was told its turn.
    pub(super) fn tell(&mut self, bucket: u64, cost: u64) {
        self.change(bucket, |lines, _| lines.tell(bucket, cost));
    }

    /// Gives a place up, unless its turn has come. If that moves the end of the line, returns where
    /// it is now.
    pub(super) fn leave(&mut self, ticket: &Ticket, now: u64) -> Option<Arrival> {
        self.change(ticket.0.bucket, |lines, woken| {
            lines.release(ticket.0.bucket, now, woken);
            lines.leave(ticket.0, woken)
        })
    }

    /// Whether somebody waits for a turn at this bucket.
    pub(super) fn is_waiting(&mut self, bucket: u64, now: u64) -> bool {
        self.change(bucket, |lines, woken| {
            lines.release(bucket, now, woken);
            lines.is_waiting(bucket)
        })
    }

    /// Gives the first of a line its turn now; returns where the end of the line is then.
    pub(super) fn begin_now(&mut self, bucket: u64, now: u64) -> Option<Arrival> {
        self.change(bucket, |lines, woken| {
            lines.release(bucket, now, woken);
            let end = lines.begin_now(bucket, now);
            lines.release(bucket, now, woken);
            end
        })
    }

    /// Lets those go whose turn has come; says whether there were any.
    pub(super) fn release(&mut self, bucket: u64, now: u64) -> bool {
        self.change(bucket, |lines, woken| {
            let before = woken.len();
            lines.release(bucket, now, woken);
            woken.len() > before
        })
    }

    fn change<R>(&mut self, bucket: u64, change: impl FnOnce(&mut Lines, &mut Woken) -> R) -> R {
        let shard = shard_of(bucket);
        let held = self.first.iter_mut().chain(&mut self.more).find(|(held, _)| *held == shard);
        let Some((_, lines)) = held else { return self.queues.with(shard, change) };
        let done = change(lines, &mut self.woken);
        self.queues.note_next(shard, lines);
        done
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.first = None;
        self.more.clear();
        wake(&mut self.woken);
    }
}
