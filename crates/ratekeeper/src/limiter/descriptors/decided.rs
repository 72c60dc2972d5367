//! What became of the descriptors of a request.
//!
//! Invariant: there is one decision for all of them, within the time that the caller has.

use super::several::Several;
use super::{Asked, Hits, Part, PreparedDescriptors, Selected};
use crate::decision::{Decision, Decisions, RuleResult};
use crate::few::Few;
use crate::limiter::admission::{Sheet, Way};
use crate::limiter::call::{Action, Call};
use crate::limiter::{Inner, Rule};
use crate::rule::FieldForms;
use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "redis")]
use tokio::time::Instant;

/// What became of the descriptors of a request.
#[derive(Clone, Debug)]
#[must_use = "a decision that nobody looks at limits nothing"]
pub struct Described {
    decisions: Decisions,
    forms: FieldForms,
    parts: Vec<Few<RuleResult>>,
}

impl Described {
    /// The decision on all that was asked for.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Which header fields the answer is to carry.
    pub fn forms(&self) -> FieldForms {
        self.forms
    }

    /// For each descriptor, in order, what the rules said that apply to it. Of those that give back, what is
    /// there afterwards.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = &[RuleResult]> {
        self.parts.iter().map(|part| &part[..])
    }

    /// Of one descriptor.
    fn one(decisions: Decisions, sheet: Sheet) -> Described {
        let parts = vec![decisions.rules().iter().cloned().collect()];
        Described { decisions, forms: sheet.forms, parts }
    }
}

impl PreparedDescriptors {
    /// Whether they are decided at once: a matter of one descriptor that takes something, and of memory, as it
    /// mostly is.
    pub fn decides_at_once(&self) -> bool {
        let one = matches!(self.parts[..], [Part { hits: Hits::Take(1..), .. }]);
        one && self.limiter.not_shared().is_ok()
    }

    /// Decides them [at once](Self::decides_at_once), or gives them back, to be awaited.
    pub fn try_now(mut self) -> Result<Described, PreparedDescriptors> {
        let sheet = self.release.sheet();
        if self.decides_at_once()
            && let [Part { selected, .. }] = &mut self.parts[..]
        {
            let selected = std::mem::take(selected);
            let decisions = self.limiter.decide_now(selected, sheet, Way::Now);
            return Ok(Described::one(decisions, sheet));
        }
        Err(self)
    }

    /// Decides them.
    pub async fn check(self) -> Described {
        self.run(None).await
    }

    /// The same for somebody who waits no longer than so long, whatever the shared store does: if it has not
    /// answered by then, each rule does what it was told for when it is away.
    pub async fn check_within(self, time: Duration) -> Described {
        self.run(Some(time)).await
    }

    async fn run(mut self, time: Option<Duration>) -> Described {
        let sheet = self.release.sheet();
        if let [Part { hits: Hits::Take(1..), selected }] = &mut self.parts[..] {
            let selected = std::mem::take(selected);
            let decisions = self.limiter.decide_within(selected, sheet, Way::Now, time).await;
            return Described::one(decisions, sheet);
        }
        let asks = Asking::new(&self.limiter, sheet, time);
        let mut parts: Vec<Few<RuleResult>> = Vec::with_capacity(self.parts.len());
        parts.resize_with(self.parts.len(), Few::default);
        let (mut looks, mut takes) = (Several::default(), Several::default());
        let (mut taking, mut giving) = (Vec::new(), Vec::new());
        for (number, Part { selected, hits }) in self.parts.into_iter().enumerate() {
            match hits {
                Hits::Take(0) => looks.add(number, selected),
                Hits::Take(_) => takes.add(number, selected),
                Hits::GiveBack(_) => {
                    giving.push((number, selected));
                    continue;
                }
            }
            taking.push(number);
        }
        if !looks.ask_whether(&asks, &mut parts).await {
            takes.only_look();
        }
        takes.ask(&asks, &mut parts).await;
        let decisions = together(taking.iter().flat_map(|number| &parts[*number][..]), sheet);
        let giving = giving.into_iter().filter(|_| decisions.is_allowed());
        asks.give_back(giving, &mut parts).await;
        Described { decisions, forms: sheet.forms, parts }
    }
}

/// The decision on all that takes something. Of a rule that several descriptors meet, the tightest answer
/// speaks for all.
fn together<'r>(results: impl Iterator<Item = &'r RuleResult>, sheet: Sheet) -> Decisions {
    let mut all: Vec<RuleResult> = Vec::new();
    for own in results {
        match all.iter_mut().find(|known| own.is_like(known)) {
            Some(known) => {
                let both = [&**known, &**own];
                if Decision::decisive(both.into_iter()).is_some_and(|(nth, _)| nth == 1) {
                    *known = own.clone();
                }
            }
            None => all.push(own.clone()),
        }
    }
    Decisions::new(all.into(), sheet.version)
}

/// Who is asked, and how long it may take.
pub(super) struct Asking<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) sheet: Sheet,
    #[cfg(feature = "redis")]
    until: Option<Instant>,
}

impl<'a> Asking<'a> {
    #[cfg_attr(
        not(feature = "redis"),
        expect(unused_variables, reason = "memory waits for nobody")
    )]
    fn new(limiter: &'a Arc<Inner>, sheet: Sheet, time: Option<Duration>) -> Asking<'a> {
        Asking {
            limiter,
            sheet,
            #[cfg(feature = "redis")]
            until: time.map(|time| Instant::now() + time),
        }
    }

    /// How long there is still time, if there is an end to it.
    pub(super) fn left(&self) -> Option<Duration> {
        #[cfg(feature = "redis")]
        return self.until.map(|until| until.saturating_duration_since(Instant::now()));
        #[cfg(not(feature = "redis"))]
        None
    }

    /// Gives back under all rules that apply to some descriptors, for all of them at the same time, and tells
    /// each what is there afterwards. What takes too long goes on by itself.
    async fn give_back(
        &self,
        giving: impl Iterator<Item = (usize, Selected)>,
        parts: &mut [Few<RuleResult>],
    ) {
        let giving = giving.map(|(number, own)| (number, Arc::clone(self.limiter).give_back(own)));
        #[cfg(feature = "redis")]
        if self.until.is_some() && self.limiter.shared.is_some() {
            let spawned: Vec<_> = giving.map(|(number, own)| (number, tokio::spawn(own))).collect();
            for (number, own) in spawned {
                let told = tokio::time::timeout(self.left().unwrap_or_default(), own).await;
                parts[number] = told.ok().and_then(Result::ok).unwrap_or_default();
            }
            return;
        }
        for (number, own) in giving {
            parts[number] = own.await;
        }
    }
}

impl Inner {
    /// Gives back under all rules that apply; what is there afterwards.
    async fn give_back(self: Arc<Self>, selected: Selected) -> Few<RuleResult> {
        let mut results = Few::default();
        let shadow = selected.shadow.into_iter().map(|asked| (asked, true));
        let enforced = selected.enforced.into_iter().map(|asked| (asked, false));
        for (Asked { rule, who, cost }, shadow) in enforced.chain(shadow) {
            let rule = Rule::new(Arc::clone(&self), rule);
            let left = Call { rule: &rule, who, action: Action::Refund(cost) }.await;
            let limits = vec![left; rule.rule.meters.len()];
            let result = RuleResult::new(&rule.rule.label, &limits);
            results.push(if shadow { result.in_shadow() } else { result });
        }
        results
    }
}
