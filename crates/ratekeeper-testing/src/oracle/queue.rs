//! The leaky bucket as a queue: every place is kept, and every start is worked out anew.
//!
//! Invariant: a place starts when the one before it has ended, but not before it entered, and one
//! that was told its start keeps it. Times are scaled by the amount, so that a unit lasts `period`
//! and nothing is rounded before it is told.

use super::{Answer, Retry, first, largest};

/// What a caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The place that was taken; none after a refusal, and none for a cost of zero.
    pub id: Option<u64>,
    /// Ticks until its start, rounded up; for a cost of zero, until that of whoever comes now.
    pub delay: u64,
    /// The figures right after this call. Here `remaining` also obeys the longest wait of the rule.
    pub answer: Answer,
}

#[derive(Clone, Debug)]
struct Place {
    id: u64,
    cost: u64,
    /// Scaled.
    entered: u128,
    /// The start that was promised, scaled. A waiter has none: it moves up.
    told: Option<u128>,
}

/// Section 1.6 with its second choice for waiters who leave: one key under a shaping limit.
#[derive(Clone, Debug)]
pub struct Queue {
    amount: u64,
    period: u64,
    burst: u64,
    max_wait: Option<u64>,
    /// Those whose start is still to come, in the order of entering.
    places: Vec<Place>,
    /// The end of the last place that was released, scaled.
    floor: u128,
    /// Waiters that were released, and when, until they are reported.
    released: Vec<(u64, u64)>,
    next_id: u64,
}

impl Queue {
    /// A key that was never used. The burst is the capacity, with the one in service.
    pub fn new(amount: u64, period: u64, burst: u64, max_wait: Option<u64>) -> Queue {
        let (places, released) = (Vec::new(), Vec::new());
        Queue { amount, period, burst, max_wait, places, floor: 0, released, next_id: 0 }
    }

    /// Asks for a place to wait in. It moves up when someone in front leaves.
    pub fn ask(&mut self, now: u64, cost: u64, patience: Option<u64>) -> Entry {
        self.enter(now, cost, patience, false)
    }

    /// Asks for a place whose start is told once and never moves.
    pub fn tell(&mut self, now: u64, cost: u64, patience: Option<u64>) -> Entry {
        self.enter(now, cost, patience, true)
    }

    /// A waiter gives up. Says whether it was still waiting; otherwise nothing changes.
    pub fn leave(&mut self, now: u64, id: u64) -> bool {
        self.release(now);
        let before = self.places.len();
        self.places.retain(|place| place.id != id || place.told.is_some());
        self.places.len() < before
    }

    /// Gives units back: the work in front of the first place is shorter by them, as far as it is
    /// still to be done. Where somebody waits, nothing moves: the turns before were used.
    pub fn give_back(&mut self, now: u64, units: u64) -> Answer {
        self.release(now);
        if self.places.iter().any(|place| place.told.is_none()) {
            return self.peek(now);
        }
        let shorter = self.floor.saturating_sub(self.length(units)).max(self.scaled(now));
        self.floor = self.floor.min(shorter);
        self.peek(now)
    }

    /// Forgets what was used: the first who waits has its turn now. Not while a told place is to come.
    pub fn reset(&mut self, now: u64) {
        self.release(now);
        assert!(self.places.iter().all(|place| place.told.is_none()), "a told place is to come");
        self.floor = self.floor.min(self.scaled(now));
    }

    /// The waiters that were released up to and at `until`, in order, each with its tick. Each is
    /// reported once.
    pub fn releases(&mut self, until: u64) -> Vec<(u64, u64)> {
        self.release(until);
        std::mem::take(&mut self.released)
    }

    /// The figures at `now`.
    pub fn peek(&mut self, now: u64) -> Answer {
        self.release(now);
        self.figures(now, Retry::Now)
    }

    fn enter(&mut self, now: u64, cost: u64, patience: Option<u64>, told: bool) -> Entry {
        self.release(now);
        if cost == 0 {
            let delay = self.ticks_up(self.next_start(now) - self.scaled(now));
            return Entry { id: None, delay, answer: self.figures(now, Retry::Now) };
        }
        if !self.accepts(now, cost, patience) {
            let retry_after = if cost > self.burst {
                Retry::Never
            } else {
                Retry::After(first(|wait| self.accepts(now + wait, cost, patience)))
            };
            return Entry { id: None, delay: 0, answer: self.figures(now, retry_after) };
        }
        let (id, entered, start) = (self.next_id, self.scaled(now), self.next_start(now));
        self.next_id += 1;
        self.places.push(Place { id, cost, entered, told: told.then_some(start) });
        let answer = self.figures(now, Retry::Now);
        Entry { id: Some(id), delay: self.ticks_up(start - entered), answer }
    }

    /// Whether a cost of at least one gets a place at `at`, if nothing happens until then.
    fn accepts(&self, at: u64, cost: u64, patience: Option<u64>) -> bool {
        let fits = self.level(at) + self.length(cost) <= self.length(self.burst);
        let wait = self.next_start(at) - self.scaled(at);
        let mut bounds = [self.max_wait, patience].into_iter().flatten();
        fits && bounds.all(|most| wait <= self.scaled(most))
    }

    fn figures(&self, now: u64, retry_after: Retry) -> Answer {
        let remaining = largest(self.burst, |cost| self.accepts(now, cost, None));
        let reset_after = first(|wait| self.level(now + wait) == 0);
        Answer { limit: self.burst, remaining, reset_after, retry_after }
    }

    /// Fixes what has started by `now`: its end becomes the floor of those behind.
    fn release(&mut self, now: u64) {
        while let Some((start, end)) = self.spans().first().copied() {
            let tick = self.ticks_up(start);
            if tick > now {
                break;
            }
            let place = self.places.remove(0);
            self.floor = end;
            if place.told.is_none() {
                self.released.push((place.id, tick));
            }
        }
    }

    /// Start and end of every place, worked out from the floor on.
    fn spans(&self) -> Vec<(u128, u128)> {
        let mut free = self.floor;
        let mut spans = Vec::new();
        for place in &self.places {
            let start = free.max(place.entered).max(place.told.unwrap_or(0));
            free = start + self.length(place.cost);
            spans.push((start, free));
        }
        spans
    }

    /// When all that was accepted is done.
    fn end(&self) -> u128 {
        self.spans().last().map_or(self.floor, |(_, end)| *end)
    }

    /// What is left to be done at `at`, with what is under way then.
    fn level(&self, at: u64) -> u128 {
        self.end().saturating_sub(self.scaled(at))
    }

    /// When a place taken at `at` would start.
    fn next_start(&self, at: u64) -> u128 {
        self.end().max(self.scaled(at))
    }

    fn scaled(&self, ticks: u64) -> u128 {
        u128::from(ticks) * u128::from(self.amount)
    }

    fn length(&self, units: u64) -> u128 {
        u128::from(units) * u128::from(self.period)
    }

    fn ticks_up(&self, time: u128) -> u64 {
        u64::try_from(time.div_ceil(u128::from(self.amount))).expect("a time fits its ticks")
    }
}
