//! Several descriptors as one question, and what each of them is told.
//!
//! Invariant: a descriptor that only asks takes nothing; if it finds too little left, the request is refused before
//! others have taken anything.

use super::decided::Asking;
use super::{Label, Selected, Slot};
use crate::algorithm::Retry;
use crate::decision::{Decision, RuleResult, Source};
use crate::few::Few;
use crate::limiter::admission::Way;
use crate::limiter::{Asked, OnStoreFailure};
use std::sync::Arc;

/// Ticks of a second.
const SECOND: u64 = 1_000_000;

/// Several descriptors as one question.
#[derive(Default)]
pub(super) struct Several {
    selected: Selected,
    /// Whose each place in the list of results is: a descriptor's, by the label of the rule, in shadow or not.
    owners: Vec<(usize, Arc<Label>, bool)>,
}

impl Several {
    pub(super) fn add(&mut self, number: usize, own: Selected) {
        let label = |asked: &Asked| Arc::clone(&asked.rule.label);
        let (mut enforced, mut shadow) = (own.enforced.iter(), own.shadow.iter());
        let owner = |slot: &Slot| match slot {
            Slot::Enforced => enforced.next().map(|asked| (number, label(asked), false)),
            Slot::Shadow => shadow.next().map(|asked| (number, label(asked), true)),
            Slot::Closed(label, shadow) => Some((number, Arc::clone(label), *shadow)),
        };
        let all = vec![Slot::Enforced; if own.slots.is_empty() { own.enforced.len() } else { 0 }];
        self.owners.extend(own.slots.iter().chain(&all).filter_map(owner));
        self.selected.append(own);
    }

    /// Takes nothing any more.
    pub(super) fn only_look(&mut self) {
        let free = |asked: Asked| Asked { cost: 0, ..asked };
        self.selected.looks = true;
        self.selected.shadow.clear();
        let enforced = std::mem::take(&mut self.selected.enforced);
        self.selected.enforced = enforced.into_iter().map(free).collect();
    }

    /// Asks whether there is something left for those that take nothing; whether there is.
    pub(super) async fn ask_whether(
        mut self,
        asks: &Asking<'_>,
        parts: &mut [Few<RuleResult>],
    ) -> bool {
        let asked = self.selected.enforced.clone();
        self.only_look();
        self.ask(asks, parts).await;
        let (mut asked, mut passes) = (asked.iter(), true);
        for part in &mut *parts {
            let judged = part.iter().map(|own| {
                // They come in the order in which they were asked; what is not asked is not among them.
                let rest = asked.as_slice();
                let found = rest.iter().position(|asked| own.is_of(&asked.rule.label, false));
                let Some(Asked { rule, who, cost }) = found.and_then(|at| rest.get(at)) else {
                    passes &= own.is_allowed() || own.is_shadow();
                    return own.clone();
                };
                asked = rest[found.unwrap_or(0) + 1..].iter();
                let denies = rule.manner.on_store_failure == OnStoreFailure::Deny;
                let judged = own.judged(*cost, denies);
                if judged.is_refused() {
                    // Looks are told to nobody, but this is a refusal.
                    asks.limiter.observe(rule, who.local, &judged, 1);
                    passes = false;
                }
                judged
            });
            *part = judged.collect();
        }
        passes
    }

    /// Asks, and gives each descriptor what is its own.
    pub(super) async fn ask(self, asks: &Asking<'_>, parts: &mut [Few<RuleResult>]) {
        if self.owners.is_empty() {
            return;
        }
        let decisions =
            asks.limiter.decide_within(self.selected, asks.sheet, Way::Now, asks.left()).await;
        // A rule that was not asked is left out wherever it applies, so the next of its label is the owner.
        let mut owners = self.owners.into_iter();
        for result in decisions.rules() {
            let owner = owners.find(|(_, label, shadow)| result.is_of(label, *shadow));
            owner.into_iter().for_each(|(number, ..)| parts[number].push(result.clone()));
        }
    }
}

impl RuleResult {
    /// What a rule that was only looked at says to who asks whether there is so much left.
    fn judged(&self, cost: u64, denies: bool) -> RuleResult {
        self.changed(|policy, own| {
            let turn = own.delay().map_or(0, |delay| delay.as_micros() as u64);
            let wait = match own.source() {
                Source::FailedOpen if denies => return Decision::away(),
                Source::FailedOpen | Source::FailedClosed => return *own,
                // Nobody waits for a turn.
                _ if own.is_allowed() && turn > 0 => turn,
                _ if own.is_allowed() && own.remaining() < cost => {
                    let seconds = policy.and_then(|policy| policy.more_seconds(own)).unwrap_or(1);
                    seconds.max(1).saturating_mul(SECOND)
                }
                _ => return *own,
            };
            let mut refused = *own;
            refused.verdict.retry_after = Retry::after(wait);
            refused
        })
    }
}

impl Decision {
    /// The answer of a rule that refuses while the store is away.
    fn away() -> Decision {
        #[cfg(feature = "redis")]
        return Decision::FAILED_CLOSED;
        #[cfg(not(feature = "redis"))]
        Decision::CLOSED
    }
}
