//! The lines of one shard: who waits for a turn, in order, key by key.
//!
//! No lock and no clock in here. A line knows when the first of it has its turn; each one behind
//! follows when the one before has drained, so whoever leaves moves all behind up, and nobody has to
//! be told. Whoever asked for a turn and went away with the answer (a *told* place) cannot be moved:
//! what is given up in front of such a place is lost. Invariants: a line has a waiter in it; `due`
//! has the turn of the first place of each line, and nothing else; wakers leave by `Woken` alone, so
//! that none is woken or dropped under the lock.

use super::sleepers::Sleepers;
use crate::algorithm::bucket::{Arrival, Bucket};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::task::Waker;

/// Wakers to wake once the lock is gone; true for those whose turn it is, false for the others, which
/// are only dropped.
pub(super) type Woken = Vec<(Waker, bool)>;

/// A place in a line, as its holder knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    pub(super) bucket: u64,
    place: u32,
    number: u64,
}

/// Places that a shard keeps memory for when nobody waits.
const PLACES_KEPT: usize = 64;

#[derive(Default)]
pub(super) struct Lines {
    lines: BTreeMap<u64, Line>,
    /// When the first place of each line has its turn.
    due: BTreeSet<(u64, u64)>,
    places: Vec<Place>,
    /// The first of the free places, each of which names the next.
    free: Option<u32>,
    pub(super) sleepers: Sleepers,
    numbers: u64,
}

/// The line of one key: its first place has its turn at `start`.
struct Line {
    pace: Bucket,
    start: Arrival,
    first: u32,
    last: u32,
    /// Units of all places, and of the gaps in front of told ones.
    units: u64,
    waiters: u32,
    /// The told places, in order, and how many of them there were before, counted around.
    told: VecDeque<u32>,
    passed: u32,
}

struct Place {
    /// What tells it from others that were or will be here.
    number: u64,
    cost: u64,
    who: Who,
    /// How many told places there ever were in front of it, counted around.
    told: u32,
    before: Option<u32>,
    behind: Option<u32>,
}

enum Who {
    Waits(Waker),
    /// Was told its turn, after a gap of so many units.
    Told(u64),
    Free,
}

impl Lines {
    /// When somebody has to be woken next; `u64::MAX` if nobody waits.
    pub(super) fn next(&self) -> u64 {
        let due = self.due.first().map_or(u64::MAX, |(tick, _)| *tick);
        due.min(self.sleepers.next())
    }

    /// Puts a waiter of `cost` units at the end of the line; its turn is at `start`, if there is no
    /// line yet.
    pub(super) fn enter(
        &mut self,
        bucket: u64,
        (pace, start): (&Bucket, Arrival),
        cost: u64,
        waker: Waker,
    ) -> Ticket {
        let place = self.place(cost, Who::Waits(waker));
        let number = self.places[place as usize].number;
        let line = self.lines.entry(bucket).or_insert_with(|| {
            self.due.insert((start.up(), bucket));
            let (units, waiters, told, passed) = (0, 0, VecDeque::new(), 0);
            Line { pace: *pace, start, first: place, last: place, units, waiters, told, passed }
        });
        line.waiters += 1;
        self.append(bucket, place, cost);
        Ticket { bucket, place, number }
    }

    /// Notes a place that was told its turn behind all others. Where nobody waits there is no need.
    pub(super) fn tell(&mut self, bucket: u64, cost: u64) {
        if self.lines.contains_key(&bucket) {
            let place = self.place(cost, Who::Told(0));
            self.append(bucket, place, cost);
            self.lines.entry(bucket).and_modify(|line| line.told.push_back(place));
        }
    }

    /// Whether the ticket's place still waits; if so, `waker` will be woken.
    pub(super) fn waits(&mut self, ticket: Ticket, waker: &Waker, woken: &mut Woken) -> bool {
        let Some(place) = self.places.get_mut(ticket.place as usize) else { return false };
        if place.number != ticket.number {
            return false;
        }
        if let Who::Waits(known) = &mut place.who
            && !known.will_wake(waker)
        {
            woken.push((mem::replace(known, waker.clone()), false));
        }
        true
    }

    /// Lets those of a key go whose turn it is.
    pub(super) fn release(&mut self, bucket: u64, now: u64, woken: &mut Woken) {
        while let Some(line) = self.lines.get(&bucket).filter(|line| line.start.up() <= now) {
            let first = line.first;
            self.remove(bucket, first, true, woken);
        }
    }

    /// Lets everyone go whose turn it is, but no more than `most` at a time.
    pub(super) fn release_due(&mut self, now: u64, most: usize, woken: &mut Woken) {
        while self.next() <= now && woken.len() < most {
            if let Some(&(tick, bucket)) = self.due.first().filter(|(tick, _)| *tick <= now) {
                match self.lines.get(&bucket).map(|line| line.first) {
                    Some(first) => self.remove(bucket, first, true, woken),
                    None => _ = self.due.remove(&(tick, bucket)),
                }
            } else if let Some(waker) = self.sleepers.pop() {
                woken.push((waker, true));
            }
        }
    }

