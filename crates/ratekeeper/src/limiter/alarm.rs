//! The one alarm of a limiter: wakes whoever waits when the time has come.
//!
//! It is kept by a thread, and only while somebody waits. Where tokio has the time (feature `wait`)
//! it is a task, since that time may stand still; a clock that is moved by hand needs no keeper.
//! Invariant: `at` is no later than the first one who has to be woken, once the keeper sleeps.

use super::Inner;
use crate::clock::{Clock, Watcher};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// The keeper looks around at least this often, so that it ends soon after the last one left.
const NAP_MAX: Duration = Duration::from_secs(1);

/// A thread sleeps at least this long, so that turns close to each other come with one wake-up: waking
/// takes more than all else together.
const NAP_MIN: Duration = Duration::from_millis(1);

pub(crate) struct Alarm {
    at: AtomicU64,
    kept: AtomicBool,
    /// Tokio was tried, and does not run it.
    no_tokio: AtomicBool,
    keeper: Mutex<Option<Waker>>,
}

impl Default for Alarm {
    fn default() -> Alarm {
        Alarm {
            at: AtomicU64::new(u64::MAX),
            kept: AtomicBool::new(false),
            no_tokio: AtomicBool::new(false),
            keeper: Mutex::new(None),
        }
    }
}

impl Alarm {
    /// Goes off at `tick` at the latest.
    pub(super) fn not_later(&self, tick: u64) {
        let earlier = tick < self.at.load(Ordering::SeqCst)
            && tick < self.at.fetch_min(tick, Ordering::SeqCst);
        if earlier {
            let keeper = lock(&self.keeper).clone();
            keeper.into_iter().for_each(Waker::wake);
        }
    }
}

/// Makes sure that somebody keeps the alarm.
pub(super) fn keep(inner: &Arc<Inner>) {
    let alarm = &inner.queues.alarm;
    if let Clock::Manual(clock) = &inner.clock {
        // It may have been moved while the one who waits got in line.
        inner.queues.turn(clock.ticks());
        return;
    }
    if alarm.kept.load(Ordering::SeqCst) || alarm.kept.swap(true, Ordering::SeqCst) {
        return;
    }
    let keeper = Keeper(Some(Arc::downgrade(inner)));
    #[cfg(all(feature = "wait", not(loom)))]
    if let Clock::Tokio(_) = &inner.clock
        && let Ok(runtime) = tokio::runtime::Handle::try_current()
        && !alarm.no_tokio.load(Ordering::SeqCst)
    {
        runtime.spawn(keep_in_tokio(keeper));
        if !alarm.kept.load(Ordering::SeqCst) {
            // It was shut down, and dropped the task at once.
            alarm.no_tokio.store(true, Ordering::SeqCst);
        }
        return;
    }
    // Where no thread can be had, whoever waits asks again and again.
    let _ = thread::Builder::new().name("ratekeeper".into()).spawn(move || keep_in_thread(keeper));
}

fn keep_in_thread(mut keeper: Keeper) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    while let Some(nap) = keeper.turn(&waker) {
        thread::park_timeout(nap.max(NAP_MIN));
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(all(feature = "wait", not(loom)))]
async fn keep_in_tokio(mut keeper: Keeper) {
    use std::task::Poll;
    let mut sleep = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
    std::future::poll_fn(|context| {
        while let Some(nap) = keeper.turn(context.waker()) {
            sleep.as_mut().reset(tokio::time::Instant::now() + nap);
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    })
    .await;
}

/// Whoever keeps the alarm. If it ends while somebody waits, as with its runtime, everyone is woken,
/// and the first to ask again finds another. Empty after an orderly end.
struct Keeper(Option<Weak<Inner>>);

impl Keeper {
    /// Wakes who has to be woken, and says how long to sleep; `None` if nobody waits.
    fn turn(&mut self, waker: &Waker) -> Option<Duration> {
        let inner = self.0.as_ref().and_then(Weak::upgrade)?;
        let alarm = &inner.queues.alarm;
        loop {
            // Another keeper may have come and gone in the meantime.
            let former = lock(&alarm.keeper).replace(waker.clone());
            drop(former);
            // Whoever comes from here on sets the alarm; whoever was here before is found.
            alarm.at.store(u64::MAX, Ordering::SeqCst);
            let next = inner.queues.turn(inner.clock.now());
            let at = alarm.at.fetch_min(next, Ordering::SeqCst).min(next);
            if at < u64::MAX {
                let ticks = at.saturating_sub(inner.clock.now());
                return Some(Duration::from_micros(ticks).min(NAP_MAX));
            }
            alarm.kept.store(false, Ordering::SeqCst);
            let come = alarm.at.load(Ordering::SeqCst) < u64::MAX;
            if !come || alarm.kept.swap(true, Ordering::SeqCst) {
                self.0 = None;
                return None;
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(inner) = self.0.as_ref().and_then(Weak::upgrade) else { return };
        let alarm = &inner.queues.alarm;
        // A runtime without timers panics.
        if thread::panicking() {
            alarm.no_tokio.store(true, Ordering::SeqCst);
        }
        alarm.kept.store(false, Ordering::SeqCst);
        inner.queues.wake_everyone();
    }
}

/// When time is moved by hand, those are woken whose time has come.
impl Watcher for Inner {
    fn moved(&self) {
        self.queues.turn(self.clock.now());
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Limiter")
    }
}
