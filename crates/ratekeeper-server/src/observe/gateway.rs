//! The gateway's figures, as metrics tell them.
//!
//! Invariant: they are of one moment, as far as counts that go on meanwhile can be.

use super::metrics::Page;
use std::fmt;

/// Figures of the gateway.
pub(crate) struct Figures {
    pub(crate) routes: Vec<OfRoute>,
    pub(crate) upstreams: Vec<OfUpstream>,
}

/// Figures of one route.
pub(crate) struct OfRoute {
    pub(crate) path: Box<str>,
    /// Answers by class.
    pub(crate) codes: Vec<(&'static str, u64)>,
    /// Sum, count and buckets of the times to an upstream's answer.
    pub(crate) seconds: (f64, u64, Vec<(f64, u64)>),
}

/// Figures of one upstream.
pub(crate) struct OfUpstream {
    pub(crate) name: Box<str>,
    pub(crate) in_flight: u64,
    pub(crate) idle: u64,
    pub(crate) busy: u64,
    pub(crate) is_well: bool,
    pub(crate) failures: Vec<(&'static str, u64)>,
    pub(crate) retries: u64,
    pub(crate) ejections: u64,
}

impl Figures {
    /// Writes all of them.
    pub(super) fn write(&self, page: &mut Page<'_>) -> fmt::Result {
        let codes = self.routes.iter().flat_map(|route| {
            let used = route.codes.iter().filter(|(_, count)| *count > 0);
            used.map(|(code, count)| ([("route", &*route.path), ("code", *code)], *count))
        });
        page.counters("ratekeeper_gateway_requests_total", codes)?;
        let times = self.routes.iter().filter(|route| route.seconds.1 > 0);
        let times = times.map(|route| ([("route", &*route.path)], &route.seconds));
        page.histograms("ratekeeper_upstream_seconds", times)?;
        let each = |figure: fn(&OfUpstream) -> u64| {
            self.upstreams.iter().map(move |own| ([("upstream", &*own.name)], figure(own)))
        };
        page.gauges("ratekeeper_upstream_in_flight", each(|own| own.in_flight))?;
        let connections = self.upstreams.iter().flat_map(|own| {
            let states = [("idle", own.idle), ("busy", own.busy)];
            states.map(|(state, count)| ([("upstream", &*own.name), ("state", state)], count))
        });
        page.gauges("ratekeeper_upstream_connections", connections)?;
        page.gauges("ratekeeper_upstream_healthy", each(|own| own.is_well.into()))?;
        let failures = self.upstreams.iter().flat_map(|own| {
            let each = own.failures.iter();
            each.map(|(kind, count)| ([("upstream", &*own.name), ("kind", *kind)], *count))
        });
        page.counters("ratekeeper_upstream_failures_total", failures)?;
        page.counters("ratekeeper_upstream_retries_total", each(|own| own.retries))?;
        page.counters("ratekeeper_upstream_ejections_total", each(|own| own.ejections))
    }
}
