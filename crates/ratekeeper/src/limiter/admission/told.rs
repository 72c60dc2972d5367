//! Decisions for somebody elsewhere, who may not wait: neither for a turn, nor for a store that does not answer.
//!
//! Invariant: whoever says how long it waits has its answer by then: that of the store, or what each rule does while
//! the store is away.

use super::{Begun, Selected, Sheet, Way};
use crate::decision::Decisions;
use crate::limiter::{Asked, Inner, charges};
use crate::store::Charge;
use std::sync::Arc;
use std::time::Duration;

/// A charge for each limit of each rule, for somebody who may not wait for a turn.
pub(super) fn charges_in(rules: &[Asked], way: Way) -> Vec<Charge<'_>> {
    let mut charges = charges(rules);
    if way == Way::Now {
        charges.iter_mut().for_each(|charge| *charge = charge.until(0));
    }
    charges
}

impl Inner {
    /// Decides for somebody elsewhere, in memory.
    pub(in crate::limiter) fn decide_now(
        self: &Arc<Self>,
        selected: Selected,
        sheet: Sheet,
        way: Way,
    ) -> Decisions {
        match self.only(&selected) {
            Some(asked) => self.admit_one(asked, sheet).decisions,
            None => self.admit_now(selected, sheet, way).decisions,
        }
    }

    /// Decides for somebody elsewhere, who waits for a shared store no longer than so long.
    pub(in crate::limiter) async fn decide_within(
        self: &Arc<Self>,
        selected: Selected,
        sheet: Sheet,
        way: Way,
        time: Option<Duration>,
    ) -> Decisions {
        match self.begin(selected, sheet, way) {
            Begun::Done(admission) => admission.decisions,
            Begun::Later(later) => later.within(time).run().await.decisions,
        }
    }
}
