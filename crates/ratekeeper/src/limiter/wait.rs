//! Waiting for one's turn, or until it is time to ask again.
//!
//! Invariants: nothing is charged before the first poll; whoever stops waiting leaves no place in a
//! line and no waker behind.

use super::admit::Turn;
use super::queue::{Sleeper, Ticket};
#[cfg(feature = "redis")]
use super::shared::Stage;
use super::{Rule, alarm};
use crate::decision::Decision;
use crate::few::Few;
use crate::key::Who;
use crate::store::Charge;
use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A request that waits; see [`Rule::wait`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a call does nothing unless it is awaited"]
pub struct Wait<'a> {
    pub(super) rule: &'a Rule,
    pub(super) who: Who,
    pub(super) cost: u64,
    max_wait: Option<Duration>,
    deadline: Option<Instant>,
}

impl<'a> Wait<'a> {
    pub(super) fn new(rule: &'a Rule, who: Who) -> Wait<'a> {
        Wait { rule, who, cost: 1, max_wait: None, deadline: None }
    }

    /// Units that the request takes.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    /// Waits no longer than this, and no longer than the rule allows. If more would be needed, the
    /// answer is a refusal, at once.
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = Some(max_wait);
        self
    }

    /// Waits no longer than until then. If more would be needed, the answer is a refusal, at once.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Ticks that it waits at most, from now on.
    pub(super) fn patience(&self) -> u64 {
        let ticks = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let until = self.deadline.map(|deadline| self.rule.limiter.clock.until(deadline));
        self.max_wait.map_or(u64::MAX, ticks).min(until.unwrap_or(u64::MAX))
    }
}

impl<'a> IntoFuture for Wait<'a> {
    type Output = Decision;
    type IntoFuture = Waiting<'a>;

    fn into_future(self) -> Waiting<'a> {
        Waiting {
            wait: self,
            until: None,
            state: State::Asks,
            #[cfg(feature = "redis")]
            shared: Stage::Nothing,
        }
    }
}

/// A request that is waiting. Dropped, it has left, and all behind it have moved up.
#[must_use = "futures do nothing unless awaited"]
pub struct Waiting<'a> {
    pub(super) wait: Wait<'a>,
    /// The last tick at which it may pass, once it has begun to wait.
    pub(super) until: Option<u64>,
    pub(super) state: State,
    #[cfg(feature = "redis")]
    pub(super) shared: Stage<'a>,
}

pub(super) enum State {
    Asks,
    /// Refused, until it is time to ask again.
    Sleeps(Sleeper),
    /// Admitted, with a turn that nothing changes.
    Told(Sleeper, Decision),
    /// Admitted, in line; and the last tick of turns that nothing changes.
    InLine(Few<Ticket>, u64, Decision),
    /// Admitted, behind others who were just let go.
    Behind(Decision),
    Done,
}

impl<'a> Waiting<'a> {
    /// Asks; the decision, if there is nothing to wait for. Who only looks does not wait.
    fn ask(&mut self, waker: &Waker) -> Option<Decision> {
        let Wait {
            rule: Rule { limiter, rule }, who: Who { local: fingerprint, .. }, cost, ..
        } = self.wait;
        let start = limiter.clock.now();
        let until = *self.until.get_or_insert_with(|| start.saturating_add(self.wait.patience()));
        if rule.plain {
            let decision = limiter.charge_at(start, rule, fingerprint, cost);
            return self.sleep_on(decision, start, until, waker);
        }
        let Turn { decision, tickets, told, behind, now } = match &rule.meters[..] {
            [meter] if meter.pace().is_some() => {
                let charge = Charge::new(meter, fingerprint, cost).until(until);
                limiter.admit_turn(&charge, Some(waker))
            }
            _ => {
                let charges = rule.charges(fingerprint, cost);
                let charges: Vec<_> = charges.map(|charge| charge.until(until)).collect();
                limiter.admit_by_name(&charges, Some(waker)).turn()
            }
        };
        self.state = if !tickets.is_empty() {
            State::InLine(tickets, told, decision)
        } else if told > now && decision.is_allowed() {
            State::Told(limiter.queues.sleep(told, waker), decision)
        } else if decision.is_allowed() && behind {
            waker.wake_by_ref();
            State::Behind(decision)
        } else if decision.shapes {
            return Some(decision);
        } else {
            return self.sleep_on(decision, now, until, waker);
        };
        None
    }

