//! The metrics, by name, and their text.
//!
//! Invariant: what is written is in [`METRICS`], each with its type, unit and meaning; docs, alerts and
//! dashboard are held against that list by tests.

mod list;

pub use list::{METRICS, Metric};

use super::Observe;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use ratekeeper::{Limiter, StoreUsage};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The media type of the text.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What has no labels.
type NoLabels = [(&'static str, &'static str); 0];

/// All metrics, at this moment.
pub(super) fn text(
    observe: &Arc<Observe>,
    limiter: &Limiter,
    usage: Option<StoreUsage>,
    failures: u64,
) -> Option<String> {
    let mut registry = Registry::default();
    let (observe, limiter) = (Arc::clone(observe), limiter.clone());
    registry.register_collector(Box::new(Reading { observe, limiter, usage, failures }));
    let mut text = String::new();
    text::encode(&mut text, &registry).ok()?;
    Some(text)
}

/// What is read for one answer.
#[derive(Debug)]
struct Reading {
    observe: Arc<Observe>,
    limiter: Limiter,
    usage: Option<StoreUsage>,
    /// Rules that were offered and are not fit to be used.
    failures: u64,
}

impl Collector for Reading {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        self.decisions(&mut page)?;
        self.store(&mut page)?;
        self.memory(&mut page)?;
        self.releases(&mut page)?;
        self.observe.gateway().map_or(Ok(()), |figures| figures.write(&mut page))
    }
}

impl Reading {
    fn decisions(&self, page: &mut Page<'_>) -> fmt::Result {
        let rows = self.observe.rules.rows();
        let mut counts = Vec::new();
        for row in &rows {
            row.each(|[door, outcome, source], count| {
                let labels = [
                    ("rule", &**row.id()),
                    ("outcome", outcome),
                    ("source", source),
                    ("door", door),
                ];
                counts.push((labels, count));
            });
        }
        page.counters("ratekeeper_decisions_total", counts)?;
        let near =
            rows.iter().map(|row| ([("rule", &**row.id())], row.near.load(Ordering::Relaxed)));
        page.counters("ratekeeper_near_limit_total", near)?;
        let refused = rows
            .iter()
            .map(|row| ([("rule", &**row.id())], row.shadow_refused.load(Ordering::Relaxed)));
        page.counters("ratekeeper_shadow_refused_total", refused)?;
        page.histogram("ratekeeper_decision_seconds", &self.observe.decision_seconds)
    }

    fn store(&self, page: &mut Page<'_>) -> fmt::Result {
        let store = &self.observe.store;
        page.histogram("ratekeeper_store_seconds", &store.seconds)?;
        let errors = store.errors().map(|(class, count)| ([("class", class)], count));
        page.counters("ratekeeper_store_errors_total", errors)?;
        page.gauge("ratekeeper_breaker_state", self.limiter.is_store_open().into())?;
        let degraded = store.is_degraded(&self.limiter, self.observe.up());
        page.gauge("ratekeeper_degraded", degraded.into())?;
        if let Some(usage) = self.usage {
            page.gauge("ratekeeper_store_memory_bytes", usage.memory_bytes)?;
            page.gauge("ratekeeper_store_evicted_keys", usage.evicted_keys)?;
        }
        let overshoot = self.limiter.overshoot();
        let overshoot = overshoot.iter().take(super::RULES_MAX);
        page.gauges(
            "ratekeeper_overshoot",
            overshoot.map(|(rule, units)| ([("rule", &**rule)], *units)),
        )
    }

    fn memory(&self, page: &mut Page<'_>) -> fmt::Result {
        let stats = self.limiter.stats();
        page.gauge("ratekeeper_keys", stats.keys)?;
        page.gauge("ratekeeper_keys_max", stats.most)?;
        page.gauge("ratekeeper_memory_bytes", stats.bytes)?;
        page.counter("ratekeeper_keys_created_total", stats.created)?;
        page.counter("ratekeeper_keys_expired_total", stats.expired)?;
        page.counter("ratekeeper_evictions_total", stats.evicted)
    }

    fn releases(&self, page: &mut Page<'_>) -> fmt::Result {
        page.gauge("ratekeeper_release", self.limiter.version())?;
        page.counter("ratekeeper_reload_failures_total", self.failures)?;
        let mut switches = self.limiter.switches();
        switches.sort_by(|(one, _), (other, _)| one.cmp(other));
        let switches = switches.iter().take(super::RULES_MAX);
        page.gauges(
            "ratekeeper_switch_active",
            switches.map(|(rule, _)| ([("rule", &**rule)], 1)),
        )?;
        page.info("ratekeeper_build_info", &[("version", env!("CARGO_PKG_VERSION"))])
    }
}

/// The page that is written.
pub(super) struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn begin(
        &mut self,
        name: &'static str,
        suffix: &str,
        kind: MetricType,
    ) -> Result<prometheus_client::encoding::MetricEncoder<'_>, fmt::Error> {
        let metric = METRICS.iter().find(|metric| metric.name == name).ok_or(fmt::Error)?;
        let stem = name.strip_suffix(suffix).ok_or(fmt::Error)?;
        self.0.encode_descriptor(stem, metric.help, None, kind)
    }

    pub(super) fn counters<L: EncodeLabelSet>(
        &mut self,
        name: &'static str,
        each: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut family = self.begin(name, "_total", MetricType::Counter)?;
        for (labels, count) in each {
            let mut sample = family.encode_family(&labels)?;
            sample.encode_counter::<NoLabels, _, u64>(&count, None)?;
        }
        Ok(())
    }

    pub(super) fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &'static str,
        each: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut family = self.begin(name, "", MetricType::Gauge)?;
        each.into_iter()
            .try_for_each(|(labels, value)| family.encode_family(&labels)?.encode_gauge(&value))
    }

    fn gauge(&mut self, name: &'static str, value: u64) -> fmt::Result {
        self.begin(name, "", MetricType::Gauge)?.encode_gauge(&value)
    }

    fn counter(&mut self, name: &'static str, count: u64) -> fmt::Result {
        let mut metric = self.begin(name, "_total", MetricType::Counter)?;
        metric.encode_counter::<NoLabels, _, u64>(&count, None)
    }

    fn histogram(&mut self, name: &'static str, times: &super::Histogram) -> fmt::Result {
        let (sum, count, buckets) = times.read();
        let mut metric = self.begin(name, "", MetricType::Histogram)?;
        metric.encode_histogram::<NoLabels>(sum, count, &buckets, None)
    }

    /// A histogram for each set of labels: its sum, its count and its buckets.
    pub(super) fn histograms<'h, L: EncodeLabelSet>(
        &mut self,
        name: &'static str,
        each: impl IntoIterator<Item = (L, &'h (f64, u64, Vec<(f64, u64)>))>,
    ) -> fmt::Result {
        let mut family = self.begin(name, "", MetricType::Histogram)?;
        each.into_iter().try_for_each(|(labels, (sum, count, buckets))| {
            let mut metric = family.encode_family(&labels)?;
            metric.encode_histogram::<NoLabels>(*sum, *count, buckets, None)
        })
    }

    fn info(&mut self, name: &'static str, labels: &[(&str, &str); 1]) -> fmt::Result {
        self.begin(name, "_info", MetricType::Info)?.encode_info(labels)
    }
}
