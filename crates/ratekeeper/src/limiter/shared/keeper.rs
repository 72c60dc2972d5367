//! Permits of a shared store that somebody in this process holds: renewed while they are held, given back
//! when they are dropped.
//!
//! Invariant: one task renews them all, and ends when there are none; a process that dies renews none,
//! and its permits end with their time.

use super::{Shared, asks};
use crate::limiter::{Asked, Inner};
use crate::store::Meter;
use crate::store::redis::{Ask, Back};
use crate::sync::{Mutex, lock};
use futures_util::future::join_all;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Shortest time between two renewals.
const SHORTEST: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Keeper {
    book: Mutex<Book>,
    /// Somebody came who may have to be renewed first.
    sooner: Arc<Notify>,
}

/// Renewals under way at the same time.
const AT_ONCE: usize = 128;

#[derive(Default)]
struct Book {
    held: HashMap<u64, Kept>,
    running: bool,
}

#[derive(Clone)]
struct Kept {
    rules: Vec<Asked>,
    every: Duration,
    due: Instant,
    runtime: Handle,
}

/// The buckets of rules of which something is held.
fn permits(rules: &[Asked]) -> Vec<Ask<'_>> {
    let mut asks = asks(rules, 0);
    asks.retain(|ask| ask.charge.hold().is_some());
    asks
}

impl Inner {
    /// Renews a permit of this identity from now on.
    pub(in crate::limiter) fn keep_shared(
        self: &Arc<Self>,
        shared: &Shared,
        id: u64,
        rules: &[Asked],
    ) {
        let holds = rules.iter().flat_map(|asked| &asked.rule.meters).filter_map(Meter::hold);
        let Some(hold) = holds.min() else { return };
        let every = Duration::from_micros(hold / 3).max(SHORTEST);
        let (due, runtime) = (Instant::now() + every, Handle::current());
        let kept = Kept { rules: rules.to_vec(), every, due, runtime };
        let mut book = lock(&shared.keeper.book);
        book.held.insert(id, kept);
        shared.keeper.sooner.notify_one();
        if !std::mem::replace(&mut book.running, true) {
            tokio::spawn(Renewing(Arc::downgrade(self)).run());
        }
    }

    /// Gives a permit of this identity back, without waiting for it.
    pub(in crate::limiter) fn let_go_shared(self: &Arc<Self>, shared: &Shared, id: u64) {
        let Some(kept) = lock(&shared.keeper.book).held.remove(&id) else { return };
        self.free_later(&kept.runtime, id, kept.rules);
    }

    /// Gives back what has this identity, without waiting for it.
    fn free_later(self: &Arc<Self>, runtime: &Handle, id: u64, rules: Vec<Asked>) {
        let limiter = Arc::clone(self);
        runtime.spawn(async move {
            if let Some(shared) = &limiter.shared {
                limiter.free_shared(shared, id, &rules).await;
            }
        });
    }

    async fn renew_shared(&self, shared: &Shared, id: u64, kept: &Kept) {
        if let Err(error) = shared.redis.renew(&permits(&kept.rules), id, self.clock.now()).await {
            self.tell(&error);
        }
        // Dropped meanwhile, it may have been given back before it was renewed.
        if !lock(&shared.keeper.book).held.contains_key(&id) {
            self.free_shared(shared, id, &kept.rules).await;
        }
    }

    /// Gives back what has this identity of concurrency limits.
    pub(super) async fn free_shared(&self, shared: &Shared, id: u64, rules: &[Asked]) {
        let each: Vec<_> = permits(rules).into_iter().map(|ask| (ask, Back::Release(id))).collect();
        if !each.is_empty()
            && let Err(error) = shared.redis.back(&each, self.clock.now()).await
        {
            self.tell(&error);
        }
    }
}

/// A request for permits that is under way. Should its caller go away, what it may have taken is given
/// back, behind it on the same connection.
pub(super) struct UnderWay<'a> {
    pub(super) limiter: &'a Arc<Inner>,
    pub(super) id: u64,
    pub(super) rules: &'a [Asked],
}

impl UnderWay<'_> {
    /// There was an answer, and somebody to have it.
    pub(super) fn arrived(self) {
        std::mem::forget(self);
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Ok(runtime) = Handle::try_current() {
            self.limiter.free_later(&runtime, self.id, self.rules.to_vec());
        }
    }
}

/// The task that renews. Should its runtime end, the next permit starts another.
struct Renewing(Weak<Inner>);

impl Renewing {
    async fn run(self) {
        while let Some(next) = self.next() {
            // Who comes later may have to be renewed earlier.
            let Some(sooner) = self.sooner() else { return };
            let _ = timeout_at(next, sooner.notified()).await;
            let Some(limiter) = self.0.upgrade() else { return };
            let Some(shared) = &limiter.shared else { return };
            for part in shared.keeper.due().chunks(AT_ONCE) {
                let each = part.iter().map(|(id, kept)| limiter.renew_shared(shared, *id, kept));
                join_all(each).await;
            }
        }
    }

    fn sooner(&self) -> Option<Arc<Notify>> {
        Some(Arc::clone(&self.0.upgrade()?.shared.as_ref()?.keeper.sooner))
    }

    /// When the next one is due; `None`, and the task is over, if there is none.
    fn next(&self) -> Option<Instant> {
        let limiter = self.0.upgrade()?;
        let mut book = lock(&limiter.shared.as_ref()?.keeper.book);
        let next = book.held.values().map(|kept| kept.due).min();
        book.running = next.is_some();
        next
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        let limiter = self.0.upgrade();
        if let Some(shared) = limiter.as_ref().and_then(|limiter| limiter.shared.as_ref()) {
            let mut book = lock(&shared.keeper.book);
            book.running &= book.held.is_empty();
        }
    }
}

impl Keeper {
    /// Those that are to be renewed now, until next time.
    fn due(&self) -> Vec<(u64, Kept)> {
        let now = Instant::now();
        let mut book = lock(&self.book);
        let due = book.held.iter_mut().filter(|(_, kept)| kept.due <= now);
        due.map(|(id, kept)| {
            kept.due = now + kept.every;
            (*id, kept.clone())
        })
        .collect()
    }
}
