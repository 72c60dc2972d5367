//! Permits of a shared store that somebody in this process holds: renewed while they are held, given back
//! when they are dropped.
//!
//! Invariant: one task renews them all, and ends when there are none; a process that dies renews none,
//! and its permits end with their time.

use super::{Asked, Shared, asks};
use crate::key::Who;
use crate::limiter::{Compiled, Inner};
use crate::store::Meter;
use crate::store::redis::{Ask, Back, Taken};
use crate::sync::{Mutex, lock};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

/// Shortest time between two renewals.
const SHORTEST: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Keeper(Mutex<Book>);

#[derive(Default)]
struct Book {
    held: HashMap<u64, Kept>,
    running: bool,
}

#[derive(Clone)]
struct Kept {
    rules: Vec<(Arc<Compiled>, Who)>,
    cost: u64,
    every: Duration,
    due: Instant,
    runtime: Handle,
}

impl Kept {
    /// The buckets of which something is held.
    fn asks(&self) -> Vec<Ask<'_>> {
        let mut asks = asks(&self.rules, self.cost, 0);
        asks.retain(|ask| ask.charge.hold().is_some());
        asks
    }
}

impl Inner {
    /// Renews a permit of this identity from now on.
    pub(in crate::limiter) fn keep_shared(
        self: &Arc<Self>,
        shared: &Shared,
        id: u64,
        rules: &[(Arc<Compiled>, Who)],
        cost: u64,
    ) {
        let holds = rules.iter().flat_map(|(rule, _)| &rule.meters).filter_map(Meter::hold);
        let Some(hold) = holds.min() else { return };
        let every = Duration::from_micros(hold / 3).max(SHORTEST);
        let (due, runtime) = (Instant::now() + every, Handle::current());
        let kept = Kept { rules: rules.to_vec(), cost, every, due, runtime };
        let mut book = lock(&shared.keeper.0);
        book.held.insert(id, kept);
        if !std::mem::replace(&mut book.running, true) {
            tokio::spawn(Renewing(Arc::downgrade(self)).run());
        }
    }

    /// Gives a permit of this identity back, without waiting for it.
    pub(in crate::limiter) fn let_go_shared(self: &Arc<Self>, shared: &Shared, id: u64) {
        let Some(kept) = lock(&shared.keeper.0).held.remove(&id) else { return };
        let limiter = Arc::clone(self);
        kept.runtime.clone().spawn(async move {
            let Some(shared) = &limiter.shared else { return };
            limiter.give_back_shared(shared, id, &kept).await;
        });
    }

    async fn give_back_shared(&self, shared: &Shared, id: u64, kept: &Kept) {
        let each: Vec<_> = kept.asks().into_iter().map(|ask| (ask, Back::Release(id))).collect();
        if let Err(error) = shared.redis.back(&each, self.clock.now()).await {
            self.tell(&error);
        }
    }
}

/// A request for permits that is under way. Should its caller go away, what it may have taken is given
/// back, behind it on the same connection.
pub(super) struct UnderWay<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) id: u64,
    pub(super) rules: &'a Asked,
    pub(super) cost: u64,
}

impl UnderWay<'_> {
    /// There was an answer, and somebody to have it.
    pub(super) fn arrived(self) {
        std::mem::forget(self);
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let UnderWay { limiter, id, rules, cost } = self;
        let Ok(runtime) = Handle::try_current() else { return };
        let (limiter, id) = (Arc::clone(limiter), *id);
        let (every, due) = (SHORTEST, Instant::now());
        let kept =
            Kept { rules: rules.to_vec(), cost: *cost, every, due, runtime: runtime.clone() };
        runtime.spawn(async move {
            if let Some(shared) = &limiter.shared {
                limiter.give_back_shared(shared, id, &kept).await;
            }
        });
    }
}

/// The task that renews. Should its runtime end, the next permit starts another.
struct Renewing(Weak<Inner>);

impl Renewing {
    async fn run(self) {
        while let Some(next) = self.next() {
            sleep_until(next).await;
            let Some(limiter) = self.0.upgrade() else { return };
            let Some(shared) = &limiter.shared else { return };
            for (id, kept) in shared.keeper.due() {
                let taken = Taken { id, record: None, given: limiter.clock.now() };
                if let Err(error) = shared.redis.charge(&kept.asks(), taken).await {
                    limiter.tell(&error);
                }
                // Dropped meanwhile, it may have been given back before it was renewed.
                if !lock(&shared.keeper.0).held.contains_key(&id) {
                    limiter.give_back_shared(shared, id, &kept).await;
                }
            }
        }
    }

    /// When the next one is due; `None`, and the task is over, if there is none.
    fn next(&self) -> Option<Instant> {
        let limiter = self.0.upgrade()?;
        let mut book = lock(&limiter.shared.as_ref()?.keeper.0);
        let next = book.held.values().map(|kept| kept.due).min();
        book.running = next.is_some();
        next
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        let limiter = self.0.upgrade();
        if let Some(shared) = limiter.as_ref().and_then(|limiter| limiter.shared.as_ref()) {
            let mut book = lock(&shared.keeper.0);
            book.running &= book.held.is_empty();
        }
    }
}

impl Keeper {
    /// Those that are to be renewed now, until next time.
    fn due(&self) -> Vec<(u64, Kept)> {
        let now = Instant::now();
        let mut book = lock(&self.0);
        let due = book.held.iter_mut().filter(|(_, kept)| kept.due <= now);
        due.map(|(id, kept)| {
            kept.due = now + kept.every;
            (*id, kept.clone())
        })
        .collect()
    }
}
