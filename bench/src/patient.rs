//! The same wait, asked of each library through its public API: until this key may pass.
//!
//! A key is a number here. Ratekeeper and governor look up its name, as they would for a request;
//! leaky-bucket has no keys, so it gets one limiter for each, found by the number.

use crate::keys::key;
use governor::clock::DefaultClock;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use ratekeeper::{Decision, Limit, Limiter, Rule};
use std::num::NonZeroU32;
use std::time::Duration;

/// How fast each of some keys may go, and the grain of those who cannot do it one by one.
#[derive(Clone, Copy)]
pub struct Pace {
    pub keys: usize,
    /// Releases of one key in a period.
    pub amount: u32,
    pub period: Duration,
    /// How many a key may let go at once, for those who take such a number.
    pub grain: u32,
}

impl Pace {
    /// Between two releases of a key.
    pub fn interval(self) -> Duration {
        self.period / self.amount
    }
}

pub trait Patient: Send + Sync + 'static {
    type Answer: Send;

    fn new(pace: Pace) -> Self;

    fn wait(&self, key: usize) -> impl Future<Output = Self::Answer> + Send;

    /// Whether the answer is that it may pass.
    fn passes(answer: &Self::Answer) -> bool;
}

fn names(pace: Pace) -> Vec<String> {
    (0..pace.keys).map(key).collect()
}

/// A shaping rule. It needs no grain: each has a turn of its own.
pub struct Ratekeeper(Rule, Vec<String>);

/// Places in the line of a key.
const LINE: u64 = 10_000;

impl Patient for Ratekeeper {
    type Answer = Decision;

    fn new(pace: Pace) -> Ratekeeper {
        let limit = Limit::per(pace.amount.into(), pace.period).burst(LINE).shaping();
        let builder = Limiter::memory().keys(pace.keys * 2).rule("partner", limit);
        let limiter = builder.expect("the limit makes sense").build();
        Ratekeeper(limiter.rule("partner").expect("the rule is there"), names(pace))
    }

    fn wait(&self, key: usize) -> impl Future<Output = Decision> + Send {
        self.0.wait(&self.1[key]).into_future()
    }

    fn passes(answer: &Decision) -> bool {
        answer.is_allowed()
    }
}

/// Fair, as it comes. It counts in whole milliseconds, so a grain is what it adds at a time.
pub struct LeakyBucket(Vec<leaky_bucket::RateLimiter>);

impl Patient for LeakyBucket {
    type Answer = ();

    fn new(pace: Pace) -> LeakyBucket {
        let limiter = || {
            leaky_bucket::RateLimiter::builder()
                .initial(1)
                .refill(pace.grain as usize)
                .interval(pace.interval() * pace.grain)
                .build()
        };
        LeakyBucket((0..pace.keys).map(|_| limiter()).collect())
    }

    fn wait(&self, key: usize) -> impl Future<Output = ()> + Send {
        self.0[key].acquire_one()
    }

    fn passes(_answer: &()) -> bool {
        true
    }
}

/// Sleeps and asks again, in no order. A grain is its burst: what it may catch up at once, and what
/// an idle key lets go at once.
pub struct Governor(RateLimiter<String, DefaultKeyedStateStore<String>, DefaultClock>, Vec<String>);

impl Patient for Governor {
    type Answer = ();

    fn new(pace: Pace) -> Governor {
        let quota = Quota::with_period(pace.interval()).expect("not zero");
        let burst = NonZeroU32::new(pace.grain).expect("not zero");
        Governor(RateLimiter::dashmap(quota.allow_burst(burst)), names(pace))
    }

    fn wait(&self, key: usize) -> impl Future<Output = ()> + Send {
        self.0.until_key_ready(&self.1[key])
    }

    fn passes(_answer: &()) -> bool {
        true
    }
}
