//! A request admitted or refused by all rules that apply to it, and what it holds until it is answered.
//!
//! Invariants: rules that are enforced charge together, or not at all; a rule in shadow charges by itself,
//! and only for a request that passes. Whatever is held is given back once, however the request ends.

mod after;
#[cfg(feature = "redis")]
mod far;
mod later;
mod line;
mod prepared;
mod reserve;
mod told;
mod unheld;

pub(crate) use later::Later;
#[cfg(feature = "tower")]
pub(crate) use later::Waits;
pub use prepared::Prepared;
use told::charges_in;

use super::hold::Hold;
use super::release::Release;
use super::select::{Selected, Slot, View};
use super::{Asked, Inner, Limiter, charges};
use crate::decision::{Decisions, RuleResult};
use crate::few::Few;
use crate::request::{Rejected, Request};
use crate::rule::kind::ANYONE;
use crate::rule::{FieldForms, KeyKind};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// What became of a request. Reads as the [`Decisions`] of the rules that apply to it.
///
/// While it is there, the request holds what it took of concurrency limits: keep it until the request
/// was answered, and tell it [the answer](Admission::answered).
#[must_use = "an admission that is dropped gives its permits back at once"]
pub struct Admission {
    decisions: Decisions,
    forms: FieldForms,
    holds: Vec<Hold>,
}

/// How what is admitted is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By whoever asks, in this process: it waits for its turn, and permits end with it.
    Here,
    /// By somebody elsewhere, who is told turns and the names of permits.
    Told,
    /// The same, by somebody who does not wait: what would have its turn later is refused.
    Now,
}

/// A request that was begun.
pub(crate) enum Begun {
    Done(Admission),
    /// It takes a while.
    Later(Later),
}

/// What is known of a request's answer before it is decided.
#[derive(Clone, Copy)]
pub(super) struct Sheet {
    pub(super) version: u64,
    pub(super) forms: FieldForms,
}

impl Limiter {
    /// Asks all rules that apply to a request, as one decision; waits for its turn where one of them
    /// shapes. `Err` if the request is such that no rule can be asked about it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use ratekeeper::{Limiter, Request};
    ///
    /// let limiter = Limiter::memory().rule("api", "2/minute")?.build();
    /// let request = Request { peer: Some("192.0.2.7".parse()?), ..Request::new("GET", "/") };
    /// assert!(limiter.admit(&request).await?.is_allowed());
    /// assert!(limiter.admit(&request).await?.is_allowed());
    /// assert!(limiter.admit(&request).await?.is_refused());
    /// # Ok(()) }
    /// ```
    pub async fn admit(&self, request: &Request<'_>) -> Result<Admission, Rejected> {
        match self.begin(request, ANYONE, Way::Here)? {
            Begun::Done(admission) => Ok(admission),
            Begun::Later(later) => Ok(later.run().await),
        }
    }

    /// The same for somebody elsewhere: does not wait, but tells the [delay](crate::Decision::delay), and
    /// permits have [names](crate::Decision::permit).
    pub async fn check(&self, request: &Request<'_>) -> Result<Decisions, Rejected> {
        let prepared = self.prepare(request)?;
        Ok(prepared.check().await)
    }

    /// Decides what can be decided at once.
    pub(crate) fn begin(
        &self,
        request: &Request<'_>,
        given: &[KeyKind],
        way: Way,
    ) -> Result<Begun, Rejected> {
        let release = self.0.rules.load();
        let view = View::new(&self.0, &release, request, given)?;
        Ok(self.0.begin(view.select()?, release.sheet(), way))
    }
}

impl Release {
    pub(super) fn sheet(&self) -> Sheet {
        Sheet { version: self.version, forms: self.forms }
    }
}

impl Inner {
    /// Decides what can be decided at once.
    fn begin(self: &Arc<Self>, selected: Selected, sheet: Sheet, way: Way) -> Begun {
        if let Some(asked) = self.only(&selected) {
            return Begun::Done(self.admit_one(asked, sheet));
        }
        match selected.closed || self.decides_at_once(&selected, way) {
            true => Begun::Done(self.admit_now(selected, sheet, way)),
            false => Begun::Later(Later::new(self, selected, sheet, way)),
        }
    }

    /// Whether there is nothing to wait for.
    fn decides_at_once(&self, selected: &Selected, way: Way) -> bool {
        let shapes = |asked: &Asked| asked.rule.meters.iter().any(|meter| meter.pace().is_some());
        let waits = way == Way::Here && selected.enforced.iter().any(shapes);
        self.not_shared().is_ok() && !waits
    }

