//! The only reader of time.
//!
//! Ticks are whole microseconds since the epoch. The wall clock is read once, at the start; what
//! follows is monotonic time on top of it. Since reading that takes a third of a decision, the
//! processor's own counter is read instead, and set by the monotonic clock ten times a second.
//! Invariant: while the counter runs on, the system's ticks are off from monotonic time by no more
//! than it drifts in a tenth of a second, a few ticks; a counter that was set back by more than two
//! tenths is noticed at the next reading. Ticks never pass [`NOW_MAX`].

use crate::algorithm::NOW_MAX;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

/// Where a limiter takes the time from.
#[derive(Debug)]
pub(crate) enum Clock {
    System(SystemClock),
    Manual(ManualClock),
    #[cfg(all(feature = "wait", not(loom)))]
    Tokio(TokioClock),
}

impl Clock {
    pub(crate) fn system() -> Clock {
        Clock::System(SystemClock::start(quanta::Clock::new()))
    }

    /// Begins no earlier than at a tick: where somebody was before, time does not go back.
    pub(crate) fn not_before(&mut self, tick: u64) {
        if let Clock::System(clock) = self {
            let behind = (tick.min(NOW_MAX) * 1_000).saturating_sub(clock.epoch);
            clock.epoch += behind;
            *clock.offset.get_mut() += behind;
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match self {
            Clock::System(clock) => clock.now(),
            Clock::Manual(clock) => clock.ticks(),
            #[cfg(all(feature = "wait", not(loom)))]
            Clock::Tokio(clock) => clock.now(),
        }
    }

    /// Ticks from now to an instant; 0 if it is over.
    #[expect(clippy::disallowed_methods, reason = "this is the door by which time enters")]
    pub(crate) fn until(&self, instant: Instant) -> u64 {
        let now = match self {
            #[cfg(all(feature = "wait", not(loom)))]
            Clock::Tokio(_) => tokio::time::Instant::now().into_std(),
            _ => Instant::now(),
        };
        ticks(instant.saturating_duration_since(now))
    }
}

/// The clock of the tokio runtime, which tests can pause.
#[cfg(all(feature = "wait", not(loom)))]
#[derive(Debug)]
pub(crate) struct TokioClock {
    epoch: u64,
    start: tokio::time::Instant,
}

#[cfg(all(feature = "wait", not(loom)))]
impl TokioClock {
    pub(crate) fn start() -> TokioClock {
        TokioClock { epoch: since_epoch(), start: tokio::time::Instant::now() }
    }

    /// Begins at this time since the epoch, whatever the wall clock says.
    #[cfg(feature = "sim")]
    pub(crate) fn start_at(since_epoch: Duration) -> TokioClock {
        TokioClock { epoch: ticks(since_epoch), start: tokio::time::Instant::now() }
    }

