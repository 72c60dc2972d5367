//! Waiting in line for the turn of a request under several rules, in memory.
//!
//! Invariant: whoever stops waiting leaves its place, and all behind it move up; what other rules charged
//! stays charged, and permits are given back.

use crate::decision::RuleResult;
use crate::few::Few;
use crate::limiter::hold::Hold;
use crate::limiter::queue::{Sleeper, Ticket};
use crate::limiter::{Asked, Inner, alarm, charges};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A request that has to wait for its turn.
pub(super) struct Line<'a> {
    limiter: &'a Arc<Inner>,
    rules: Vec<Asked>,
    /// What it was charged, once it was.
    taken: Option<(Few<RuleResult>, Hold)>,
    stage: Stage,
}

enum Stage {
    Asks,
    /// In one line or several; and the last tick of turns that nothing changes.
    InLine(Few<Ticket>, u64),
    /// With a turn that nothing changes.
    Told(Sleeper),
    /// Behind others who were just let go.
    Behind,
    Done,
}

impl<'a> Line<'a> {
    pub(super) fn new(limiter: &'a Arc<Inner>, rules: Vec<Asked>) -> Line<'a> {
        Line { limiter, rules, taken: None, stage: Stage::Asks }
    }

    /// Charges everything, and takes a place in line.
    fn ask(&mut self, waker: &Waker) {
        let limiter = self.limiter;
        let admitted = limiter.admit(&charges(&self.rules), Some(waker));
        self.stage = if admitted.receipts.is_empty() {
            Stage::Done
        } else if !admitted.tickets.is_empty() {
            Stage::InLine(admitted.tickets, admitted.told)
        } else if admitted.told > admitted.now {
            Stage::Told(limiter.queues.sleep(admitted.told, waker))
        } else if admitted.behind {
            waker.wake_by_ref();
            Stage::Behind
        } else {
            Stage::Done
        };
        // Should the observer panic, what is held is there to be given back.
        let hold = Hold::new(limiter, self.rules.clone(), admitted.receipts);
        let results = limiter.results(&self.rules, &admitted.decisions, false);
        self.taken = Some((results, hold));
    }

    /// Whether its turn has not come.
    fn waits(&mut self, waker: &Waker) -> bool {
        let (queues, now) = (&self.limiter.queues, self.limiter.clock.now());
        match &self.stage {
            Stage::InLine(tickets, _) if self.limiter.waits(tickets, waker) => true,
            Stage::InLine(_, last) if *last > now => {
                self.stage = Stage::Told(queues.sleep(*last, waker));
                true
            }
            Stage::Told(sleeper) => queues.sleeps(sleeper, now, waker),
            Stage::InLine(..) | Stage::Behind | Stage::Asks | Stage::Done => false,
        }
    }
}

impl Future for Line<'_> {
    type Output = (Few<RuleResult>, Hold);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (this, waker) = (self.get_mut(), context.waker());
        let fresh = matches!(this.stage, Stage::Asks);
        if fresh {
            this.ask(waker);
        }
        let waits = match this.stage {
            Stage::Behind => fresh,
            _ => this.waits(waker),
        };
        if waits {
            alarm::keep(this.limiter);
            return Poll::Pending;
        }
        if let Stage::Told(sleeper) = std::mem::replace(&mut this.stage, Stage::Done) {
            this.limiter.queues.rise(&sleeper);
        }
        this.taken.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::InLine(tickets, _) => {
                self.limiter.leave(&tickets, charges(&self.rules).into_iter());
            }
            Stage::Told(sleeper) => self.limiter.queues.rise(&sleeper),
            Stage::Asks | Stage::Behind | Stage::Done => {}
        }
    }
}