    /// A waiter gives up. If that moves the end of the line, returns where it is now.
    pub(super) fn leave(&mut self, ticket: Ticket, woken: &mut Woken) -> Option<Arrival> {
        let place = self.places.get(ticket.place as usize)?;
        if place.number != ticket.number {
            return None;
        }
        let (cost, told) = (place.cost, place.told);
        let line = self.lines.get_mut(&ticket.bucket)?;
        let end = line.pace.later(line.start, line.units - cost);
        // What is given up in front of a place that was told its turn is lost: that one stays.
        let fixed = line.told.get(told.wrapping_sub(line.passed) as usize).copied();
        if let Some(Who::Told(gap)) = fixed.map(|fixed| &mut self.places[fixed as usize].who) {
            *gap += cost;
            line.units += cost;
        }
        self.remove(ticket.bucket, ticket.place, false, woken);
        fixed.is_none().then_some(end)
    }

    /// Gives the first of a line its turn now, and all behind follow, also those who were told another
    /// one; returns where the end of the line is then.
    pub(super) fn begin_now(&mut self, bucket: u64, now: u64) -> Option<Arrival> {
        let line = self.lines.get_mut(&bucket)?;
        self.due.remove(&(line.start.up(), bucket));
        self.due.insert((now, bucket));
        line.start = Arrival { tick: now, part: 0 };
        Some(line.pace.later(line.start, line.units))
    }

    pub(super) fn is_waiting(&self, bucket: u64) -> bool {
        self.lines.contains_key(&bucket)
    }

    /// Everyone who waits, to be asked again.
    pub(super) fn everyone(&self, woken: &mut Woken) {
        let waiting = self.places.iter().filter_map(|place| match &place.who {
            Who::Waits(waker) => Some(waker),
            _ => None,
        });
        woken.extend(waiting.chain(self.sleepers.everyone()).map(|waker| (waker.clone(), true)));
    }

    /// A place that is in no line yet.
    fn place(&mut self, cost: u64, who: Who) -> u32 {
        self.numbers += 1;
        let (told, before, behind) = (0, None, None);
        let place = Place { number: self.numbers, cost, who, told, before, behind };
        match self.free {
            Some(index) => {
                self.free = self.places[index as usize].behind;
                self.places[index as usize] = place;
                index
            }
            None => {
                self.places.push(place);
                (self.places.len() - 1) as u32
            }
        }
    }

    /// Puts a place at the end of a line that is there.
    fn append(&mut self, bucket: u64, place: u32, cost: u64) {
        let Some(line) = self.lines.get_mut(&bucket) else { return };
        line.units += cost;
        self.places[place as usize].told = line.passed.wrapping_add(line.told.len() as u32);
        if line.last != place {
            self.places[line.last as usize].behind = Some(place);
            self.places[place as usize].before = Some(line.last);
            line.last = place;
        }
    }

    /// Takes a place out of its line: its turn has come, and the next one's is when it has drained;
    /// or it was given up, and the next one takes its turn.
    fn remove(&mut self, bucket: u64, index: u32, passes: bool, woken: &mut Woken) {
        let Place { cost, who, before, behind, .. } = self.take(index);
        let Some(line) = self.lines.get_mut(&bucket) else { return };
        line.units -= cost;
        match who {
            Who::Waits(waker) => {
                line.waiters -= 1;
                woken.push((waker, passes));
            }
            // Told places do not leave, so it is the first of them.
            Who::Told(_) | Who::Free => {
                line.told.pop_front();
                line.passed = line.passed.wrapping_add(1);
            }
        }
        match before {
            Some(before) => self.places[before as usize].behind = behind,
            None => line.first = behind.unwrap_or(line.first),
        }
        match behind {
            Some(behind) => self.places[behind as usize].before = before,
            None => line.last = before.unwrap_or(line.last),
        }
        if before.is_none() {
            self.due.remove(&(line.start.up(), bucket));
            let next = behind.map(|behind| &mut self.places[behind as usize].who);
            let gap = if let Some(Who::Told(gap)) = next { mem::take(gap) } else { 0 };
            line.units -= gap;
            line.start = line.pace.later(line.start, gap + if passes { cost } else { 0 });
            self.due.insert((line.start.up(), bucket));
        }
        if line.waiters == 0 {
            self.end(bucket);
        }
    }

    /// Ends a line in which nobody waits. Those who were told their turn are not here.
    fn end(&mut self, bucket: u64) {
        let Some(line) = self.lines.remove(&bucket) else { return };
        self.due.remove(&(line.start.up(), bucket));
        let mut next = (!line.told.is_empty()).then_some(line.first);
        while let Some(index) = next {
            next = self.take(index).behind;
        }
        if self.lines.is_empty() {
            self.free = None;
            self.places.clear();
            self.places.shrink_to(PLACES_KEPT);
        }
    }

    /// Empties a place.
    fn take(&mut self, index: u32) -> Place {
        let (before, behind) = (None, self.free);
        let free = Place { number: 0, cost: 0, who: Who::Free, told: 0, before, behind };
        self.free = Some(index);
        mem::replace(&mut self.places[index as usize], free)
    }
}
