//! Waiting with a shared store: its answer is awaited, and a turn that it gives is fixed.
//!
//! Invariant: who stops waiting gives the turn back, if it is still the last, and what goes with it.

use super::{Admitted, Backing, Permits};
use crate::decision::Decision;
use crate::limiter::wait::{State, Wait, Waiting};
use crate::limiter::{Asked, Rule};
use crate::name::PermitId;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What the shared store was asked for.
pub(in crate::limiter) enum Stage<'a> {
    Nothing,
    /// It is being asked.
    Asking(Pin<Box<dyn Future<Output = Option<Admitted>> + Send + 'a>>),
    /// A turn, to be given back by who does not wait for it.
    Turn(Admitted),
}

impl Waiting<'_> {
    /// What follows from a decision of the shared store, or without it.
    fn heed(&mut self, admitted: Admitted, waker: &Waker) -> Option<Decision> {
        let limiter = &self.wait.rule.limiter;
        let decision = Decision::together(&admitted.decisions);
        let now = limiter.clock.now();
        let turn = decision.delay().filter(|turn| self.wait.cost > 0 && !turn.is_zero());
        if let Some(turn) = turn {
            let tick = now + u64::try_from(turn.as_micros()).unwrap_or(u64::MAX);
            self.state = State::Told(limiter.queues.sleep(tick, waker), decision);
            self.shared = Stage::Turn(admitted);
            return None;
        }
        match decision.is_allowed() || decision.shapes {
            true => Some(decision),
            false => self.sleep_on(decision, now, self.until.unwrap_or(now), waker),
        }
    }

    /// Asks the shared store, and heeds its answer once it is there.
    pub(in crate::limiter) fn poll_shared(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Decision>> {
        let Wait { rule: Rule { limiter, rule }, who, cost, .. } = self.wait;
        let patience = self.until.map_or_else(
            || self.wait.patience(),
            |until| until.saturating_sub(limiter.clock.now()),
        );
        self.until.get_or_insert_with(|| limiter.clock.now().saturating_add(patience));
        if !matches!(self.shared, Stage::Asking(_)) {
            self.shared = Stage::Asking(Box::pin(async move {
                let rules = [Asked { rule: Arc::clone(rule), who, cost }];
                let shared = limiter.shared.as_ref()?;
                Some(limiter.admit_shared(shared, &rules, patience, Permits::ByName).await)
            }));
        }
        let Stage::Asking(asking) = &mut self.shared else { return Poll::Pending };
        // Until the store has answered, every poll asks for its answer.
        self.state = State::Asks;
        let admitted = std::task::ready!(asking.as_mut().poll(context));
        (self.shared, self.state) = (Stage::Nothing, State::Done);
        Poll::Ready(admitted.and_then(|admitted| self.heed(admitted, context.waker())))
    }

    /// Gives back a turn that has not come.
    pub(in crate::limiter) fn leave_shared(&mut self, permit: Option<PermitId>) {
        if let Stage::Turn(admitted) = std::mem::replace(&mut self.shared, Stage::Nothing)
            && self.admitted().is_some()
        {
            let Rule { limiter, rule } = self.wait.rule;
            let asked = Asked { rule: Arc::clone(rule), who: self.wait.who, cost: self.wait.cost };
            if let Backing::Shared(_) = admitted.backing {
                limiter.leave_turn(vec![asked], admitted.receipts, permit);
            }
        }
    }
}
