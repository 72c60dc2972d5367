//! Token bucket, leaky bucket as a meter, and GCRA: one automaton, one timestamp per key.
//!
//! The state is the time at which the key will be whole again, served at the even rate. It is kept
//! as whole ticks and a part of one, counted in `drain`-ths, so that rates which do not divide a
//! second are exact, too. Nothing refills in the background. Invariant: a stored arrival is at most
//! one full bucket ahead of the clock that stored it, or two if a reservation was settled above what
//! it held, so a key that goes quiet is whole in time.
//!
//! | word    | meaning                                                                  |
//! |---------|--------------------------------------------------------------------------|
//! | unit    | what one unit weighs: period / gcd(amount, period) (W′, T scaled)        |
//! | drain   | what leaves the bucket per tick: amount / gcd(amount, period) (L′)       |
//! | level   | what is in the bucket: units used × `unit`                               |
//! | full    | `burst` × `unit`                                                         |
//! | debt    | what a settled reservation adds beyond full: at most as much again       |
//! | arrival | when the level will be zero (theoretical arrival time)                   |

use super::{PERIOD_MAX, Retry, UNITS_MAX, Verdict};
use std::num::NonZeroU64;

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    burst: u64,
    unit: u64,
    drain: u64,
    full: u128,
    /// Ticks that a full bucket takes to drain, rounded up.
    horizon: u64,
}

/// The state of one key: when it will be whole again, `tick + part / drain`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Whole ticks.
    pub tick: u64,
    /// Parts of a tick, less than the bucket's [`drain`](Bucket::drain).
    pub part: u64,
}

impl Bucket {
    /// `None` beyond [`UNITS_MAX`], or if the bucket would take more than [`PERIOD_MAX`] to fill.
    pub fn new(amount: NonZeroU64, period: NonZeroU64, burst: NonZeroU64) -> Option<Bucket> {
        let (amount, period, burst) = (amount.get(), period.get(), burst.get());
        if amount.max(burst) > UNITS_MAX || period > PERIOD_MAX {
            return None;
        }
        let divisor = gcd(amount, period);
        let (unit, drain) = (period / divisor, amount / divisor);
        let full = u128::from(burst) * u128::from(unit);
        let horizon = full.div_ceil(u128::from(drain));
        let horizon = u64::try_from(horizon).ok().filter(|&ticks| ticks <= PERIOD_MAX)?;
        Some(Bucket { burst, unit, drain, full, horizon })
    }

    /// How many parts make one tick.
    pub fn drain(&self) -> u64 {
        self.drain
    }

    /// How long so many units take to drain; more than a burst and its debt count as that.
    pub fn time_of(&self, units: u64) -> Arrival {
        self.drained(u128::from(units.min(2 * self.burst)) * u128::from(self.unit))
    }

    /// How long a full bucket takes to drain.
    pub fn time_of_full(&self) -> Arrival {
        self.drained(self.full)
    }

    /// Asks for `cost` units of a key that was left at `arrival`.
    #[inline(always)] // The hot path of every store: its figures stay in registers.
    pub fn charge(&self, arrival: Arrival, now: u64, cost: u64) -> (Verdict, Arrival) {
        let level = self.level(arrival, now);
        if cost == 0 || cost > self.burst {
            let retry_after = if cost == 0 { Retry::NOW } else { Retry::NEVER };
            return (self.verdict(level, self.drained(level), retry_after), arrival);
        }
        let after = level + u128::from(cost) * u128::from(self.unit);
        if after > self.full {
            let wait = self.drained(after - self.full).up();
            return (self.verdict(level, self.drained(level), Retry::after(wait)), arrival);
        }
        let ahead = self.drained(after);
        (self.verdict(after, ahead, Retry::NOW), ahead.after(now))
    }

    /// Gives `units` back, at most to a whole bucket.
    pub fn refund(&self, arrival: Arrival, now: u64, units: u64) -> (Verdict, Arrival) {
        let returned = u128::from(units) * u128::from(self.unit);
        let level = self.level(arrival, now).saturating_sub(returned);
        let ahead = self.drained(level);
        (self.verdict(level, ahead, Retry::NOW), ahead.after(now))
    }

