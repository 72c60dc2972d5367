//! The answer: whether a request may pass, and the figures that go with it.
//!
//! Invariant: a decision is complete whether it allows or refuses, and its figures are exact; a
//! refusal is an answer, never an error.

mod several;

pub(crate) use several::Label;
pub use several::{Decisions, RuleResult};

use crate::algorithm::{Retry, UNKNOWN, Verdict};
use crate::name::PermitId;
use std::fmt;
use std::time::Duration;

/// What [`Decision::limit`] and [`Decision::remaining`] say where nothing is limited.
pub const UNLIMITED: u64 = u64::MAX;

/// The answer to one request under one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision that nobody looks at limits nothing"]
pub struct Decision {
    pub(crate) verdict: Verdict,
    pub(crate) limit: u64,
    pub(crate) source: Source,
    /// Whether what is admitted waits for its turn.
    pub(crate) shapes: bool,
    /// Whether all buckets of the request were decided in one step.
    pub(crate) atomic: bool,
    pub(crate) permit: Option<PermitId>,
}

/// Where a decision was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// In the bucket of the key.
    Store,
    /// In this process, from units that it took from the bucket before.
    Lease,
    /// In this process: the shared store refused as much a moment ago, and nothing has come back since.
    DeniedCache,
    /// The store is at its cap: in the bucket that newcomers to the rule share.
    Overflow,
    /// The shared store is away: in this process, with its share of the limit.
    Local,
    /// The shared store is away, and the rule admits then.
    FailedOpen,
    /// The shared store is away, and the rule refuses then.
    FailedClosed,
}

impl Source {
    /// The name that programs see.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Store => "store",
            Source::Lease => "lease",
            Source::DeniedCache => "denied_cache",
            Source::Overflow => "overflow",
            Source::Local => "local",
            Source::FailedOpen => "failed_open",
            Source::FailedClosed => "failed_closed",
        }
    }
}

impl Decision {
    pub(crate) const UNLIMITED: Decision = Decision {
        verdict: Verdict {
            remaining: UNLIMITED,
            reset_after: UNKNOWN,
            retry_after: Retry::NOW,
            more_after: 0,
        },
        limit: UNLIMITED,
        source: Source::Store,
        shapes: false,
        atomic: true,
        permit: None,
    };

    /// The answer of a rule that lets nobody pass.
    pub(crate) const CLOSED: Decision = Decision {
        verdict: Verdict {
            remaining: 0,
            reset_after: UNKNOWN,
            retry_after: Retry::NEVER,
            more_after: 0,
        },
        limit: 0,
        ..Decision::UNLIMITED
    };

    /// The answer without a store, of a rule that admits then.
    #[cfg(feature = "redis")]
    pub(crate) const FAILED_OPEN: Decision =
        Decision { source: Source::FailedOpen, ..Decision::UNLIMITED };

    /// The answer without a store, of a rule that refuses then.
    #[cfg(feature = "redis")]
    pub(crate) const FAILED_CLOSED: Decision = Decision {
        verdict: Verdict {
            remaining: 0,
            reset_after: UNKNOWN,
            retry_after: Retry::UNKNOWN,
            more_after: 0,
        },
        source: Source::FailedClosed,
        ..Decision::UNLIMITED
    };

    /// Whether the request may pass.
    pub fn is_allowed(&self) -> bool {
        self.verdict.allowed()
    }

    /// Whether the request must not pass.
    pub fn is_refused(&self) -> bool {
        !self.verdict.allowed()
    }

    /// The most that the limit admits at once: the burst of a bucket, the amount of a window or of a
    /// concurrency limit; [`UNLIMITED`] where nothing is limited.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The largest cost that would be admitted at this instant, after this call.
    pub fn remaining(&self) -> u64 {
        self.verdict.remaining
    }

    /// Time until everything is available again if nothing else arrives; for a fixed window, time to
    /// its edge. `None` where time plays no part: permits come back when their holders please.
    pub fn reset_after(&self) -> Option<Duration> {
        let ticks = self.verdict.reset_after;
        (ticks != UNKNOWN).then_some(Duration::from_micros(ticks))
    }

    /// How long to wait until the same cost is admitted, exactly; `None` if it was admitted, if it
    /// never will be, or if it takes a permit that somebody has to give back first.
    pub fn retry_after(&self) -> Option<Duration> {
        self.verdict.retry_after.ticks().map(Duration::from_micros)
    }

