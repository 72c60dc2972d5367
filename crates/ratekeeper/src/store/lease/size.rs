//! How much to take at a time: as much as is likely to be spent while it lasts.
//!
//! Invariant: a key that comes less than twice while a share lasts takes none.

use super::LASTS;

#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Units to take next.
    units: u64,
    /// When the store was asked last, and what was used since.
    since: u64,
    used: u64,
}

impl Size {
    /// Of a bucket that was hardly asked for.
    pub(super) fn new(now: u64) -> Size {
        Size { units: 0, since: now, used: 0 }
    }

    /// Units to take.
    pub(super) fn now(&self) -> u64 {
        self.units
    }

    /// Units were spent.
    #[inline]
    pub(super) fn used(&mut self, units: u64) {
        self.used = self.used.saturating_add(units);
    }

    /// The store is about to be asked for units.
    pub(super) fn asks(&mut self, units: u64, now: u64, most: u64) {
        let took = now.saturating_sub(self.since);
        if took > LASTS {
            // Whoever comes as seldom is asked for each time; more often, as much as was used in that time.
            let lasting = u128::from(self.used) * u128::from(LASTS) / u128::from(took);
            self.units = self.units.min(u64::try_from(lasting).unwrap_or(u64::MAX));
            self.units = if self.units < 2 { 0 } else { self.units };
        } else if took < LASTS / 2 {
            self.units = self.units.max(units).saturating_mul(2);
        } else {
            self.units = self.units.max(units);
        }
        self.units = self.units.min(most);
        (self.since, self.used) = (now, units);
    }

    /// So much of a share was not spent.
    pub(super) fn left_over(&mut self, units: u64) {
        self.units = self.units.saturating_sub(units);
    }

    /// The bucket has too little left for shares: units are asked for one by one until it has more.
    pub(super) fn denied(&mut self) {
        self.units /= 2;
    }

    /// Whether nothing was asked for in a while.
    pub(super) fn is_idle(&self, now: u64) -> bool {
        now.saturating_sub(self.since) > 2 * LASTS
    }
}
