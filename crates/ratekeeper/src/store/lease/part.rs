//! Units of one share.
//!
//! Invariant: never more is spent than was held, nor after its end.

use crate::store::Stamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Units that can be spent.
    pub(crate) left: u64,
    /// The tick from which on they cannot.
    pub(crate) until: u64,
    /// Units that there were, and where they were charged.
    pub(crate) held: u64,
    pub(crate) stamp: Stamp,
}

impl Part {
    /// Spends units; `false` if there are not so many, or no longer.
    #[inline]
    pub(super) fn spend(&mut self, units: u64, now: u64) -> bool {
        if self.until <= now || self.left < units || self.left == 0 {
            return false;
        }
        self.left -= units;
        true
    }

    /// What is left, which is then gone from here.
    pub(super) fn take(&mut self) -> Part {
        let left = *self;
        self.left = 0;
        left
    }
}