    fn now(&self) -> u64 {
        (self.epoch + ticks(self.start.elapsed())).min(NOW_MAX)
    }
}

/// The wall clock, in ticks.
#[expect(clippy::disallowed_methods, reason = "this is the door by which time enters")]
fn since_epoch() -> u64 {
    ticks(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

/// Nanoseconds after which the counter is set again.
const SYNC_EVERY: u64 = 100_000_000;

/// Nanoseconds between two readings that belong together: reading both takes less than a tenth.
const SYNC_SPAN: u64 = 1_000;

/// Tries to have two such readings.
const SYNC_TRIES: u32 = 8;

/// The processor's counter, kept in step with the monotonic clock.
#[derive(Debug)]
pub(crate) struct SystemClock {
    counter: quanta::Clock,
    /// The counter and the monotonic clock at the start.
    zero: u64,
    start: Instant,
    /// What to add to the nanoseconds on the counter to have those since the epoch.
    offset: AtomicU64,
    /// Nanoseconds on the counter at which to set it again.
    next_sync: AtomicU64,
    epoch: u64,
}

impl SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the door by which time enters")]
    fn start(counter: quanta::Clock) -> SystemClock {
        let epoch = since_epoch() * 1_000;
        let (zero, start) = (counter.raw(), Instant::now());
        let (offset, next_sync) = (AtomicU64::new(epoch), AtomicU64::new(SYNC_EVERY));
        SystemClock { counter, zero, start, offset, next_sync, epoch }
    }

    #[inline]
    fn now(&self) -> u64 {
        let mut counted = self.counted();
        let left = self.next_sync.load(Ordering::Relaxed).wrapping_sub(counted);
        // Due, or, where the counter was set back, far from due.
        if left.wrapping_sub(1) >= 2 * SYNC_EVERY {
            counted = self.sync();
        }
        let nanos = counted.wrapping_add(self.offset.load(Ordering::Relaxed));
        (nanos / 1_000).min(NOW_MAX)
    }

    #[inline]
    fn counted(&self) -> u64 {
        self.counter.delta_as_nanos(self.zero, self.counter.raw())
    }

    /// Sets the counter by the monotonic clock, and returns its reading. If the thread was put to
    /// sleep between the two readings, they do not belong together: it tries again, but not for
    /// ever; the last resort is off by as long as it slept, until the next time.
    #[cold]
    #[expect(clippy::disallowed_methods, reason = "this is the door by which time enters")]
    fn sync(&self) -> u64 {
        let mut before = self.counted();
        for _ in 0..SYNC_TRIES {
            let passed = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let after = self.counted();
            let true_nanos = self.epoch.saturating_add(passed);
            self.offset.store(true_nanos.wrapping_sub(before), Ordering::Relaxed);
            self.next_sync.store(before.wrapping_add(SYNC_EVERY), Ordering::Relaxed);
            if after.wrapping_sub(before) < SYNC_SPAN {
                break;
            }
            before = after;
        }
        before
    }
}

/// A clock that stands still until it is moved, for tests.
///
/// ```
/// use ratekeeper::{Limiter, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let limiter = Limiter::memory().clock(&clock).rule("api", "1/second")?.build();
/// let api = limiter.rule("api")?;
///
/// assert!(api.try_check("alice")?.is_allowed());
/// let wait = api.try_check("alice")?.retry_after().expect("the second one is refused");
/// clock.advance(wait);
/// assert!(api.try_check("alice")?.is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Hand>);

#[derive(Debug)]
struct Hand {
    now: AtomicU64,
    watchers: Mutex<Vec<Weak<dyn Watcher>>>,
}

/// Somebody for whom things happen when time passes.
pub(crate) trait Watcher: Debug + Send + Sync {
    fn moved(&self);
}

impl ManualClock {
    /// A clock that stands at the first second of 2026.
    pub fn new() -> ManualClock {
        ManualClock::at(Duration::from_secs(1_767_225_600))
    }

    /// A clock that stands at this time since the epoch.
    pub fn at(since_epoch: Duration) -> ManualClock {
        let (now, watchers) = (AtomicU64::new(ticks(since_epoch)), Mutex::default());
        ManualClock(Arc::new(Hand { now, watchers }))
    }

    /// Moves the clock forward; whole microseconds count. Whoever waits for a time that has come then
    /// is woken before this returns.
    pub fn advance(&self, by: Duration) {
        self.set(self.now().saturating_add(by));
    }

    /// Moves the clock to this time since the epoch, which may be earlier.
    pub fn set(&self, since_epoch: Duration) {
        self.0.now.store(ticks(since_epoch), Ordering::SeqCst);
        let mut watchers = self.watchers();
        watchers.retain(|watcher| watcher.strong_count() > 0);
        let alive: Vec<_> = watchers.iter().filter_map(Weak::upgrade).collect();
        drop(watchers);
        alive.iter().for_each(|watcher| watcher.moved());
    }

    /// Time since the epoch.
    pub fn now(&self) -> Duration {
        Duration::from_micros(self.0.now.load(Ordering::SeqCst))
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.0.now.load(Ordering::SeqCst)
    }

    pub(crate) fn tell(&self, watcher: Weak<dyn Watcher>) {
        self.watchers().push(watcher);
    }

    fn watchers(&self) -> MutexGuard<'_, Vec<Weak<dyn Watcher>>> {
        self.0.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ManualClock {
    fn default() -> ManualClock {
        ManualClock::new()
    }
}

#[inline]
fn ticks(time: Duration) -> u64 {
    let seconds = time.as_secs().min(NOW_MAX / 1_000_000);
    (seconds * 1_000_000 + u64::from(time.subsec_micros())).min(NOW_MAX)
}

#[cfg(test)]
mod tests {
    use super::SystemClock;

    /// Far less than the counter is moved, far more than the test takes.
    const MINUTE: u64 = 60_000_000;
    const HOUR_IN_NANOS: u64 = 3_600_000_000_000;

    /// Goal: a counter that was set forward or back, as on a machine that moved, does not move time.
    /// Method: a counter of our own jumps by hours; the ticks follow the monotonic clock.
    #[test]
    fn a_counter_that_jumps_does_not_move_the_time() {
        let (counter, hand) = quanta::Clock::mock();
        let clock = SystemClock::start(counter);
        let start = clock.now();
        hand.increment(3 * HOUR_IN_NANOS);
        assert!(clock.now().abs_diff(start) < MINUTE);
        hand.decrement(2 * HOUR_IN_NANOS);
        assert!(clock.now().abs_diff(start) < MINUTE);
    }

    /// Goal: between two settings the counter alone moves the time.
    /// Method: move a counter of our own by less than a tenth of a second.
    #[test]
    fn the_counter_moves_the_time_between_two_settings() {
        let (counter, hand) = quanta::Clock::mock();
        let clock = SystemClock::start(counter);
        let start = clock.now();
        hand.increment(12_345_678_u64);
        assert_eq!(clock.now() - start, 12_345);
    }
}
