//! What operators see: counts and times of decisions, who asks most, and lines for the log.
//!
//! The limiter tells what it decided ([`Observer`]); doors tell which of them asked, by [`through`].
//! Invariants: labels come from configuration alone, and there is a bound on how many there are; a key is
//! kept as text only where it stays among the most frequent, and never leaves but by the admin API; a
//! decision takes no lock but that of one part of the sketch of keys.

mod asked;
mod callers;
mod gateway;
mod histogram;
mod history;
pub mod logs;
mod metrics;
mod moment;
mod rules;
mod shadow;
mod sketch;
mod store;
#[cfg(feature = "otel")]
pub mod traces;

pub use asked::{Door, through};
pub(crate) use asked::{through_at_once, through_now};
pub(crate) use history::Columns;
pub use history::{HISTORY_RULES_MAX, SECONDS_MAX};
pub use metrics::{METRICS, Metric};
pub(crate) use moment::Moment;
pub(crate) use rules::Counted;
pub use rules::RULES_MAX;
pub(crate) use shadow::Shadowed;
pub use sketch::ENTRIES_MAX;
pub(crate) use sketch::Frequent;

pub(crate) use gateway::{Figures, OfRoute, OfUpstream};
pub(crate) use histogram::Histogram;

#[cfg(feature = "otel")]
use asked::ASKED;
use bytes::Bytes;
use history::History;
use ratekeeper::limiter::{Observed, Observer};
use ratekeeper::rule::KeyPart;
use ratekeeper::{Decision, Limiter, StoreError};
use rules::{Row, Rules};
use sketch::Sketch;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::StoreCounts;
use tokio::sync::{Semaphore, broadcast};
use tokio::time::Instant;

/// Listeners of `/v1/stream` at a time. Beyond it: 503.
pub const LISTENERS_MAX: usize = 16;

/// Seconds that a listener may be behind.
const BEHIND_MAX: usize = 8;

/// All that is counted. One for a server; the limiter tells it by its [`observer`](Observe::observer).
pub struct Observe {
    rules: Rules,
    sketch: Sketch,
    decision_seconds: Histogram,
    store: StoreCounts,
    started: Instant,
    pub(crate) listeners: Arc<Semaphore>,
    /// The last seconds, and where each new one is told.
    pub(crate) history: History,
    pub(crate) events: broadcast::Sender<Bytes>,
    /// Whether somebody counts the seconds.
    begun: AtomicBool,
    /// Reads the figures of the gateway, if there is one.
    gateway: OnceLock<Box<dyn Fn() -> Figures + Send + Sync>>,
}

impl Default for Observe {
    fn default() -> Observe {
        Observe {
            rules: Rules::default(),
            sketch: Sketch::default(),
            decision_seconds: Histogram::default(),
            store: StoreCounts::default(),
            started: Instant::now(),
            listeners: Arc::new(Semaphore::new(LISTENERS_MAX)),
            history: History::default(),
            events: broadcast::Sender::new(BEHIND_MAX),
            begun: AtomicBool::new(false),
            gateway: OnceLock::new(),
        }
    }
}

impl std::fmt::Debug for Observe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observe").finish_non_exhaustive()
    }
}

impl Observe {
    /// What the limiter tells.
    pub fn observer(self: &Arc<Self>) -> impl Observer + use<> {
        Telling(Arc::clone(self))
    }

    /// Tells of a gateway, whose figures this reads.
    pub(crate) fn follow_gateway(&self, read: Box<dyn Fn() -> Figures + Send + Sync>) {
        let _ = self.gateway.set(read);
    }

    /// The figures of the gateway, if there is one.
    fn gateway(&self) -> Option<Figures> {
        self.gateway.get().map(|read| read())
    }

    /// Time since the server started.
    pub(crate) fn up(&self) -> Duration {
        self.started.elapsed()
    }

    /// All metrics as text, in the form that [`METRICS_TYPE`] names; so many times rules were offered that
    /// are not fit to be used.
    pub async fn metrics(self: &Arc<Self>, limiter: &Limiter, failures: u64) -> Option<String> {
        let usage = self.store.usage(limiter).await;
        metrics::text(self, limiter, usage, failures)
    }

    /// What each rule decided since the start.
    pub(crate) fn counted(&self) -> Vec<Counted> {
        self.rules.counted()
    }

    /// The keys that ask most, and those that are refused most; so many at most of each.
    pub(crate) fn frequent(&self, most: usize) -> (Vec<Frequent>, Vec<Frequent>) {
        self.sketch.frequent(most)
    }

    fn note(&self, door: Door, row: &Arc<Row>, who: Option<u64>, decision: &Decision) {
        #[cfg(feature = "otel")]
        let _ = ASKED.try_with(|asked| {
            if let Some(span) = &*asked.span.borrow() {
                span.note(row.id(), who, decision);
            }
        });
        row.decided(door, decision);
        if let Some(who) = who {
            self.sketch.touch(row, who, decision.is_refused());
        }
        if decision.is_refused()
            && let Some(left_out) = row.refusals.take(self.up())
        {
            logs::refused(row.id(), door, who, decision, left_out);
        }
    }
}

/// The media type of [`Observe::metrics`].
pub const METRICS_TYPE: &str = metrics::CONTENT_TYPE;

/// The observer of a limiter.
struct Telling(Arc<Observe>);

impl Observer for Telling {
    fn decided(&self, rule: &str, decision: &Decision) {
        let door = self.0.answered();
        self.0.rules.with(rule, |row| self.0.note(door, row, None, decision));
    }

    fn observed(&self, observed: &Observed<'_>) {
        let Observed { rule, who, decision, shadow, .. } = *observed;
        self.0.rules.with(rule, |row| match shadow {
            true => row.shadowed(who, decision),
            false => self.0.note(self.0.answered(), row, who, decision),
        });
    }

    fn observed_all(&self, all: &mut dyn Iterator<Item = Observed<'_>>) {
        // Of looks nobody is told, so they are not timed.
        let (mut door, mut rows) = (None, self.0.rules.finding());
        for Observed { rule, who, decision, shadow, .. } in all {
            let row = rows.find(rule);
            match shadow {
                true => row.shadowed(who, decision),
                false => {
                    let door = *door.get_or_insert_with(|| self.0.answered());
                    self.0.note(door, row, who, decision);
                }
            }
        }
    }

    fn met(&self, rule: &str, who: u64, key: &dyn Fn() -> Vec<KeyPart>) {
        if self.0.sketch.wants(who) {
            self.0.rules.with(rule, |row| self.0.sketch.name(row, who, key));
        }
    }

    fn diagnosed(&self, diagnosis: &ratekeeper::diagnosis::Diagnosis) {
        logs::diagnosed(diagnosis);
    }

    fn store_failed(&self, error: &StoreError) {
        self.0.store.failed(error, self.0.up());
    }

    fn store_answered(&self, took: Duration) {
        self.0.store.answered(took);
    }
}
