//! What is known of the shared store.
//!
//! Invariant: asking the store about itself happens at most once in [`USAGE_EVERY`], however often metrics
//! are read.

use super::histogram::Histogram;
use super::logs::{self, Sample};
use ratekeeper::outage::{Class, Outcome};
use ratekeeper::{Limiter, StoreError, StoreUsage};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How often the store is asked what it holds.
const USAGE_EVERY: Duration = Duration::from_secs(5);

/// For how long a failure shows as degraded, unless the store answers.
const DEGRADED_FOR: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct StoreCounts {
    pub(super) seconds: Histogram,
    errors: [AtomicU64; Class::ALL.len()],
    /// When a decision last had to do without it, in milliseconds since the start, and 1; 0 if it has
    /// answered since.
    failed_at: AtomicU64,
    lines: Sample,
    usage: Mutex<Option<(Instant, Option<StoreUsage>)>>,
}

impl StoreCounts {
    pub(super) fn failed(&self, error: &StoreError, up: Duration) {
        if let Some(place) = Class::ALL.iter().position(|class| *class == error.class()) {
            self.errors[place].fetch_add(1, Ordering::Relaxed);
        }
        if error.class().policy().decision == Outcome::Outage {
            self.failed_at.store(millis(up) + 1, Ordering::Relaxed);
        }
        if let Some(left_out) = self.lines.take(up) {
            logs::store_failed(error, left_out);
        }
    }

    pub(super) fn answered(&self, took: Duration) {
        self.seconds.record(took);
        if self.failed_at.load(Ordering::Relaxed) != 0 {
            self.failed_at.store(0, Ordering::Relaxed);
        }
    }

    /// Whether decisions are made without the store at present.
    pub(super) fn is_degraded(&self, limiter: &Limiter, up: Duration) -> bool {
        let failed_at = self.failed_at.load(Ordering::Relaxed);
        let lately = failed_at > 0 && millis(up) < failed_at + millis(DEGRADED_FOR);
        lately || limiter.is_store_open()
    }

    /// Each class of errors, and how many there were.
    pub(super) fn errors(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.errors.iter().map(|count| count.load(Ordering::Relaxed));
        Class::ALL.iter().map(|class| class.name()).zip(counts)
    }

    /// What the store says that it holds.
    pub(super) async fn usage(&self, limiter: &Limiter) -> Option<StoreUsage> {
        let mut known = self.usage.lock().await;
        if let Some((at, usage)) = *known
            && at.elapsed() < USAGE_EVERY
        {
            return usage;
        }
        let usage = limiter.store_usage().await;
        *known = Some((Instant::now(), usage));
        usage
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 2)
}
