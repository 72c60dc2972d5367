//! Every metric, once.
//!
//! Invariant: names are those of the contract; `ratekeeper_keys_max` is there for the alert `KeysNearCap`.

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name, as samples have it; that of a histogram's samples goes on with `_bucket`, `_sum`, `_count`.
    pub name: &'static str,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub kind: &'static str,
    /// What its labels are.
    pub labels: &'static str,
    /// What it tells.
    pub help: &'static str,
}

const fn metric(
    name: &'static str,
    kind: &'static str,
    labels: &'static str,
    help: &'static str,
) -> Metric {
    Metric { name, kind, labels, help }
}

/// Every metric.
pub const METRICS: [Metric; 29] = [
    metric(
        "ratekeeper_decisions_total",
        "counter",
        "rule, outcome, source, door",
        "Decisions of each rule that charged or refused; peeks are none",
    ),
    metric(
        "ratekeeper_decision_seconds",
        "histogram",
        "",
        "Time from a question that was understood to its decision, the store included, the \
         network to the caller and turns that were waited for not",
    ),
    metric(
        "ratekeeper_store_seconds",
        "histogram",
        "",
        "Time that the shared store took for charges that it answered; none with the memory \
         store",
    ),
    metric(
        "ratekeeper_store_errors_total",
        "counter",
        "class",
        "Answers of the shared store that were errors, or did not come; 0 with the memory \
         store",
    ),
    metric(
        "ratekeeper_breaker_state",
        "gauge",
        "",
        "1 while a server of the shared store is not asked, because it failed; else 0",
    ),
    metric(
        "ratekeeper_degraded",
        "gauge",
        "",
        "1 while decisions are made without the shared store; else 0",
    ),
    metric(
        "ratekeeper_keys",
        "gauge",
        "",
        "Keys in this process's memory; with a shared store those of its local shares",
    ),
    metric("ratekeeper_keys_max", "gauge", "", "Keys that this process's memory holds at most"),
    metric(
        "ratekeeper_keys_created_total",
        "counter",
        "",
        "Keys that were added to this process's memory",
    ),
    metric(
        "ratekeeper_keys_expired_total",
        "counter",
        "",
        "Keys that were reclaimed because they were whole again",
    ),
    metric(
        "ratekeeper_evictions_total",
        "counter",
        "",
        "Keys that were dropped at the cap, nearest to whole first",
    ),
    metric(
        "ratekeeper_memory_bytes",
        "gauge",
        "",
        "Bytes of the tables and logs in this process's memory",
    ),
    metric(
        "ratekeeper_store_memory_bytes",
        "gauge",
        "",
        "Bytes that the servers of the shared store have taken, as they say; left out where \
         none says",
    ),
    metric(
        "ratekeeper_store_evicted_keys",
        "gauge",
        "",
        "Keys that the servers of the shared store dropped because their memory was full, as \
         they say; left out where none says",
    ),
    metric(
        "ratekeeper_near_limit_total",
        "counter",
        "rule",
        "Decisions that admitted, and left less than a fifth of the limit",
    ),
    metric(
        "ratekeeper_shadow_refused_total",
        "counter",
        "rule",
        "What rules in shadow, and limits on trial, would have refused",
    ),
    metric("ratekeeper_release", "gauge", "", "Number of the release of rules that decides"),
    metric(
        "ratekeeper_reload_failures_total",
        "counter",
        "",
        "Rules that were offered and not taken, because they are faulty",
    ),
    metric(
        "ratekeeper_switch_active",
        "gauge",
        "rule",
        "1 for each switch that is turned; the rule * stands for all",
    ),
    metric(
        "ratekeeper_overshoot",
        "gauge",
        "rule",
        "Units that leases may admit to a key beyond its limit at most, of each rule that leases",
    ),
    metric(
        "ratekeeper_gateway_requests_total",
        "counter",
        "route, code",
        "Requests of each route of the gateway, by the class of their answer; the route none stands \
         for paths that have none",
    ),
    metric(
        "ratekeeper_upstream_seconds",
        "histogram",
        "route",
        "Time until the header of an upstream's answer",
    ),
    metric(
        "ratekeeper_upstream_in_flight",
        "gauge",
        "upstream",
        "Requests that are under way with each upstream",
    ),
    metric(
        "ratekeeper_upstream_connections",
        "gauge",
        "upstream, state",
        "Connections to each upstream: busy with a request, or idle until the next",
    ),
    metric(
        "ratekeeper_upstream_healthy",
        "gauge",
        "upstream",
        "1 while an upstream gets requests; 0 while it is ejected",
    ),
    metric(
        "ratekeeper_upstream_failures_total",
        "counter",
        "upstream, kind",
        "Requests that an upstream failed: connect, timeout, closed or bad",
    ),
    metric(
        "ratekeeper_upstream_retries_total",
        "counter",
        "upstream",
        "Requests that were sent on to another upstream, since this one could not be reached",
    ),
    metric(
        "ratekeeper_upstream_ejections_total",
        "counter",
        "upstream",
        "How often an upstream was taken out until it is well",
    ),
    metric("ratekeeper_build_info", "info", "version", "Which version runs"),
];
