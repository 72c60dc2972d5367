//! Routes: which path goes to which upstreams, and which of them is asked.
//!
//! Invariants: the first route in the file that matches is taken. An upstream that is not well is not asked, or, if
//! it only fails to answer, as the last; of the others the one with the fewest requests under way. Requests that
//! are sent on again are a small part of all, however many fail.

use super::upstream::{Health, Upstream};
use crate::observe::Histogram;
use axum::http::StatusCode;
use ratekeeper::request::path::CanonicalPath;
use ratekeeper::rule::file::{Auth, Timeouts};
use ratekeeper::rule::pattern::PathTable;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What a request adds to the budget for retries, and what a retry takes of it.
const EARNS: u64 = 1;
const COSTS: u64 = 10;

/// Most that the budget holds; so many retries are there at the start.
const BUDGET_MAX: u64 = 10 * COSTS;

/// Classes of answers, as metrics name them.
pub(super) const CODES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// All routes.
pub(super) struct Routes {
    table: PathTable,
    pub(super) all: Vec<Route>,
    /// Counts of requests that no route is for.
    pub(super) none: Counts,
}

/// One route.
pub(super) struct Route {
    /// Its path, as it is written.
    pub(super) path: Box<str>,
    pub(super) upstreams: Vec<Arc<Upstream>>,
    pub(super) auth: Auth,
    pub(super) timeouts: Timeouts,
    pub(super) counts: Counts,
    pub(super) budget: Budget,
    /// Where the search for the next begins.
    turn: AtomicUsize,
}

/// What became of requests.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) codes: [AtomicU64; CODES.len()],
    /// Until the header of an upstream's answer.
    pub(super) seconds: Histogram,
}

impl Counts {
    /// Notes an answer.
    pub(super) fn note(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CODES.len()) - 1;
        self.codes[class].fetch_add(1, Ordering::Relaxed);
    }
}

impl Routes {
    pub(super) fn new(table: PathTable, all: Vec<Route>) -> Routes {
        Routes { table, all, none: Counts::default() }
    }

    /// The route for a path, by number.
    pub(super) fn find(&self, path: &CanonicalPath<'_>) -> Option<usize> {
        self.table.first(path)
    }

    /// The counts of a route.
    pub(super) fn counts(&self, route: Option<usize>) -> &Counts {
        route.and_then(|route| self.all.get(route)).map_or(&self.none, |route| &route.counts)
    }
}

impl Route {
    pub(super) fn new(
        path: &str,
        upstreams: Vec<Arc<Upstream>>,
        auth: Auth,
        timeouts: Timeouts,
    ) -> Route {
        let (counts, budget, turn) = (Counts::default(), Budget::default(), AtomicUsize::new(0));
        Route { path: path.into(), upstreams, auth, timeouts, counts, budget, turn }
    }

    /// The upstream to ask, of those that are well and have not been tried, or else that are spared.
    pub(super) fn choose(&self, tried: &[Arc<Upstream>]) -> Option<Arc<Upstream>> {
        let count = self.upstreams.len();
        let first = if count > 1 { self.turn.fetch_add(1, Ordering::Relaxed) % count } else { 0 };
        let each = (0..count).map(|step| &self.upstreams[(first + step) % count]);
        let is_tried = |own: &Arc<Upstream>| tried.iter().any(|other| Arc::ptr_eq(other, own));
        let fit = |is: fn(&Health) -> bool| {
            let fit = each.clone().filter(|own| is(&own.health) && !is_tried(own));
            fit.min_by_key(|own| own.in_flight()).map(Arc::clone)
        };
        fit(Health::is_well).or_else(|| fit(Health::is_spared))
    }

    /// Whether another upstream than this one is well.
    pub(super) fn has_other(&self, own: &Arc<Upstream>) -> bool {
        self.upstreams.iter().any(|other| !Arc::ptr_eq(other, own) && other.health.is_well())
    }
}

/// How many requests may be sent on again: one of ten.
pub(super) struct Budget(AtomicU64);

impl Default for Budget {
    fn default() -> Budget {
        Budget(AtomicU64::new(BUDGET_MAX))
    }
}

impl Budget {
    /// A request has come.
    pub(super) fn earn(&self) {
        if self.0.load(Ordering::Relaxed) < BUDGET_MAX {
            let add = |own: u64| Some((own + EARNS).min(BUDGET_MAX));
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        }
    }

    /// Whether one may be sent on again.
    pub(super) fn take(&self) -> bool {
        let less = |own: u64| own.checked_sub(COSTS);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}
