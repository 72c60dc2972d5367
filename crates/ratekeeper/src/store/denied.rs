//! Refusals that are remembered: while a bucket cannot admit a cost, nobody asks the store for it.
//!
//! What is kept is what the bucket held, so any cost is judged, not only the one that was refused. The store's time is
//! known only to lie between those at which it was asked and at which it answered: a request is refused by the
//! later estimate, and told how long to wait by the earlier one, so that who waits as long gets in. Invariant: what is
//! refused here the store would refuse, unless somebody elsewhere gave something back in the last
//! [`KEEPS`] ticks.

use super::Charge;
use super::near::Table;
use super::redis::{Known, State};
use crate::algorithm::{Retry, Verdict};
use crate::sync::{AtomicU64, Ordering};

/// How long a refusal is believed, in ticks: so soon it shows here that another server has given something back.
const KEEPS: u64 = 250_000;

/// Most buckets of which something is kept.
const ENTRIES: usize = 1 << 16;

pub(crate) struct Denied {
    table: Table<Entry>,
    /// The tick before which nothing that was asked counts.
    since: AtomicU64,
    /// Whether nothing is kept.
    off: bool,
}

/// When a request was sent, and when it was answered, by this process's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    times: Times,
    /// What the bucket held; nothing if it was forgotten when it was `sent`.
    held: Option<Held>,
}

#[derive(Clone, Copy)]
struct Held {
    state: State,
    /// The time by the store's clock.
    now: u64,
    /// The cost that it was asked for.
    cost: u64,
}

/// What a bucket says to a charge, without the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    pub(crate) verdict: Verdict,
    pub(crate) refuses: bool,
}

impl Denied {
    /// Empty; for good, if it is `off`.
    pub(crate) fn new(off: bool) -> Denied {
        Denied { table: Table::new(ENTRIES), since: AtomicU64::new(0), off }
    }

    /// Takes note of what a bucket holds.
    pub(crate) fn note(&self, charge: &Charge<'_>, known: &Known, times: Times) {
        let Some(state) = known.state else { return };
        if self.off || times.sent < self.since.load(Ordering::Acquire) {
            return;
        }
        let bucket = charge.bucket();
        let newer = |entry: &Entry| match entry.held {
            Some(_) => entry.times.sent > times.sent,
            None => entry.times.sent >= times.sent,
        };
        if self.table.part(bucket).get(&bucket).is_some_and(newer) {
            return;
        }
        let held = Some(Held { state, now: known.now, cost: charge.cost() });
        self.table.cache(bucket, Entry { times, held }, |entry| entry.is_over(times.received));
    }

    /// What is known to be said to a charge, for a caller of such patience; `None` if the store has to be asked.
    #[inline]
    pub(crate) fn said(&self, charge: &Charge<'_>, patience: u64, now: u64) -> Option<Said> {
        let bucket = charge.bucket();
        let entry = *self.table.part(bucket).get(&bucket)?;
        if entry.is_over(now) {
            return None;
        }
        entry.held?.said(charge, patience, entry.times, now)
    }

    /// Something came back to a bucket, by now: nor does what was asked before count.
    pub(crate) fn forget(&self, bucket: u64, now: u64) {
        if !self.off {
            let times = Times { sent: now, received: now };
            self.table.cache(bucket, Entry { times, held: None }, |entry| entry.is_over(now));
        }
    }

    /// Other rules count from now on.
    pub(crate) fn clear(&self, now: u64) {
        self.since.store(now, Ordering::Release);
        self.table.each(super::near::Map::clear);
    }
}

impl Entry {
    fn is_over(&self, now: u64) -> bool {
        now < self.times.sent || now >= self.times.sent.saturating_add(KEEPS)
    }
}

impl Held {
    #[inline]
    fn said(&self, charge: &Charge<'_>, patience: u64, times: Times, now: u64) -> Option<Said> {
        let at = |known: u64| self.now + now.saturating_sub(known);
        let (late, early) = (at(times.sent), at(times.received));
        if !self.is_known(charge, late) {
            return None;
        }
        let judge = |cost| self.state.judge(charge, cost, early, patience).map(|own| own.verdict);
        let verdict = judge(charge.cost())?;
        // A wait is exact, so it tells what the later estimate would say, too.
        if verdict.retry_after.ticks().is_some_and(|wait| wait > late.saturating_sub(early)) {
            return Some(Said { verdict, refuses: true });
        }
        // Whoever passes here has no turn: the store gives them.
        let verdict = Verdict { retry_after: Retry::NOW, ..judge(0)? };
        Some(Said { verdict, refuses: false })
    }

    /// Whether all is known of what the bucket says to a charge at a time. What never fits has no wait, whatever other
    /// buckets say; of a log it is what was asked for, as long as its oldest entry counts.
    fn is_known(&self, charge: &Charge<'_>, late: u64) -> bool {
        if charge.cost() > charge.shown() {
            return false;
        }
        let State::Log { used, goes, .. } = self.state else { return true };
        let oldest = used.saturating_add(self.cost) <= charge.shown() + 1;
        let counts = late < goes.saturating_add(charge.log_period().unwrap_or(0));
        charge.cost() == self.cost && (used == 0 || oldest && counts)
    }
}
