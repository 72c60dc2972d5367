//! What metrics tell of the gateway.
//!
//! Invariant: labels come from the rule file alone, and there is a bound on how many there are.

use super::failure::KINDS;
use super::routes::{CODES, Counts, Routes};
use super::upstream::Upstream;
use crate::observe::{Figures, OfRoute, OfUpstream, RULES_MAX};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The label of requests that no route is for.
const NONE: &str = "none";

/// Where figures are read.
pub(super) struct Source {
    routes: Arc<Routes>,
    upstreams: Vec<Arc<Upstream>>,
}

impl Source {
    pub(super) fn new(
        routes: &Arc<Routes>,
        upstreams: &[(Arc<Upstream>, Option<String>)],
    ) -> Source {
        let upstreams = upstreams.iter().take(RULES_MAX).map(|(own, _)| Arc::clone(own)).collect();
        Source { routes: Arc::clone(routes), upstreams }
    }

    /// The figures of this moment.
    pub(super) fn read(&self) -> Figures {
        let own = self.routes.all.iter().take(RULES_MAX);
        let routes = own.map(|route| of_route(&route.path, &route.counts));
        let routes = routes.chain([of_route(NONE, &self.routes.none)]).collect();
        Figures { routes, upstreams: self.upstreams.iter().map(|own| of_upstream(own)).collect() }
    }
}

fn of_route(path: &str, counts: &Counts) -> OfRoute {
    let each = CODES.iter().zip(&counts.codes);
    let codes = each.map(|(code, count)| (*code, count.load(Ordering::Relaxed)));
    OfRoute { path: path.into(), codes: codes.collect(), seconds: counts.seconds.read() }
}

fn of_upstream(own: &Upstream) -> OfUpstream {
    let (idle, all) = own.connections();
    let each = KINDS.iter().zip(&own.failures);
    OfUpstream {
        name: own.name.clone(),
        in_flight: own.in_flight() as u64,
        idle: idle as u64,
        busy: all.saturating_sub(idle) as u64,
        is_well: own.health.is_well(),
        failures: each.map(|(kind, count)| (*kind, count.load(Ordering::Relaxed))).collect(),
        retries: own.retries.load(Ordering::Relaxed),
        ejections: own.health.ejections.load(Ordering::Relaxed),
    }
}
