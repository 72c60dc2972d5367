//! A request reserved by all rules that apply to it, by name, to be settled by somebody elsewhere.
//!
//! Invariant: as for any request, all rules that are enforced hold, or none does.

use super::{Admission, Way};
use crate::decision::Decisions;
use crate::limiter::hold::{Hold, Reserve};
use crate::limiter::holds::Reserved;
use crate::limiter::select::{ANYONE, Selected, View};
use crate::limiter::{HoldsFull, Limiter};
use crate::request::{Rejected, Request};
use std::sync::Arc;

impl Limiter {
    /// Reserves what a request takes under all rules that apply to it, to be
    /// [settled](Limiter::settle) by the name that is given; rules in shadow are not asked.
    pub async fn reserve(
        &self,
        request: &Request<'_>,
    ) -> Result<Result<Reserved, HoldsFull>, Rejected> {
        let (selected, sheet) = {
            let release = self.0.rules.load();
            let view = View::new(&self.0, &release, request, ANYONE)?;
            (view.select()?, release.sheet())
        };
        let Selected { enforced, slots, closed, .. } = selected;
        if closed {
            let Admission { decisions, .. } = Admission::closed(&slots, sheet);
            return Ok(Ok(Reserved::new(decisions, None)));
        }
        let limiter = Arc::clone(&self.0);
        let shared = limiter.not_shared().is_err();
        let (near, far): (Vec<_>, Vec<_>) =
            enforced.into_iter().partition(|asked| shared && asked.rule.manner.instance);
        // Rules of this instance count what passes here; only the others can be settled elsewhere.
        let mut holds: Vec<Hold> = Vec::new();
        let mut results = match near.is_empty() {
            true => Vec::new(),
            false => limiter.take(near, Way::Here, false, &mut holds),
        };
        if results.iter().any(|result| result.is_refused()) {
            return Ok(Ok(Reserved::new(Decisions::new(results, sheet.version), None)));
        }
        let reserved = Reserve { limiter: &limiter, rules: far, units: 0 }.by_name().await;
        if reserved.as_ref().map_or(true, |reserved| reserved.is_refused()) {
            holds.iter().for_each(|hold| hold.settle_each(|_| Some(0)));
        }
        Ok(reserved.map(|reserved| {
            results.extend(reserved.rules().iter().cloned());
            Reserved::new(Decisions::new(results, sheet.version), reserved.hold())
        }))
    }
}
