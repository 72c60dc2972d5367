//! Scripts at one server: brought where they are missing, and told to the breaker.
//!
//! Invariants: while the breaker is open nothing is run; one of those who find a script missing brings it.

use super::super::call::Texts;
use super::super::error::{Breaks, Class, StoreError};
use super::probe::Probing;
use super::{IN_FLIGHT, Link, Outcome};
use crate::sync::Ordering;
use redis::Value;
use std::sync::Arc;
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout_at};

impl Link {
    /// Room for one more call, if the breaker lets it.
    pub(in super::super) async fn enter(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<SemaphorePermit<'_>, StoreError> {
        self.not_open()?;
        if let Ok(room) = self.room.try_acquire() {
            return Ok(room);
        }
        let room = timeout_at(deadline, self.room.acquire()).await;
        let Some(room) = room.ok().and_then(Result::ok).filter(|_| Instant::now() < deadline)
        else {
            let fault = format!("has {IN_FLIGHT} calls under way, which is the most");
            return Err(self.error(Class::Busy, fault));
        };
        // Those who had the room before may have found out that there is no use.
        self.not_open()?;
        Ok(room)
    }

    /// Runs a script for so many calls that have room, and tells the breaker. If the server does not know it, it is
    /// brought, if `brings`.
    pub(in super::super) async fn run(
        self: &Arc<Self>,
        texts: &Texts<'_>,
        (asking, brings): (bool, bool),
        deadline: Instant,
        calls: usize,
    ) -> Result<Value, StoreError> {
        self.not_open()?;
        let number = texts.script.number;
        let loads = self.loads[number].load(Ordering::Acquire);
        let by_hash = texts.by_hash();
        let missing = self.missing[number].load(Ordering::Acquire) > loads;
        let mut outcome = match brings && missing {
            true => Outcome { answer: Err(self.error(Class::NoScript, "")), is_news: false },
            false => self.exchange(&by_hash, asking, deadline).await,
        };
        if !brings && is_unknown_script(&outcome.answer) {
            self.missing[number].fetch_max(loads + 1, Ordering::AcqRel);
        }
        if brings && is_unknown_script(&outcome.answer) {
            // One of those who find it missing brings it; the others try again.
            let loading = timeout_at(deadline, self.loading[number].lock()).await;
            if self.loads[number].load(Ordering::Acquire) != loads {
                // They do so together: one after the other, the last would come too late.
                drop(loading);
                outcome = self.exchange(&by_hash, asking, deadline).await;
            }
            if is_unknown_script(&outcome.answer) {
                outcome = self.exchange(&texts.whole(), asking, deadline).await;
                self.loads[number].fetch_add(1, Ordering::AcqRel);
            }
        }
        if outcome.is_news {
            self.judge(&outcome.answer, calls);
        }
        outcome.answer
    }

    /// Says no while the breaker is open.
    fn not_open(self: &Arc<Self>) -> Result<(), StoreError> {
        if !self.breaker.is_open() {
            return Ok(());
        }
        Probing::start(self);
        Err(self.error(Class::Open, "failed a moment ago; it is being probed"))
    }

    /// Tells the breaker what became of so many calls.
    fn judge(self: &Arc<Self>, answer: &Result<Value, StoreError>, calls: usize) {
        let class = answer.as_ref().err().map(StoreError::class);
        let breaks = class.map_or(Breaks::No, |class| class.policy().breaker);
        // A connection that is lost is one failure, whatever was under way.
        let calls = if class == Some(Class::Connection) { 1 } else { calls };
        let opened = match breaks {
            Breaks::Counts => (0..calls).any(|_| self.breaker.failed()),
            Breaks::Opens => self.breaker.open(),
            Breaks::No => {
                self.breaker.succeeded();
                false
            }
        };
        if opened {
            Probing::start(self);
        }
    }
}

fn is_unknown_script(answer: &Result<Value, StoreError>) -> bool {
    answer.as_ref().is_err_and(|error| error.class() == Class::NoScript)
}
