//! A request reserved by all rules that apply to it, by name, to be settled by somebody elsewhere.
//!
//! Invariant: as for any request, all rules that are enforced hold, or none does.

use super::{Admission, Prepared, Way};
use crate::decision::Decisions;
use crate::limiter::hold::{Hold, Reserve};
use crate::limiter::holds::Reserved;
use crate::limiter::select::Selected;
use crate::limiter::{HoldsFull, Limiter};
use crate::request::{Rejected, Request};

impl Limiter {
    /// Reserves what a request takes under all rules that apply to it, to be
    /// [settled](Limiter::settle) by the name that is given; rules in shadow are not asked.
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
            let Admission { decisions, .. } = Admission::closed(&slots, sheet);
            return Ok(Reserved::new(decisions, None));
        }
        let shared = limiter.not_shared().is_err();
        let (near, far): (Vec<_>, Vec<_>) =
            enforced.into_iter().partition(|asked| shared && asked.rule.manner.instance);
        // Rules of this instance count what passes here; only the others can be settled elsewhere.
        let mut holds: Vec<Hold> = Vec::new();
        let mut results = match near.is_empty() {
            true => Vec::new(),
            false => limiter.take(near, Way::Here, &mut holds),
        };
        if results.iter().any(|result| result.is_refused()) {
            return Ok(Reserved::new(Decisions::new(results, sheet.version), None));
        }
        let reserved = Reserve { limiter: &limiter, rules: far, units: 0 }.by_name().await;
        if reserved.as_ref().map_or(true, |reserved| reserved.is_refused()) {
            holds.iter().for_each(|hold| hold.settle_each(|_| Some(0)));
        }
        reserved.map(|reserved| {
            results.extend(reserved.rules().iter().cloned());
            Reserved::new(Decisions::new(results, sheet.version), reserved.hold())
        })
    }
}