    /// The only rule that applies, if it takes no more than one look at one bucket in memory.
    fn only<'s>(&self, selected: &'s Selected) -> Option<&'s Asked> {
        match &selected.enforced {
            Few::One(asked) if selected.slots.is_empty() && self.not_shared().is_ok() => {
                Some(asked).filter(|asked| asked.rule.is_simple())
            }
            _ => None,
        }
    }

    /// Decides what most requests are: one look at one bucket, and nothing to hold.
    fn admit_one(&self, Asked { rule, who, cost }: &Asked, sheet: Sheet) -> Admission {
        let decision = self.charge_at(self.clock.now(), rule, who.local, *cost);
        self.observe(rule, who.local, &decision, *cost);
        let result = RuleResult::new(&rule.label, &[decision]);
        let decisions = Decisions::new(Few::One(result), sheet.version);
        Admission { decisions, forms: sheet.forms, holds: Vec::new() }
    }

    /// Decides a request that waits for nothing.
    fn admit_now(self: &Arc<Self>, selected: Selected, sheet: Sheet, way: Way) -> Admission {
        let Selected { enforced, shadow, slots, closed, looks } = selected;
        if closed {
            if !looks {
                self.observe_closed(&slots, false);
            }
            return Admission::closed(&slots, sheet);
        }
        let mut holds = Vec::new();
        let results = self.take(enforced, way, false, &mut holds);
        let shadows = self.take_shadows(shadow, &results, way, &mut holds);
        self.observe_shut(&slots, &results, looks);
        Admission::new(sheet, &slots, results, shadows, holds)
    }

    /// Tells of rules in shadow that would let nobody pass, if a request that takes something passes.
    fn observe_shut(&self, slots: &[Slot], results: &[RuleResult], looks: bool) {
        if !looks && results.iter().all(|result| result.is_allowed()) {
            self.observe_closed(slots, true);
        }
    }

    /// Charges rules in memory, all or none; what is to be given back or settled later is held.
    fn take(
        self: &Arc<Self>,
        rules: Few<Asked>,
        way: Way,
        shadow: bool,
        holds: &mut Vec<Hold>,
    ) -> Few<RuleResult> {
        if let [Asked { rule, who, cost }] = &rules[..]
            && rule.is_simple()
        {
            let decision = self.charge_at(self.clock.now(), rule, who.local, *cost);
            return self.results(&rules, &[decision], shadow);
        }
        let admitted = match way {
            Way::Here => self.admit(&charges(&rules), None),
            Way::Told | Way::Now => self.admit_by_name(&charges_in(&rules, way), None),
        };
        if way != Way::Here || admitted.receipts.is_empty() {
            return self.results(&rules, &admitted.decisions, shadow);
        }
        // Should the observer panic, what is held is there to be given back.
        holds.push(Hold::new(self, rules.into_vec(), admitted.receipts));
        let rules = holds.last().map_or(&[][..], |hold| &hold.rules);
        self.results(rules, &admitted.decisions, shadow)
    }

    /// Charges rules in shadow, each by itself, if those that are enforced let the request pass.
    fn take_shadows(
        self: &Arc<Self>,
        rules: Vec<Asked>,
        enforced: &[RuleResult],
        way: Way,
        holds: &mut Vec<Hold>,
    ) -> Few<RuleResult> {
        let passes = enforced.iter().all(|result| result.is_allowed());
        let rules = rules.into_iter().filter(|_| passes);
        rules.flat_map(|asked| self.take(Few::One(asked), way, true, holds)).collect()
    }
}

impl Admission {
    /// Puts the answers of rules in the order of the file.
    fn new(
        sheet: Sheet,
        slots: &[Slot],
        results: Few<RuleResult>,
        shadows: Few<RuleResult>,
        holds: Vec<Hold>,
    ) -> Admission {
        let Sheet { version, forms } = sheet;
        // The usual case: nothing to put in order.
        if slots.is_empty() {
            return Admission { decisions: Decisions::new(results, version), forms, holds };
        }
        let (mut results, mut shadows) = (results.into_iter(), shadows.into_iter());
        let each = slots.iter().filter_map(|slot| match slot {
            Slot::Enforced => results.next(),
            Slot::Shadow => shadows.next().map(RuleResult::in_shadow),
            Slot::Closed(label, shadow) => Some(RuleResult::closed(label, *shadow)),
        });
        Admission { decisions: Decisions::new(each.collect(), version), forms, holds }
    }

    /// Refused by rules that let nobody pass, so that no other is asked.
    fn closed(slots: &[Slot], sheet: Sheet) -> Admission {
        let each = slots.iter().filter_map(|slot| match slot {
            Slot::Closed(label, shadow) => Some(RuleResult::closed(label, *shadow)),
            Slot::Enforced | Slot::Shadow => None,
        });
        let decisions = Decisions::new(each.collect(), sheet.version);
        Admission { decisions, forms: sheet.forms, holds: Vec::new() }
    }

    /// The decisions.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Which header fields the answer is to carry.
    pub fn forms(&self) -> FieldForms {
        self.forms
    }

    /// Whether anything is held until the request was answered.
    pub fn is_holding(&self) -> bool {
        !self.holds.is_empty()
    }
}

impl Deref for Admission {
    type Target = Decisions;

    fn deref(&self) -> &Decisions {
        &self.decisions
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Admission").field(&self.decisions).finish()
    }
}
