//! The oracle: every algorithm written down a second time, naively, from the specification.
//!
//! A window's key is the plain history of what it was charged; a bucket's key is its level as a
//! fraction, scaled by the period. Invariant: an oracle only says whether a cost is admitted at a
//! time. `remaining`, `reset_after` and `retry_after` are then found by trying, so a wrong formula
//! for a figure cannot be here and in the library at the same time.
//!
//! A search that tries times relies on rule R5, which the laws test by itself: what is admissible
//! stays admissible while nothing else arrives.
//!
//! A queue and permits are not keys of that kind, since who holds what matters there, too: they are
//! simulated, place by place and permit by permit. A hold is settled on any of the other keys.
//!
//! Rule R8, a clock that goes back: each algorithm clamps, and its figures are counted from the
//! time at which it then stands. [`Oracle::settled`] is that clamp.

mod bucket;
mod holds;
#[cfg(test)]
mod holds_tests;
mod permits;
mod queue;
#[cfg(test)]
mod queue_tests;
mod windows;

pub use bucket::Bucket;
pub use holds::{Hold, Holding, reserve, settle};
pub use permits::Permits;
pub use queue::{Entry, Queue};
pub use windows::{FixedWindow, SlidingCounter, SlidingLog};

use std::fmt::Debug;

/// When the same cost is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It was.
    Now,
    /// After so many ticks, and not a tick earlier.
    After(u64),
    /// The cost is above the limit.
    Never,
}

/// What the specification says to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number shown to clients.
    pub limit: u64,
    /// Rule R2: the largest cost admitted at this instant, after this call.
    pub remaining: u64,
    /// Rule R3: ticks until everything is there again.
    pub reset_after: u64,
    /// Rule R4: ticks until the same cost is admitted.
    pub retry_after: Retry,
}

/// One key under one limit.
pub trait Oracle: Debug {
    /// The most that is ever admitted at once.
    fn limit(&self) -> u64;

    /// Changes the limit; what was used stays used (rule R9).
    fn change_limit(&mut self, limit: u64);

    /// Whether a cost of at least one fits at `now`. Changes nothing.
    fn admits(&self, now: u64, cost: u64) -> bool;

    /// Takes note of an admitted cost.
    fn record(&mut self, now: u64, cost: u64);

    /// Gives back up to what is recorded (rule R10).
    fn refund(&mut self, now: u64, units: u64);

    /// The key with its clamp applied, and the time that its figures are counted from (rule R8).
    fn settled(&self, now: u64) -> (Box<dyn Oracle>, u64);

    /// Rule R3, of a settled key. The fixed window alone has another convention.
    fn reset_after(&self, now: u64) -> u64 {
        first(|wait| self.admits(now + wait, self.limit()))
    }
}

/// Asks for `cost` units and takes note of them if they are admitted.
pub fn ask(key: &mut dyn Oracle, now: u64, cost: u64) -> Answer {
    let retry_after = if cost == 0 || key.admits(now, cost) {
        Retry::Now
    } else if cost > key.limit() {
        Retry::Never
    } else {
        let (settled, from) = key.settled(now);
        Retry::After(first(|wait| settled.admits(from + wait, cost)))
    };
    if cost > 0 && retry_after == Retry::Now {
        key.record(now, cost);
    }
    figures(key, now, retry_after)
}

/// Gives `units` back, which is always reported as allowed.
pub fn refund(key: &mut dyn Oracle, now: u64, units: u64) -> Answer {
    key.refund(now, units);
    figures(key, now, Retry::Now)
}

fn figures(key: &dyn Oracle, now: u64, retry_after: Retry) -> Answer {
    let (settled, from) = key.settled(now);
    let limit = key.limit();
    let remaining = largest(limit, |cost| settled.admits(from, cost));
    Answer { limit, remaining, reset_after: settled.reset_after(from), retry_after }
}

/// Waits that are tried one by one, before the search takes larger steps.
const LINEAR: u64 = 16;

/// The first wait that helps: one by one, then in doubling steps, then by halving the last one.
fn first(helps: impl Fn(u64) -> bool) -> u64 {
    if let Some(wait) = (0..=LINEAR).find(|wait| helps(*wait)) {
        return wait;
    }
    let mut helped = 2 * LINEAR;
    while !helps(helped) {
        helped *= 2;
        assert!(helped < 1 << 60, "no wait helps");
    }
    let mut failed = helped / 2;
    while helped - failed > 1 {
        let middle = failed.midpoint(helped);
        *(if helps(middle) { &mut helped } else { &mut failed }) = middle;
    }
    helped
}

/// The largest cost up to `most` that is admitted.
fn largest(most: u64, admits: impl Fn(u64) -> bool) -> u64 {
    if most <= LINEAR {
        return (1..=most).rev().find(|cost| admits(*cost)).unwrap_or(0);
    }
    let (mut admitted, mut refused) = (0, most + 1);
    while refused - admitted > 1 {
        let middle = admitted.midpoint(refused);
        *(if admits(middle) { &mut admitted } else { &mut refused }) = middle;
    }
    admitted
}
