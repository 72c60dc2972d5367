//! How many servers share the store: as many as was said, or as many as tell it that they are there.
//!
//! Each holds a permit in the store, renewed every few seconds; those that are held are counted.
//! Invariant: without an answer of the store the last count stays.

use super::asks;
use crate::limit::Limit;
use crate::limiter::compile::{Manner, compile};
use crate::limiter::{Asked, Inner};
use crate::store::lease::LASTS;
use crate::store::redis::random::Random;
use crate::store::redis::{RedisConfig, Taken};
use crate::sync::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::sleep;

/// How often a server says that it is there, and for how long that holds.
const EVERY: Duration = Duration::from_secs(3);
const HOLDS: Duration = Duration::from_secs(10);

/// Ticks for which a count is certain, and after which a server that came is in the counts of all others that are, and
/// what they took before that has ended.
const FRESH: u64 = 6_000_000;
const JOINED: u64 = FRESH + LASTS + 500_000;

/// Counts in a row that have to be lower before one is believed: for longer than one holds.
const FEWER_TIMES: u64 = 3;

/// More servers than that are not counted.
const MOST: u64 = 1 << 20;

/// The key of the permits, as a rule's: no rule has a space in its name.
const NAME: &str = "nodes of fleet";

pub(super) struct Nodes {
    count: AtomicU64,
    /// Whether they have to be counted where a rule has shares, and nobody does yet.
    idle: AtomicBool,
    /// The identity of this one.
    id: u64,
    /// How often in a row there were fewer.
    fewer: AtomicU64,
    /// Whether the size of the fleet was said.
    said: bool,
    /// The ticks at which they were counted for the first time, and last.
    first: AtomicU64,
    last: AtomicU64,
}

impl Nodes {
    pub(super) fn new(config: &RedisConfig) -> Nodes {
        let said = config.nodes;
        let (count, idle) = (AtomicU64::new(said.unwrap_or(1).into()), said.is_none());
        let id = Random::new(config).number(u64::MAX) | 1 << 63;
        let (idle, fewer) = (AtomicBool::new(idle), AtomicU64::new(0));
        let (first, last) = (AtomicU64::new(0), AtomicU64::new(0));
        Nodes { count, idle, id, fewer, said: said.is_some(), first, last }
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.count.load(Ordering::Relaxed)).unwrap_or(u32::MAX).max(1)
    }

    /// How many servers there are, where that has to be certain: `None` until all others know of this one, and while
    /// they were not counted lately.
    pub(super) fn fleet(&self, now: u64) -> Option<u32> {
        let (first, last) = (self.first.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed));
        let certain = first > 0 && now >= first + JOINED && now <= last + FRESH;
        (self.said || certain).then(|| self.count())
    }

    /// Takes note of a count. After a store has lost everything, servers come back one by one, so fewer
    /// than before are believed once all had the time to.
    fn note(&self, count: u64, now: u64) {
        // Whoever was away for so long comes anew: others may have forgotten it.
        let last = self.last.swap(now, Ordering::Relaxed);
        if last == 0 || now > last + FRESH {
            self.first.store(now, Ordering::Relaxed);
        }
        let fewer = count < self.count.load(Ordering::Relaxed);
        let times = if fewer { self.fewer.fetch_add(1, Ordering::Relaxed) } else { 0 };
        if !fewer || times >= FEWER_TIMES {
            self.count.store(count, Ordering::Relaxed);
            self.fewer.store(0, Ordering::Relaxed);
        }
    }

    /// Sees to it that the servers are counted from now on.
    pub(super) fn keep(&self, limiter: &Arc<Inner>) {
        if self.idle.load(Ordering::Relaxed) && self.idle.swap(false, Ordering::Relaxed) {
            tokio::spawn(Counting(Arc::downgrade(limiter)).run());
        }
    }
}

/// The task that counts. Should its runtime end, the next call starts another.
struct Counting(Weak<Inner>);

impl Counting {
    async fn run(self) {
        let Some(rule) = self.0.upgrade().and_then(|limiter| rule(&limiter)) else { return };
        while let Some(limiter) = self.0.upgrade() {
            count(&limiter, &rule).await;
            drop(limiter);
            sleep(EVERY).await;
        }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let limiter = self.0.upgrade();
        if let Some(shared) = limiter.as_ref().and_then(|limiter| limiter.shared.as_ref()) {
            shared.nodes.idle.store(true, Ordering::Relaxed);
        }
    }
}

fn rule(limiter: &Inner) -> Option<Asked> {
    let limit = Limit::concurrent(MOST).hold(HOLDS).build().ok()?;
    let rule = compile(&limiter.secret, &NAME.into(), &[limit], &Manner::default());
    Some(Asked { rule: Arc::new(rule), who: limiter.secret.who(NAME), cost: 1 })
}

async fn count(limiter: &Inner, rule: &Asked) {
    let Some(shared) = &limiter.shared else { return };
    let asks = asks(std::slice::from_ref(rule), 0);
    let nodes = &shared.nodes;
    let taken =
        Taken { id: nodes.id, record: None, given: limiter.clock.now(), hold_most: u64::MAX };
    if let Ok(charged) = shared.redis.charge(&asks, taken).await {
        for decision in charged.decisions {
            nodes.note(MOST - decision.remaining(), taken.given);
        }
    }
}
