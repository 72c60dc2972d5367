//! The bucket, by name of token or leaky: a level that leaks, in whole numbers.
//!
//! Invariant: the level is scaled by the period and nothing is reduced or divided, so it is exact
//! for every rate; there is no arrival time here, which is how the library keeps it.

use super::Oracle;

/// Sections 1.4 and 1.5: what leaks out of a bucket of `burst · period` is `amount` per tick, and a
/// unit weighs `period`.
#[derive(Clone, Debug)]
pub struct Bucket {
    pub(super) amount: u64,
    pub(super) period: u64,
    burst: u64,
    pub(super) level: u128,
    /// When the level was that high.
    pub(super) since: u64,
}

impl Bucket {
    /// A key that was never used.
    pub fn new(amount: u64, period: u64, burst: u64) -> Bucket {
        Bucket { amount, period, burst, level: 0, since: 0 }
    }

    /// Changes the rate, too: the units used, rounded up, are carried over (rule R9).
    pub fn carry(&self, now: u64, amount: u64, period: u64, burst: u64) -> Bucket {
        let used = self.level_at(now).div_ceil(u128::from(self.period)).min(u128::from(burst));
        Bucket { amount, period, burst, level: used * u128::from(period), since: now }
    }

    pub(super) fn full(&self) -> u128 {
        u128::from(self.burst) * u128::from(self.period)
    }

    /// The clamp: a clock that went back finds more in the bucket, but never more than what fits and
    /// the debt of one burst that rule R11 allows.
    pub(super) fn level_at(&self, now: u64) -> u128 {
        let leaked = u128::from(now.abs_diff(self.since)) * u128::from(self.amount);
        let level =
            if now >= self.since { self.level.saturating_sub(leaked) } else { self.level + leaked };
        level.min(2 * self.full())
    }
}

impl Oracle for Bucket {
    fn limit(&self) -> u64 {
        self.burst
    }

    fn change_limit(&mut self, limit: u64) {
        self.burst = limit;
    }

    fn admits(&self, now: u64, cost: u64) -> bool {
        self.level_at(now) + u128::from(cost) * u128::from(self.period) <= self.full()
    }

    fn record(&mut self, now: u64, cost: u64) {
        self.level = self.level_at(now) + u128::from(cost) * u128::from(self.period);
        self.since = now;
    }

    fn refund(&mut self, now: u64, units: u64) {
        let returned = u128::from(units) * u128::from(self.period);
        self.level = self.level_at(now).saturating_sub(returned);
        self.since = now;
    }

    fn settled(&self, now: u64) -> (Box<dyn Oracle>, u64) {
        (Box::new(Bucket { level: self.level_at(now), since: now, ..self.clone() }), now)
    }
}
