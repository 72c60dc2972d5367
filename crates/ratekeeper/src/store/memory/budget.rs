//! What the store may hold in all, in keys, shared by its shards.
//!
//! A key weighs 1; a sliding log also 1 for every 16 bytes of its entries. Invariant: nothing is
//! added before its weight was taken, and no more is taken than there is.

use crate::sync::{AtomicUsize, Ordering};

pub(super) struct Budget {
    used: AtomicUsize,
    most: usize,
}

impl Budget {
    pub(super) fn new(most: usize) -> Budget {
        Budget { used: AtomicUsize::new(0), most }
    }

    /// Takes `weight`, if there is as much left.
    pub(super) fn take(&self, weight: usize) -> bool {
        let more = |used: usize| used.checked_add(weight).filter(|sum| *sum <= self.most);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Gives `weight` back.
    pub(super) fn give(&self, weight: usize) {
        self.used.fetch_sub(weight, Ordering::Relaxed);
    }

    /// Corrects what was taken to what something that weighed `before` weighs now.
    pub(super) fn settle(&self, taken: usize, before: usize, after: usize) {
        self.used.fetch_add(after.wrapping_sub(before).wrapping_sub(taken), Ordering::Relaxed);
    }
}