    /// The decision, unless asking again at its time may help.
    pub(super) fn sleep_on(
        &mut self,
        decision: Decision,
        now: u64,
        until: u64,
        waker: &Waker,
    ) -> Option<Decision> {
        let retry = decision.verdict.retry_after.ticks().map(|ticks| now + ticks);
        let Some(tick) = retry.filter(|tick| *tick <= until) else { return Some(decision) };
        self.state = State::Sleeps(self.wait.rule.limiter.queues.sleep(tick, waker));
        None
    }

    /// The decision, if it was admitted and has not had its turn.
    pub(super) fn admitted(&self) -> Option<Decision> {
        match self.state {
            State::InLine(_, _, decision) | State::Told(_, decision) | State::Behind(decision) => {
                Some(decision)
            }
            State::Asks | State::Sleeps(_) | State::Done => None,
        }
    }

    /// Whether the decision that was taken may be acted on.
    fn poll_turn(&mut self, waker: &Waker) -> Poll<Decision> {
        let limiter = &self.wait.rule.limiter;
        let (waits, decision) = match &self.state {
            State::InLine(tickets, told, decision) => {
                let (told, decision) = (*told, *decision);
                let waits = limiter.waits(tickets, waker);
                if !waits && told > limiter.clock.now() {
                    self.state = State::Told(limiter.queues.sleep(told, waker), decision);
                    return Poll::Pending;
                }
                (waits, decision)
            }
            State::Told(sleeper, decision) => {
                (limiter.queues.sleeps(sleeper, limiter.clock.now(), waker), *decision)
            }
            State::Behind(decision) => (false, *decision),
            // Not to be asked here, or not any more.
            State::Asks | State::Sleeps(_) | State::Done => return Poll::Pending,
        };
        if waits {
            return Poll::Pending;
        }
        if let State::Told(sleeper, _) = std::mem::replace(&mut self.state, State::Done) {
            limiter.queues.rise(&sleeper);
        }
        Poll::Ready(decision)
    }

    /// Leaves nothing behind but what was admitted and has had its turn.
    fn leave(&mut self) {
        let Rule { limiter, rule } = self.wait.rule;
        match std::mem::replace(&mut self.state, State::Done) {
            State::Sleeps(sleeper) | State::Told(sleeper, _) => limiter.queues.rise(&sleeper),
            State::InLine(tickets, ..) => {
                limiter.leave(&tickets, rule.charges(self.wait.who.local, self.wait.cost));
            }
            State::Asks | State::Behind(_) | State::Done => {}
        }
    }
}

impl Future for Waiting<'_> {
    type Output = Decision;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Decision> {
        let (this, waker) = (self.get_mut(), context.waker());
        let limiter = &this.wait.rule.limiter;
        let asks = match &this.state {
            State::Asks => true,
            State::Sleeps(sleeper) => !limiter.queues.sleeps(sleeper, limiter.clock.now(), waker),
            _ => false,
        };
        if asks {
            this.leave();
            #[cfg(feature = "redis")]
            let decision = match limiter.shared {
                Some(_) if !this.wait.rule.rule.manner.instance => {
                    std::task::ready!(this.poll_shared(context))
                }
                _ => this.ask(waker),
            };
            #[cfg(not(feature = "redis"))]
            let decision = this.ask(waker);
            if let Some(decision) = decision.or(this.admitted()) {
                let Wait { rule, who, cost, .. } = &this.wait;
                limiter.observe(&rule.rule, who.local, &decision, *cost);
            }
            if let Some(decision) = decision {
                return Poll::Ready(decision);
            }
        } else if let Poll::Ready(decision) = this.poll_turn(waker) {
            return Poll::Ready(decision);
        }
        alarm::keep(limiter);
        Poll::Pending
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let permit = self.admitted().and_then(|decision| decision.permit);
        #[cfg(feature = "redis")]
        self.leave_shared(permit);
        self.leave();
        let limiter = &self.wait.rule.limiter;
        permit.map(|permit| limiter.leases.release(&limiter.store, permit));
    }
}

impl fmt::Debug for Waiting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waiting").field(&self.wait).finish()
    }
}
