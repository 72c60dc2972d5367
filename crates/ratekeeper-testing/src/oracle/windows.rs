//! The three windows: whether a cost fits is a sum over the history of the key.
//!
//! Invariant: a history is in the order of time, since an entry is made at the time at which the key
//! stands, which never moves back while the entry counts. The excess of a hold is sorted in.

use super::Oracle;

/// What was charged and when, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct History(pub(super) Vec<(u64, u64)>);

impl History {
    /// Units charged at times that `counts` accepts.
    pub(super) fn sum(&self, counts: impl Fn(u64) -> bool) -> u128 {
        self.0.iter().filter(|(at, _)| counts(*at)).map(|(_, cost)| u128::from(*cost)).sum()
    }

    /// Takes `units` away, the newest first, of those charged at times that `counts` accepts.
    pub(super) fn take(&mut self, units: u64, counts: impl Fn(u64) -> bool) {
        let mut rest = units;
        for (_, cost) in self.0.iter_mut().rev().filter(|(at, _)| counts(*at)) {
            let taken = rest.min(*cost);
            *cost -= taken;
            rest -= taken;
        }
        self.0.retain(|(_, cost)| *cost > 0);
    }
}

/// Section 1.1, aligned to the epoch.
#[derive(Clone, Debug)]
pub struct FixedWindow {
    pub(super) limit: u64,
    pub(super) period: u64,
    pub(super) history: History,
    /// The number of the latest window that was written to.
    pub(super) latest: u64,
}

impl FixedWindow {
    /// A key that was never used.
    pub fn new(limit: u64, period: u64) -> FixedWindow {
        FixedWindow { limit, period, history: History::default(), latest: 0 }
    }

    /// The clamp: the window never moves back.
    pub(super) fn stands(&self, now: u64) -> u64 {
        now.max(self.latest * self.period)
    }
}

impl Oracle for FixedWindow {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn change_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    fn admits(&self, now: u64, cost: u64) -> bool {
        let window = self.stands(now) / self.period;
        let used = self.history.sum(|at| at / self.period == window);
        used + u128::from(cost) <= u128::from(self.limit)
    }

    fn record(&mut self, now: u64, cost: u64) {
        let now = self.stands(now);
        self.history.0.push((now, cost));
        self.latest = now / self.period;
    }

    fn refund(&mut self, now: u64, units: u64) {
        self.latest = self.stands(now) / self.period;
        self.history.take(units, |at| at / self.period == self.latest);
    }

    fn settled(&self, now: u64) -> (Box<dyn Oracle>, u64) {
        (Box::new(self.clone()), self.stands(now))
    }

    /// By convention always the distance to the edge.
    fn reset_after(&self, now: u64) -> u64 {
        self.period - now % self.period
    }
}

/// Section 1.2.
#[derive(Clone, Debug)]
pub struct SlidingLog {
    pub(super) limit: u64,
    pub(super) period: u64,
    pub(super) history: History,
}

impl SlidingLog {
    /// A key that was never used.
    pub fn new(limit: u64, period: u64) -> SlidingLog {
        SlidingLog { limit, period, history: History::default() }
    }

    /// The clamp: never before the newest entry.
    pub(super) fn stands(&self, now: u64) -> u64 {
        self.history.0.last().map_or(now, |(newest, _)| now.max(*newest))
    }
}

impl Oracle for SlidingLog {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn change_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    fn admits(&self, now: u64, cost: u64) -> bool {
        let now = self.stands(now);
        let used = self.history.sum(|at| now - at < self.period);
        used + u128::from(cost) <= u128::from(self.limit)
    }

    fn record(&mut self, now: u64, cost: u64) {
        self.history.0.push((self.stands(now), cost));
    }

    /// A write drops what has left the window, so that it does not come back with the clock.
    fn refund(&mut self, now: u64, units: u64) {
        let (now, period) = (self.stands(now), self.period);
        self.history.0.retain(|(at, _)| now - at < period);
        self.history.take(units, |_| true);
    }

    fn settled(&self, now: u64) -> (Box<dyn Oracle>, u64) {
        (Box::new(self.clone()), self.stands(now))
    }
}

/// Section 1.3.
#[derive(Clone, Debug)]
pub struct SlidingCounter {
    pub(super) limit: u64,
    pub(super) period: u64,
    pub(super) history: History,
    /// The number of the latest window that was written to.
    pub(super) latest: u64,
}

impl SlidingCounter {
    /// A key that was never used.
    pub fn new(limit: u64, period: u64) -> SlidingCounter {
        SlidingCounter { limit, period, history: History::default(), latest: 0 }
    }

    /// The clamp: the window never moves back.
    pub(super) fn stands(&self, now: u64) -> u64 {
        now.max(self.latest * self.period)
    }
}

impl Oracle for SlidingCounter {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn change_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// `previous · (W − e) + (current + n) · W ≤ L · W`, with nothing rounded.
    fn admits(&self, now: u64, cost: u64) -> bool {
        let now = self.stands(now);
        let window = now / self.period;
        let current = self.history.sum(|at| at / self.period == window);
        let previous = self.history.sum(|at| at / self.period + 1 == window);
        let period = u128::from(self.period);
        let covered = u128::from(self.period - now % self.period);
        previous * covered + (current + u128::from(cost)) * period
            <= u128::from(self.limit) * period
    }

    fn record(&mut self, now: u64, cost: u64) {
        let now = self.stands(now);
        self.history.0.push((now, cost));
        self.latest = now / self.period;
    }

    fn refund(&mut self, now: u64, units: u64) {
        self.latest = self.stands(now) / self.period;
        self.history.take(units, |at| at / self.period + 1 >= self.latest);
    }

    fn settled(&self, now: u64) -> (Box<dyn Oracle>, u64) {
        (Box::new(self.clone()), self.stands(now))
    }
}
