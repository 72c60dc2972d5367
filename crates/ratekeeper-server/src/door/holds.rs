//! Holds by name: what callers outside of this process have reserved and not yet settled.
//!
//! Invariants: there are never more than the most; a hold is taken out once, by who settles it or by
//! its end; none whose time is over is found, and its permits are free. A hold that ends stays
//! charged. There is no task for that: each call ends what is due.

mod id;

pub(super) use id::HoldId;

use ratekeeper::{Hold, ManualClock};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Most holds at a time. Beyond it a reservation is answered with 503, and charges nothing.
pub const HOLDS_MAX: usize = 1 << 16;

/// How long a hold may wait to be settled. Beyond it, it stays charged, and its permits are free.
pub const HOLD_TIME: Duration = Duration::from_secs(600);

/// The table of holds. Tests give it smaller bounds and a clock of their own.
#[derive(Debug)]
pub struct Holds {
    most: usize,
    time: Duration,
    clock: Clock,
    /// Makes names that cannot be guessed.
    secret: RandomState,
    /// When the next one ends, in microseconds; so that who has none to end need not look.
    next: AtomicU64,
    book: Mutex<Book>,
}

#[derive(Debug)]
enum Clock {
    /// Time since the start.
    Tokio(Instant),
    Manual(ManualClock),
}

#[derive(Debug, Default)]
struct Book {
    by_id: BTreeMap<HoldId, (u64, Hold)>,
    by_end: BTreeSet<(u64, HoldId)>,
    /// Room that was given to reservations under way.
    promised: usize,
    count: u64,
}

/// The right to one more hold.
pub(super) struct Room<'a>(&'a Holds);

impl Default for Holds {
    fn default() -> Holds {
        Holds::new(HOLDS_MAX, HOLD_TIME)
    }
}

impl Holds {
    /// Room for `most` holds, each for at most that time.
    pub fn new(most: usize, time: Duration) -> Holds {
        let (clock, next) = (Clock::Tokio(Instant::now()), AtomicU64::new(u64::MAX));
        Holds { most, time, clock, secret: RandomState::new(), next, book: Mutex::default() }
    }

    /// Takes the time from a clock that is moved by hand, for tests.
    pub fn clock(self, clock: &ManualClock) -> Holds {
        Holds { clock: Clock::Manual(clock.clone()), ..self }
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Ends those whose time is over.
    pub(super) fn expire(&self) {
        let next = self.next.load(Ordering::Acquire);
        if next == u64::MAX {
            return;
        }
        let now = micros(self.now());
        if next <= now {
            self.expire_until(now);
        }
    }

    /// Who finds `next` moved on finds the permits free, too: they are given back before.
    fn expire_until(&self, now: u64) {
        let mut book = self.book();
        while let Some(&(_, id)) = book.by_end.first().filter(|(end, _)| *end <= now) {
            drop(book.remove(id));
        }
        self.note_next(&book);
    }

    /// Room for one more, before anything is charged for it.
    pub(super) fn room(&self) -> Option<Room<'_>> {
        self.expire();
        let mut book = self.book();
        if book.by_id.len() + book.promised >= self.most {
            return None;
        }
        book.promised += 1;
        Some(Room(self))
    }

    /// Takes a hold out, to be settled; `None` if there is none of this name, or no longer.
    pub(super) fn take(&self, id: HoldId) -> Option<Hold> {
        self.expire();
        let mut book = self.book();
        let hold = book.remove(id);
        self.note_next(&book);
        hold
    }

    fn note_next(&self, book: &Book) {
        let next = book.by_end.first().map_or(u64::MAX, |(end, _)| *end);
        self.next.store(next, Ordering::Release);
    }

    fn now(&self) -> Duration {
        match &self.clock {
            Clock::Tokio(start) => start.elapsed(),
            Clock::Manual(clock) => clock.now(),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn remove(&mut self, id: HoldId) -> Option<Hold> {
        let (end, hold) = self.by_id.remove(&id)?;
        self.by_end.remove(&(end, id));
        Some(hold)
    }
}

impl Room<'_> {
    /// Keeps a hold for its time from its turn on, but no longer than any, and gives it a name.
    pub(super) fn keep(self, hold: Hold, time: Option<Duration>) -> HoldId {
        let holds = self.0;
        let time = time.map_or(holds.time, |time| time.min(holds.time));
        let turn = hold.delay().unwrap_or_default();
        let end = micros(holds.now().saturating_add(turn).saturating_add(time));
        let mut book = holds.book();
        let id = loop {
            book.count += 1;
            let id = HoldId::of(holds.secret.hash_one(book.count));
            if !book.by_id.contains_key(&id) {
                break id;
            }
        };
        book.by_id.insert(id, (end, hold));
        book.by_end.insert((end, id));
        book.promised -= 1;
        holds.note_next(&book);
        // The room is taken now, not given back.
        std::mem::forget(self);
        id
    }
}

/// Room that nobody used is given back.
impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.0.book().promised -= 1;
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratekeeper::Limiter;
    use tokio::time::advance;

    /// Goal: there is room for as many holds as the bound says, and room unused is given back.
    /// Method: take all of the default table's; one more; give one back, and take it.
    #[test]
    fn there_is_room_for_65536_holds() {
        let holds = Holds::default();
        let mut rooms: Vec<Room<'_>> = std::iter::from_fn(|| holds.room()).take(70_000).collect();
        assert_eq!(rooms.len(), 65_536);
        assert!(holds.room().is_none());
        rooms.pop();
        assert!(holds.room().is_some());
    }

    /// Goal: by the runtime's clock, too, a hold is found until its time is over.
    /// Method: the clock stands; move it to either side of the end of one of two holds.
    #[tokio::test(start_paused = true)]
    async fn a_hold_ends_by_the_clock_of_the_runtime() {
        let limiter = Limiter::memory().rule("tokens", "100/minute").unwrap().build();
        let tokens = limiter.rule("tokens").unwrap();
        let holds = Holds::default();
        let keep = async || holds.room().unwrap().keep(tokens.reserve("alice", 1).await, None);
        let (first, second) = (keep().await, keep().await);
        advance(HOLD_TIME - Duration::from_micros(1)).await;
        assert!(holds.take(first).is_some());
        advance(Duration::from_micros(1)).await;
        assert!(holds.take(second).is_none());
    }
}
