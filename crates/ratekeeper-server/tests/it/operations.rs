//! What ships for operators: alerts, the dashboard, the page about metrics. Each is held against what a
//! server really says.

use crate::server::Server;
use crate::wire::{check, request, send};
use ratekeeper_server::observe::METRICS;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The alerts of the contract.
const ALERTS: [&str; 9] = [
    "Degraded",
    "BreakerOpen",
    "DecisionP99",
    "ReleaseSkew",
    "ReloadFailed",
    "KeysNearCap",
    "RedisEvicting",
    "RefusalSpike",
    "SwitchActive",
];

/// What only a shared store tells.
const OF_SHARED_STORES: [&str; 2] =
    ["ratekeeper_store_memory_bytes", "ratekeeper_store_evicted_keys"];

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(path).expect("the file is there")
}

/// The names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let begins = text.match_indices("ratekeeper_").map(|(at, _)| &text[at..]);
    let ends = |c: char| !(c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
    begins.map(|rest| rest[..rest.find(ends).unwrap_or(rest.len())].to_owned()).collect()
}

/// The names of the samples and families of a server that has decided something.
fn served() -> (String, BTreeSet<String>) {
    let server = Server::start();
    for _ in 0..12 {
        check(server.address, r#"{"rule":"token-bucket","key":"alice"}"#);
    }
    let reply = send(server.address, &request("GET /metrics", "", ""));
    assert_eq!(reply.status, 200);
    let names = named(&reply.body);
    (reply.body, names)
}

/// Whether only a server with a gateway says it.
fn is_of_gateways(name: &str) -> bool {
    name.starts_with("ratekeeper_gateway_") || name.starts_with("ratekeeper_upstream_")
}

/// The families of a page of metrics.
pub(crate) fn families(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect()
}

/// The families that a server without a shared store has, with a gateway or without.
pub(crate) fn listed(has_gateway: bool) -> BTreeSet<&'static str> {
    let own = METRICS.iter().filter(|metric| !OF_SHARED_STORES.contains(&metric.name));
    let own = own.filter(|metric| has_gateway || !is_of_gateways(metric.name));
    own.map(|metric| match metric.kind {
        "counter" => metric.name.trim_end_matches("_total"),
        "info" => metric.name.trim_end_matches("_info"),
        _ => metric.name,
    })
    .collect()
}

/// Goal: the page is one that Prometheus reads, and has every metric of the list, and none beside.
/// Method: ask a server that has decided; look at its type, its end, and the names of its families.
#[test]
fn every_metric_of_the_list_is_served_and_no_other() {
    let (text, _) = served();
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert_eq!(families(&text), listed(false));
    for metric in METRICS.iter().filter(|metric| metric.kind == "counter") {
        assert!(metric.name.ends_with("_total"), "{}", metric.name);
    }
}

fn exists(name: &str, served: &BTreeSet<String>) -> bool {
    // What gateways say is held against one in their own tests.
    let of_gateways = METRICS.iter().filter(|metric| is_of_gateways(metric.name));
    let mut others = OF_SHARED_STORES.into_iter().chain(of_gateways.map(|metric| metric.name));
    served.contains(name) || others.any(|other| other == name.trim_end_matches("_bucket"))
}

/// Goal: the alerts of the contract ship, and ask for metrics that there are.
/// Method: read names and expressions of the file; compare with the list, and with what a server says.
#[test]
fn every_alert_ships_and_asks_for_what_there_is() {
    let text = file("packaging/prometheus/alerts.yaml");
    let alerts: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert_eq!(alerts, ALERTS);
    let (_, served) = served();
    for alert in text.split("- alert: ").skip(1) {
        let expression = alert.split("expr:").nth(1).and_then(|rest| rest.split("labels:").next());
        let names = named(expression.expect("an alert has an expression"));
        assert!(!names.is_empty(), "{alert}");
        for name in names {
            assert!(exists(&name, &served), "no server says {name}:\n{alert}");
        }
        assert!(alert.contains("summary:") && alert.contains("description:"), "{alert}");
    }
}

/// Goal: the dashboard shows every metric, and none that there is not.
/// Method: read the expressions of its panels; compare with what a server says, and with the list.
#[test]
fn the_dashboard_shows_every_metric_and_no_other() {
    let board: Value = serde_json::from_str(&file("packaging/grafana/ratekeeper.json")).unwrap();
    let panels = board["panels"].as_array().expect("there are panels");
    let targets =
        panels.iter().flat_map(|panel| panel["targets"].as_array().expect("with targets"));
    let expressions: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    let shown = named(&expressions.join("\n"));
    let (_, served) = served();
    for name in &shown {
        assert!(exists(name, &served), "no server says {name}");
    }
    for metric in METRICS {
        let is_shown = |name: &String| name.trim_end_matches("_bucket") == metric.name;
        assert!(shown.iter().any(is_shown), "the dashboard does not show {}", metric.name);
    }
}

/// Goal: the page tells of every metric what the server says of it, and of no other.
/// Method: each metric has one row with its name, type, labels and meaning, word for word.
#[test]
fn the_page_tells_of_every_metric() {
    let page = file("docs/observability.md");
    for metric in METRICS {
        let labels = match metric.labels {
            "" => "–".to_owned(),
            labels => {
                labels.split(", ").map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ")
            }
        };
        let row = format!("| `{}` | {} | {labels} | {} |", metric.name, metric.kind, metric.help);
        assert!(page.lines().any(|line| line == row), "docs/observability.md lacks the row\n{row}");
    }
    let known = |name: &String| {
        METRICS.iter().any(|metric| name.trim_end_matches("_bucket") == metric.name)
    };
    let unknown: Vec<String> = named(&page).into_iter().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for alert in ALERTS {
        assert!(page.contains(&format!("| `{alert}` |")), "docs/observability.md lacks `{alert}`");
    }
}
