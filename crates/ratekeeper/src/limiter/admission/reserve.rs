//! A request reserved by all rules that apply to it, by name, to be settled by somebody elsewhere.
//!
//! Invariant: as for any request, all rules that are enforced hold, or none does.

use super::{Admission, Prepared};
use crate::decision::Decisions;
use crate::limiter::hold::Reserve;
use crate::limiter::holds::Reserved;
use crate::limiter::select::Selected;
use crate::limiter::{HoldsFull, Limiter};
use crate::request::{Rejected, Request};

impl Limiter {
    /// Reserves what a request takes under all rules that apply to it, to be
    /// [settled](Limiter::settle) by the name that is given; rules in shadow are not asked. With a shared
    /// store, what rules of `scope: instance` charge stays charged.
    pub async fn reserve(
        &self,
        request: &Request<'_>,
    ) -> Result<Result<Reserved, HoldsFull>, Rejected> {
        let prepared = self.prepare(request)?;
        Ok(prepared.reserve().await)
    }
}

impl Prepared {
    /// Reserves it, as [`Limiter::reserve`] does.
    pub async fn reserve(self) -> Result<Reserved, HoldsFull> {
        let Prepared { limiter, selected, sheet } = self;
        let Selected { enforced, slots, closed, .. } = selected;
        if closed {
            limiter.observe_closed(&slots, false);
            let Admission { decisions, .. } = Admission::closed(&slots, sheet);
            return Ok(Reserved::new(decisions, None));
        }
        #[cfg(feature = "redis")]
        if limiter.shared.is_some() {
            return limiter.reserve_far(enforced, sheet).await;
        }
        let reserved =
            Reserve { limiter: &limiter, rules: enforced.into_vec(), units: 0 }.by_name().await;
        reserved.map(|reserved| {
            let results = reserved.rules().iter().cloned().collect();
            Reserved::new(Decisions::new(results, sheet.version), reserved.hold())
        })
    }
}
