//! The same question, put to each library through its public API: may this key pass?

use governor::clock::DefaultClock;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use limitador::limit::{Context, Limit, Namespace};
use ratekeeper::{Algorithm, Limiter, Rule};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// How much each key may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// A burst of 300 million that comes back at one a second: nothing is refused, and no key is
    /// whole again soon, so that every one of them has to be remembered.
    MostlyAllow,
    /// One an hour: next to everything is refused.
    MostlyDeny,
}

pub trait Contender: Sync {
    fn check(&self, key: &String) -> bool;
}

/// Units that a key may spend at once under the load that refuses nothing.
const BURST: u64 = 300_000_000;

pub const BATCH: usize = 64;

pub struct Ratekeeper(Rule);

impl Ratekeeper {
    pub fn new(load: Load, algorithm: Algorithm, keys: usize) -> Ratekeeper {
        let limit = match load {
            Load::MostlyAllow if algorithm.is_bucket() => {
                ratekeeper::Limit::per_second(1).burst(BURST)
            }
            Load::MostlyAllow => ratekeeper::Limit::per_hour(BURST),
            Load::MostlyDeny => ratekeeper::Limit::per_hour(1),
        };
        let builder = Limiter::memory().keys(keys).rule("api", limit.algorithm(algorithm));
        Ratekeeper(
            builder.expect("the limit makes sense").build().rule("api").expect("the rule is there"),
        )
    }
}

impl Contender for Ratekeeper {
    #[inline]
    fn check(&self, key: &String) -> bool {
        self.0.try_check(key).is_ok_and(|decision| decision.is_allowed())
    }
}

impl Ratekeeper {
    pub fn check_batch(&self, keys: &[String]) -> usize {
        let decisions = self.0.check_many(keys).try_now().unwrap_or_default();
        decisions.iter().filter(|decision| decision.is_allowed()).count()
    }
}

/// The table of ratekeeper without key and clock: the fingerprint is taken from the key's digits.
pub struct Table(pub Ratekeeper);

