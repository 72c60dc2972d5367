//! One key of a limiter with one rule, and a clock moved by hand.
//!
//! Invariant: everything goes through the public interface, as a program would.

use ratekeeper::limiter::IntoLimits;
use ratekeeper::{Algorithm, Decision, Limit, LimitBuilder, Limiter, ManualClock, Rule};
use std::time::Duration;

/// The smallest step of time.
pub(crate) const TICK: Duration = Duration::from_micros(1);

/// Room for the keys of any test here, and their logs.
const KEYS: usize = 8_192;

/// A key, its rule, and the clock that it is judged by.
pub(crate) struct OneKey {
    pub(crate) limiter: Limiter,
    pub(crate) rule: Rule,
    pub(crate) clock: ManualClock,
}

/// A key that was never used, at the first second of 2026, which is the edge of a window of any
/// length that divides a day.
pub(crate) fn one_key(limits: impl IntoLimits) -> OneKey {
    let clock = ManualClock::new();
    let builder = Limiter::memory().keys(KEYS).clock(&clock);
    let limiter = builder.rule("rule", limits).expect("the limits make sense").build();
    let rule = limiter.rule("rule").expect("the rule was just added");
    OneKey { limiter, rule, clock }
}

impl OneKey {
    /// One request of so many units.
    pub(crate) fn ask(&self, cost: u64) -> Decision {
        self.rule.check("alice").cost(cost).try_now().expect("memory answers at once")
    }

    /// The figures, without a request.
    pub(crate) fn peek(&self) -> Decision {
        self.rule.peek("alice").try_now().expect("memory answers at once")
    }

    /// How many of so many requests of one unit are admitted now.
    pub(crate) fn admitted(&self, requests: u64) -> u64 {
        (0..requests).map(|_| u64::from(self.ask(1).is_allowed())).sum()
    }

    /// Moves the clock forward.
    pub(crate) fn wait(&self, time: Duration) {
        self.clock.advance(time);
    }
}

pub(crate) fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A limit counted by a sliding window counter.
pub(crate) fn counter(limit: LimitBuilder) -> LimitBuilder {
    limit.algorithm(Algorithm::SlidingWindowCounter)
}

/// A limit counted by a sliding window log.
pub(crate) fn log(limit: LimitBuilder) -> LimitBuilder {
    limit.algorithm(Algorithm::SlidingWindowLog)
}

/// A limit counted by a fixed window.
pub(crate) fn fixed(limit: LimitBuilder) -> LimitBuilder {
    limit.algorithm(Algorithm::FixedWindow)
}

/// The same limit under every algorithm.
pub(crate) fn each(amount: u64, period: Duration) -> [(Algorithm, OneKey); 5] {
    Algorithm::ALL
        .map(|algorithm| (algorithm, one_key(Limit::per(amount, period).algorithm(algorithm))))
}
