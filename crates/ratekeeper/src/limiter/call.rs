//! Calls: described first, run when awaited or when [`try_now`](Check::try_now) is called.
//!
//! Invariant: a call that is dropped has done nothing.

use super::{Compiled, Inner, Rule};
use crate::decision::{Decision, Decisions};
use std::fmt;
use std::future::{IntoFuture, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Charge(u64),
    Peek,
    Refund(u64),
    Reset,
}

/// A call on one key; see [`Rule`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a call does nothing unless it is awaited, or run by `try_now`"]
pub struct Call<'a> {
    pub(super) rule: &'a Rule,
    pub(super) fingerprint: u64,
    pub(super) action: Action,
}

impl Call<'_> {
    /// The answer, without await.
    pub fn try_now(self) -> Result<Decision, NeedsAwait> {
        Ok(self.run())
    }

    #[inline]
    fn run(self) -> Decision {
        let Call { rule: Rule { limiter, rule }, fingerprint, action } = self;
        match action {
            Action::Charge(cost) => limiter.charge(rule, fingerprint, cost),
            Action::Peek => limiter.charge(rule, fingerprint, 0),
            Action::Refund(units) => limiter.refund(rule, fingerprint, units),
            Action::Reset => limiter.reset(rule, fingerprint),
        }
    }
}

/// A request of one key; see [`Rule::check`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a check does nothing unless it is awaited, or run by `try_now`"]
pub struct Check<'a>(pub(super) Call<'a>);

impl Check<'_> {
    /// Units that the request takes. 0 looks without charging.
    pub fn cost(mut self, cost: u64) -> Self {
        self.0.action = Action::Charge(cost);
        self
    }

    /// The decision, without await.
    #[inline]
    pub fn try_now(self) -> Result<Decision, NeedsAwait> {
        Ok(self.run())
    }

    #[inline]
    fn run(self) -> Decision {
        self.0.run()
    }
}

/// Requests of many keys under one rule; see [`Rule::check_many`].
#[derive(Clone, Debug)]
#[must_use = "a check does nothing unless it is awaited, or run by `try_now`"]
pub struct CheckMany<'a> {
    pub(super) rule: &'a Rule,
    pub(super) fingerprints: Vec<u64>,
    pub(super) cost: u64,
}

impl CheckMany<'_> {
    /// Units that each request takes.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    /// The decisions, in the order of the keys, without await.
    pub fn try_now(self) -> Result<Vec<Decision>, NeedsAwait> {
        Ok(self.run())
    }

    fn run(self) -> Vec<Decision> {
        self.rule.limiter.charge_each(&self.rule.rule, &self.fingerprints, self.cost)
    }
}

/// One request under several rules; see [`Limiter::check_all`](super::Limiter::check_all).
#[must_use = "a check does nothing unless it is awaited, or run by `try_now`"]
pub struct CheckAll<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) rules: Vec<(Arc<Compiled>, u64)>,
    pub(super) cost: u64,
}

impl CheckAll<'_> {
    /// Units that the request takes under each rule.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    /// The decision, without await.
    pub fn try_now(self) -> Result<Decisions, NeedsAwait> {
        Ok(self.run())
    }

    fn run(self) -> Decisions {
        self.limiter.charge_all(&self.rules, self.cost)
    }
}

impl fmt::Debug for CheckAll<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rules.iter().map(|(rule, _)| &*rule.name);
        f.debug_list().entries(names).finish()
    }
}

/// Awaiting any call runs it.
macro_rules! awaitable {
    ([$($lifetime:lifetime)?] $call:ty, $output:ty) => {
        impl<$($lifetime)?> IntoFuture for $call {
            type Output = $output;
            type IntoFuture = Answer<$output>;

            fn into_future(self) -> Answer<$output> {
                Answer::new(self.run())
            }
        }
    };
}
pub(super) use awaitable;

awaitable!(['a] Call<'a>, Decision);
awaitable!(['a] Check<'a>, Decision);
awaitable!(['a] CheckMany<'a>, Vec<Decision>);
awaitable!(['a] CheckAll<'a>, Decisions);

/// The answer to a call that is under way.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Answer<T>(Ready<T>);

impl<T> Answer<T> {
    pub(super) fn new(answer: T) -> Answer<T> {
        Answer(ready(answer))
    }
}

impl<T> Future for Answer<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0).poll(context)
    }
}

/// The store is shared by many servers: its answers have to be awaited. Memory never says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedsAwait;

impl fmt::Display for NeedsAwait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store is shared, so its answer takes a while; use `.await`")
    }
}

impl std::error::Error for NeedsAwait {}
