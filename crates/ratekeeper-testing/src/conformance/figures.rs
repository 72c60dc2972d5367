//! What a decision says, in figures that the oracle knows, too.
//!
//! Invariant: nothing that a caller can read of the answer to one request is left out, but the name of
//! a permit and where it was decided.

use crate::oracle::{Answer, Retry};
use ratekeeper::{Decision, Source};
use std::time::Duration;

/// The figures, times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Whether it may pass.
    pub allowed: bool,
    /// Whether it never may.
    pub never: bool,
    /// The most that is admitted at once.
    pub limit: u64,
    /// What is left.
    pub remaining: u64,
    /// Until all is there again; `None` where time plays no part.
    pub reset_after: Option<u64>,
    /// Until the same is admitted.
    pub retry_after: Option<u64>,
    /// Until its turn.
    pub delay: Option<u64>,
}

fn ticks(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).expect("waits are short")
}

impl Figures {
    /// Those of a decision of the store itself.
    pub fn of(decision: &Decision) -> Figures {
        assert_eq!(decision.source(), Source::Store, "{decision:?}");
        Figures {
            allowed: decision.is_allowed(),
            never: decision.is_never(),
            limit: decision.limit(),
            remaining: decision.remaining(),
            reset_after: decision.reset_after().map(ticks),
            retry_after: decision.retry_after().map(ticks),
            delay: decision.delay().map(ticks),
        }
    }

    /// Those that the oracle expects where there are no turns.
    pub fn expected(answer: Answer) -> Figures {
        Figures {
            allowed: answer.retry_after == Retry::Now,
            never: answer.retry_after == Retry::Never,
            limit: answer.limit,
            remaining: answer.remaining,
            reset_after: Some(answer.reset_after),
            retry_after: match answer.retry_after {
                Retry::After(ticks) => Some(ticks),
                Retry::Now | Retry::Never => None,
            },
            delay: None,
        }
    }
}

/// Whether it may pass, what is left and when to retry.
pub(super) fn brief(decision: &Decision) -> (bool, u64, Option<u64>) {
    let figures = Figures::of(decision);
    (figures.allowed, figures.remaining, figures.retry_after)
}
