//! Decisions for somebody elsewhere, who may not wait: neither for a turn, nor for a store that does not answer.
//!
//! Invariant: whoever says how long it waits has its answer by then: that of the store, or what each rule does while
//! the store is away.

#[cfg(feature = "redis")]
use super::far::{in_order, refused_near};
#[cfg(feature = "redis")]
use super::{Admission, Later};
use super::{Begun, Selected, Sheet, Way};
use crate::decision::Decisions;
#[cfg(feature = "redis")]
use crate::few::Few;
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
        match (self.begin(selected, sheet, way), time) {
            (Begun::Done(admission), _) => admission.decisions,
            #[cfg(feature = "redis")]
            (Begun::Later(later), Some(time)) => later.run_within(time).await.decisions,
            (Begun::Later(later), _) => later.run().await.decisions,
        }
    }
}

#[cfg(feature = "redis")]
impl Later {
    /// The admission, or, if the store has not answered by then, what each rule does while it is away. What was
    /// asked goes on to its end, so that a store that hangs is noticed.
    pub(super) async fn run_within(self, time: Duration) -> Admission {
        let spare = self.clone();
        let mut asking = self.run();
        match tokio::time::timeout(time, &mut asking).await {
            Ok(admission) => admission,
            Err(_) => {
                tokio::spawn(asking);
                spare.without_store()
            }
        }
    }

    /// Decides without the store.
    fn without_store(self) -> Admission {
        let Later { limiter, selected, sheet, way } = self;
        let Selected { enforced, slots, .. } = selected;
        let order: Vec<bool> = enforced.iter().map(|asked| asked.rule.manner.instance).collect();
        let (near, far): (Vec<_>, Vec<_>) =
            enforced.into_iter().partition(|asked| asked.rule.manner.instance);
        let told = limiter.tell_near(near, way);
        if told.results.iter().any(|result| result.is_refused()) {
            return refused_near(sheet, &slots, &order, told.stays());
        }
        let decisions = limiter.decide_without(&far, way);
        let far = limiter.results(&far, &decisions, false);
        let near = match far.iter().all(|result| result.is_allowed()) {
            true => told.stays(),
            false => told.give_back(),
        };
        Admission::new(sheet, &slots, in_order(&order, near, far), Few::default(), Vec::new())
    }
}