impl Contender for Table {
    #[inline]
    fn check(&self, key: &String) -> bool {
        let half = |at: usize| {
            u64::from_le_bytes(key.as_bytes()[at..at + 8].try_into().expect("keys are longer"))
        };
        let mixed = half(0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ half(8).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let fingerprint = (mixed ^ mixed >> 32).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0.0.table(fingerprint, 1_767_225_600_000_000).is_allowed()
    }
}

pub struct Governor(RateLimiter<String, DefaultKeyedStateStore<String>, DefaultClock>);

fn quota(load: Load) -> Quota {
    match load {
        Load::MostlyAllow => {
            let burst = NonZeroU32::new(BURST as u32).expect("not zero");
            Quota::per_second(NonZeroU32::MIN).allow_burst(burst)
        }
        Load::MostlyDeny => Quota::per_hour(NonZeroU32::MIN),
    }
}

impl Governor {
    pub fn new(load: Load) -> Governor {
        Governor(RateLimiter::dashmap(quota(load)))
    }
}

impl Contender for Governor {
    #[inline]
    fn check(&self, key: &String) -> bool {
        self.0.check_key(key).is_ok()
    }
}

type AhashStore = governor::state::keyed::DashMapStateStore<String, ahash::RandomState>;

pub struct GovernorAhash(RateLimiter<String, AhashStore, DefaultClock>);

impl GovernorAhash {
    pub fn new(load: Load) -> GovernorAhash {
        GovernorAhash(RateLimiter::dashmap_with_hasher(quota(load), ahash::RandomState::new()))
    }
}

impl Contender for GovernorAhash {
    #[inline]
    fn check(&self, key: &String) -> bool {
        self.0.check_key(key).is_ok()
    }
}

/// One thread at a time by its signature, so behind a lock, as its server has it behind an actor.
pub struct Throttlecrab(
    Mutex<throttlecrab::RateLimiter<throttlecrab::PeriodicStore>>,
    (i64, i64, i64),
);

impl Throttlecrab {
    pub fn new(load: Load) -> Throttlecrab {
        let limit = match load {
            Load::MostlyAllow => (BURST as i64, 1, 1),
            // With a burst of 1 it forgets every key at once.
            Load::MostlyDeny => (2, 1, 3600),
        };
        // The adaptive store, its default, goes through all keys so often at these numbers of them
        // that a run does not end; this one does so once an hour, that is, not at all.
        let hour = Duration::from_secs(3600);
        let store = throttlecrab::PeriodicStore::builder().cleanup_interval(hour).build();
        Throttlecrab(Mutex::new(throttlecrab::RateLimiter::new(store)), limit)
    }
}

impl Contender for Throttlecrab {
    #[inline]
    fn check(&self, key: &String) -> bool {
        let (burst, count, period) = self.1;
        let now = SystemTime::now();
        let mut limiter = self.0.lock().expect("no panics");
        limiter.rate_limit(key, burst, count, period, 1, now).is_ok_and(|(allowed, _)| allowed)
    }
}

pub struct Limitador(limitador::RateLimiter, Namespace);

impl Limitador {
    pub fn new(load: Load, keys: usize) -> Limitador {
        let (amount, seconds) = match load {
            Load::MostlyAllow => (BURST, 3600),
            Load::MostlyDeny => (1, 3600),
        };
        let user = "user".try_into().expect("a variable");
        let limiter = limitador::RateLimiter::new(keys as u64);
        limiter.add_limit(Limit::new("api", amount, seconds, vec![], vec![user]));
        Limitador(limiter, "api".into())
    }
}

impl Contender for Limitador {
    fn check(&self, key: &String) -> bool {
        let context: Context = HashMap::from([("user".to_owned(), key.clone())]).into();
        self.0
            .check_rate_limited_and_update(&self.1, &context, 1)
            .is_ok_and(|result| !result.limited)
    }
}

/// An estimate of the rate in fixed memory, without keys: what counting alone costs.
pub struct PingoraLimits(pingora_limits::rate::Rate, isize);

impl PingoraLimits {
    pub fn new(load: Load) -> PingoraLimits {
        let most = if load == Load::MostlyAllow { BURST as isize } else { 1 };
        PingoraLimits(pingora_limits::rate::Rate::new(Duration::from_secs(1)), most)
    }
}

impl Contender for PingoraLimits {
    #[inline]
    fn check(&self, key: &String) -> bool {
        self.0.observe(key, 1) <= self.1
    }
}

/// A lower bound: keyed hash, precise clock, one compare-exchange in a table that never grows.
pub struct RawBound {
    slots: Vec<[AtomicU64; 2]>,
    secret: RandomState,
    start: Instant,
    /// Nanoseconds that one request costs, and how far ahead of now a key may run.
    interval: u64,
    window: u64,
}

impl RawBound {
    pub fn new(load: Load, keys: usize) -> RawBound {
        let slots = (0..(keys * 4 / 3).next_power_of_two()).map(|_| Default::default()).collect();
        let (interval, window) = match load {
            Load::MostlyAllow => (1_000_000_000, 1_000_000_000 * BURST),
            Load::MostlyDeny => (3_600_000_000_000, 3_600_000_000_000),
        };
        RawBound { slots, secret: RandomState::new(), start: Instant::now(), interval, window }
    }

    fn slot(&self, tag: u64) -> &AtomicU64 {
        let mut index = tag as usize >> 1;
        loop {
            let [owner, word] = &self.slots[index & (self.slots.len() - 1)];
            let found = owner.load(Ordering::Relaxed);
            let taken = found == 0
                && owner.compare_exchange(0, tag, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if found == tag || taken {
                return word;
            }
            index += usize::from(found != 0);
        }
    }
}

impl RawBound {
    /// Hashes all keys, has all slots fetched together, and reads the clock once.
    pub fn check_batch(&self, keys: &[String]) -> usize {
        let now = self.start.elapsed().as_nanos() as u64;
        let mut tags = [0; BATCH];
        for (tag, key) in tags.iter_mut().zip(keys) {
            *tag = self.secret.hash_one(key) | 1;
        }
        let touch = |tag: &u64| {
            self.slots[(*tag as usize >> 1) & (self.slots.len() - 1)][0].load(Ordering::Relaxed)
        };
        black_box(tags.iter().fold(0, |sum, tag| sum ^ touch(tag)));
        tags[..keys.len()].iter().filter(|tag| self.decide(self.slot(**tag), now)).count()
    }

    #[inline]
    fn decide(&self, word: &AtomicU64, now: u64) -> bool {
        let mut arrival = word.load(Ordering::Relaxed);
        loop {
            let next = arrival.max(now) + self.interval;
            if next > now + self.window {
                return false;
            }
            match word.compare_exchange_weak(arrival, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(changed) => arrival = changed,
            }
        }
    }
}

impl Contender for RawBound {
    #[inline]
    fn check(&self, key: &String) -> bool {
        let now = self.start.elapsed().as_nanos() as u64;
        self.decide(self.slot(self.secret.hash_one(key) | 1), now)
    }
}