    /// How long what was admitted has to wait for its turn; `None` if it was refused, or if there are
    /// no turns. After [`wait`](crate::Rule::wait) it is what was known at the start: those in front
    /// who gave up may have made it shorter.
    pub fn delay(&self) -> Option<Duration> {
        let ticks = self.verdict.retry_after.delay();
        (self.shapes && self.is_allowed()).then_some(Duration::from_micros(ticks))
    }

    /// The permit that this call took, to be given to [`release`](crate::Limiter::release); `None`
    /// unless a concurrency limit admitted it.
    pub fn permit(&self) -> Option<PermitId> {
        self.permit
    }

    /// Whether the cost is above what the limit ever admits at once: there is no use in retrying.
    pub fn is_never(&self) -> bool {
        self.verdict.retry_after == Retry::NEVER
    }

    /// Whether all limits of the request were decided in one step. In a cluster, buckets of different
    /// keys are in different places: each is charged by itself, and given back if another refuses.
    pub fn is_atomic(&self) -> bool {
        self.atomic
    }

    /// Whether there was no store to ask, so that there are no figures.
    pub fn is_without_figures(&self) -> bool {
        matches!(self.source, Source::FailedOpen | Source::FailedClosed)
    }

    /// Where the decision was made.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Several decisions as one: that of the decisive one; what remains is what all of them would
    /// admit, the delay is the longest, and the permit is for all.
    pub(crate) fn together(decisions: &[Decision]) -> Decision {
        let Some((_, decisive)) = Decision::decisive(decisions.iter()) else {
            return Decision::UNLIMITED;
        };
        let mut decision = *decisive;
        for other in decisions {
            decision.verdict.remaining = decision.verdict.remaining.min(other.verdict.remaining);
            decision.note_turn(other);
        }
        decision
    }

    /// What was admitted waits for the latest of its turns.
    fn note_turn(&mut self, other: &Decision) {
        self.shapes |= other.shapes;
        self.atomic &= other.atomic;
        self.permit = self.permit.or(other.permit);
        if self.is_allowed() && other.is_allowed() {
            self.verdict.retry_after = self.verdict.retry_after.min(other.verdict.retry_after);
        }
    }

    /// The one of several decisions that speaks for all: if one refuses, the one that refuses for
    /// longest, else the one with the least left; the earlier of equals.
    pub fn decisive<'a>(
        decisions: impl Iterator<Item = &'a Decision>,
    ) -> Option<(usize, &'a Decision)> {
        decisions.enumerate().reduce(|best, next| {
            let stricter = match (best.1.is_allowed(), next.1.is_allowed()) {
                (true, true) => next.1.remaining() < best.1.remaining(),
                (false, false) => next.1.verdict.retry_after > best.1.verdict.retry_after,
                (best_allows, _) => best_allows,
            };
            if stricter { next } else { best }
        })
    }
}

impl fmt::Display for Decision {
    /// `allowed, 3 of 10 left`, `allowed after 2.0 s, 7 of 10 left` or `refused, retry in 0.9 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::FailedOpen => return f.write_str("allowed, the store is away"),
            Source::FailedClosed => return f.write_str("refused, the store is away"),
            _ => {}
        }
        match self.retry_after() {
            Some(wait) => write!(f, "refused, retry in {}", Wait(wait)),
            None if self.is_never() => {
                write!(f, "refused, the cost is above the limit of {}", self.limit)
            }
            None if self.is_refused() => match self.remaining() {
                0 => write!(f, "refused, all {} are taken", self.limit),
                left => write!(f, "refused, only {left} of {} left", self.limit),
            },
            None if self.limit == UNLIMITED => f.write_str("allowed, unlimited"),
            None => {
                f.write_str("allowed")?;
                if let Some(delay) = self.delay().filter(|delay| !delay.is_zero()) {
                    write!(f, " after {}", Wait(delay))?;
                }
                write!(f, ", {} of {} left", self.remaining(), self.limit)
            }
        }
    }
}

/// A wait as people read it: tenths of a second, or milliseconds below one tenth, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(pub Duration);

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        if micros <= 99_000 {
            return write!(f, "{} ms", micros.div_ceil(1_000));
        }
        let tenths = micros.div_ceil(100_000);
        write!(f, "{}.{} s", tenths / 10, tenths % 10)
    }
}
