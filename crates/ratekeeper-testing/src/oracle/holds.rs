//! Holds: a charge that is settled later, when its true cost is known.
//!
//! Invariant: a hold names what it charged, and settling changes that alone, as far as it still
//! counts. What is used beyond the hold is charged without asking, as debt of at most one limit
//! beyond full (rule R11).

use super::windows::History;
use super::{Answer, Bucket, FixedWindow, Oracle, Retry, SlidingCounter, SlidingLog, figures};

/// A charge that is to be settled once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// What was charged.
    pub cost: u64,
    /// What the key finds its charge by.
    pub mark: u128,
}

/// A key on which charges can be settled later. Settling is a write, and moves the key on to the
/// time at which it stands, even if there is nothing to change.
pub trait Holding: Oracle {
    /// What a charge is found by, read at its own time right after it was made.
    fn mark(&self, now: u64) -> u128;

    /// Takes off up to `units`, no more than were charged, of the charge with this mark.
    fn lessen(&mut self, now: u64, mark: u128, units: u64);

    /// Adds up to `units` to the charge with this mark, without asking.
    fn exceed(&mut self, now: u64, mark: u128, units: u64);
}

/// Charges `cost` units if they are admitted. Zero units are, and nothing is written (rule R6).
pub fn reserve(key: &mut dyn Holding, now: u64, cost: u64) -> Option<Hold> {
    if cost > 0 {
        if !key.admits(now, cost) {
            return None;
        }
        key.record(now, cost);
    }
    Some(Hold { cost, mark: key.mark(now) })
}

/// Settles a hold at what was used in truth, which is always reported as allowed. A hold of nothing
/// left no charge: what was used is charged now.
pub fn settle(key: &mut dyn Holding, now: u64, hold: Hold, actual: u64) -> Answer {
    let hold = if hold.cost == 0 { Hold { mark: key.mark(now), ..hold } } else { hold };
    if actual <= hold.cost {
        key.lessen(now, hold.mark, hold.cost - actual);
    } else {
        key.exceed(now, hold.mark, actual - hold.cost);
    }
    figures(key, now, Retry::Now)
}

impl History {
    /// Adds up to `units` at a time, as far as those that `counts` accepts stay within two limits.
    fn exceed(&mut self, at: u64, units: u64, limit: u64, counts: impl Fn(u64) -> bool) {
        let room = (2 * u128::from(limit)).saturating_sub(self.sum(counts));
        let added = units.min(u64::try_from(room).unwrap_or(u64::MAX));
        if added > 0 {
            self.0.push((at, added));
            self.0.sort_by_key(|(at, _)| *at);
        }
    }
}

/// The mark of a window or of an entry is a plain number.
fn plain(mark: u128) -> u64 {
    u64::try_from(mark).expect("a mark of this key")
}

/// The mark is the number of the window.
impl Holding for FixedWindow {
    fn mark(&self, now: u64) -> u128 {
        u128::from(self.stands(now) / self.period)
    }

    fn lessen(&mut self, now: u64, mark: u128, units: u64) {
        self.latest = self.stands(now) / self.period;
        if plain(mark) == self.latest {
            self.history.take(units, |at| at / self.period == self.latest);
        }
    }

    fn exceed(&mut self, now: u64, mark: u128, units: u64) {
        let now = self.stands(now);
        self.latest = now / self.period;
        if plain(mark) == self.latest {
            let counts = |at| at / self.period == self.latest;
            self.history.exceed(now, units, self.limit, counts);
        }
    }
}

/// The mark is the number of the window.
impl Holding for SlidingCounter {
    fn mark(&self, now: u64) -> u128 {
        u128::from(self.stands(now) / self.period)
    }

    fn lessen(&mut self, now: u64, mark: u128, units: u64) {
        self.latest = self.stands(now) / self.period;
        let window = plain(mark);
        if window == self.latest || window + 1 == self.latest {
            self.history.take(units, |at| at / self.period == window);
        }
    }

    fn exceed(&mut self, now: u64, mark: u128, units: u64) {
        self.latest = self.stands(now) / self.period;
        let window = plain(mark);
        if window == self.latest || window + 1 == self.latest {
            let counts = |at| at / self.period == window;
            self.history.exceed(window * self.period, units, self.limit, counts);
        }
    }
}

/// The mark is the time of the entry.
impl Holding for SlidingLog {
    fn mark(&self, now: u64) -> u128 {
        u128::from(self.stands(now))
    }

    fn lessen(&mut self, now: u64, mark: u128, units: u64) {
        let (now, period, entered) = (self.stands(now), self.period, plain(mark));
        self.history.0.retain(|(at, _)| now - at < period);
        if now.saturating_sub(entered) < period {
            self.history.take(units, |at| at == entered);
        }
    }

    fn exceed(&mut self, now: u64, mark: u128, units: u64) {
        let (now, period, entered) = (self.stands(now), self.period, plain(mark));
        self.history.0.retain(|(at, _)| now - at < period);
        if now.saturating_sub(entered) < period {
            self.history.exceed(entered, units, self.limit, |_| true);
        }
    }
}

/// The mark is the time at which the bucket would be empty, scaled by the amount. In that scale a
/// distance in time is a level.
impl Holding for Bucket {
    fn mark(&self, now: u64) -> u128 {
        u128::from(now) * u128::from(self.amount) + self.level_at(now)
    }

    /// What has leaked since is not given back: it was used by waiting.
    fn lessen(&mut self, now: u64, mark: u128, units: u64) {
        let left = mark.saturating_sub(u128::from(now) * u128::from(self.amount));
        let returned = left.min(u128::from(units) * u128::from(self.period));
        self.level = self.level_at(now).saturating_sub(returned);
        self.since = now;
    }

    fn exceed(&mut self, now: u64, _mark: u128, units: u64) {
        let level = self.level_at(now) + u128::from(units) * u128::from(self.period);
        self.level = level.min(2 * self.full());
        self.since = now;
    }
}