    /// Settles a charge of `held` units, after which the bucket was left at `until`, at `actual`.
    ///
    /// What is given back is what has not drained since; what is used beyond is charged without
    /// asking, up to a debt of one burst.
    pub fn settle(
        &self,
        arrival: Arrival,
        now: u64,
        until: Arrival,
        held: u64,
        actual: u64,
    ) -> (Verdict, Arrival) {
        let level = self.level(arrival, now);
        let weigh = |units: u64| u128::from(units) * u128::from(self.unit);
        let level = if actual <= held {
            let left = self.level(until, now).min(weigh(held));
            level - weigh(held - actual).min(left).min(level)
        } else {
            (level + weigh(actual - held)).min((2 * self.full).max(level))
        };
        let ahead = self.drained(level);
        (self.verdict(level, ahead, Retry::NOW), ahead.after(now))
    }

    /// The state under these parameters of a key that was at `arrival` under the `former` ones: the
    /// same units used, rounded up, at most all of them.
    pub fn carry(&self, former: &Bucket, arrival: Arrival, now: u64) -> Arrival {
        let used = former.level(arrival, now).div_ceil(u128::from(former.unit));
        self.drained((used * u128::from(self.unit)).min(self.full)).after(now)
    }

    /// When as many units more will have drained.
    pub fn later(&self, arrival: Arrival, units: u64) -> Arrival {
        let drained = self.drained(u128::from(units) * u128::from(self.unit));
        let part = arrival.part + drained.part;
        let carry = part / self.drain;
        Arrival { tick: arrival.tick + drained.tick + carry, part: part - carry * self.drain }
    }

    /// When it will have drained if as many units fewer have to, but not before `now`.
    pub fn earlier(&self, arrival: Arrival, units: u64, now: u64) -> Arrival {
        let Some(ahead) = arrival.tick.checked_sub(now) else { return arrival };
        let level = u128::from(ahead) * u128::from(self.drain) + u128::from(arrival.part);
        let returned = u128::from(units) * u128::from(self.unit);
        self.drained(level.saturating_sub(returned)).after(now)
    }

    /// What is in the bucket now. A clock that went back finds it fuller, at most full and in debt.
    #[inline]
    pub(super) fn level(&self, arrival: Arrival, now: u64) -> u128 {
        match arrival.tick.checked_sub(now) {
            None => 0,
            Some(ahead) if ahead >= 2 * self.horizon => 2 * self.full,
            Some(ahead) => {
                let level = u128::from(ahead) * u128::from(self.drain) + u128::from(arrival.part);
                level.min(2 * self.full)
            }
        }
    }

    /// How long a level takes to drain.
    #[inline]
    pub(super) fn drained(&self, level: u128) -> Arrival {
        let tick = divide(level, self.drain);
        let part = level - u128::from(tick) * u128::from(self.drain);
        Arrival { tick, part: part as u64 }
    }

    #[inline]
    pub(super) fn verdict(&self, level: u128, ahead: Arrival, retry_after: Retry) -> Verdict {
        Verdict {
            remaining: divide(self.full.saturating_sub(level), self.unit),
            reset_after: ahead.up(),
            retry_after,
            more_after: 0,
        }
    }
}

impl Arrival {
    /// The first whole tick at which it is there.
    #[inline]
    pub fn up(self) -> u64 {
        self.tick + u64::from(self.part > 0)
    }

    /// As much later as `now` is.
    #[inline]
    fn after(self, now: u64) -> Arrival {
        Arrival { tick: self.tick + now, part: self.part }
    }
}

/// `⌊a / b⌋`, which fits; one machine division in the usual case.
#[inline]
fn divide(a: u128, b: u64) -> u64 {
    match u64::try_from(a) {
        Ok(a) if b == 1 => a,
        Ok(a) => a / b,
        Err(_) => (a / u128::from(b)) as u64,
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
