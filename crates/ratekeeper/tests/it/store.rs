//! The memory store under races, growth and at its cap, through the public API.
//!
//! Invariant: the clock stands still unless a test moves it, so every count is exact.

mod cap;
mod isolation;
mod races;
mod saved;

use ratekeeper::{Algorithm, Limit, LimitBuilder, Limiter, ManualClock, Rule};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// One limit of each kind of state that the store keeps.
fn kinds(amount: u64) -> Vec<(&'static str, LimitBuilder)> {
    let per_hour = |algorithm| Limit::per_hour(amount).algorithm(algorithm);
    vec![
        ("fixed window", per_hour(Algorithm::FixedWindow)),
        ("sliding window log", per_hour(Algorithm::SlidingWindowLog)),
        ("sliding window counter", per_hour(Algorithm::SlidingWindowCounter)),
        ("token bucket", per_hour(Algorithm::TokenBucket)),
        ("leaky bucket", per_hour(Algorithm::LeakyBucket)),
        ("bucket of two words", Limit::per_minute(10_007).burst(amount)),
    ]
}

fn one_rule(limit: LimitBuilder, keys: usize, clock: &ManualClock) -> (Limiter, Rule) {
    let limiter = Limiter::memory().keys(keys).clock(clock).rule("api", limit).unwrap().build();
    let rule = limiter.rule("api").unwrap();
    (limiter, rule)
}

/// Runs `work` on as many threads as there are callers, all let go at once; adds up what they say.
pub(crate) fn race(callers: usize, work: impl Fn(usize) -> u64 + Sync) -> u64 {
    let (barrier, sum) = (Barrier::new(callers), AtomicU64::new(0));
    thread::scope(|scope| {
        for caller in 0..callers {
            let (barrier, sum, work) = (&barrier, &sum, &work);
            scope.spawn(move || {
                barrier.wait();
                sum.fetch_add(work(caller), Ordering::SeqCst);
            });
        }
    });
    sum.into_inner()
}
