//! What the gateway counts: requests of each route, and how its upstreams are.

use super::message::Wire;
use super::site::{Site, get, head, of_upstream, post};
use super::upstream::{After, Upstream, nobody};
use crate::operations::{families, listed};
use crate::program::poll;

/// Goal: every request is counted once, under its route and the kind of its answer; the time of upstreams
/// for those that they answered.
/// Method: answers of all kinds, refusals, a path without a route; read the counts.
#[test]
fn requests_are_counted_by_route_and_answer() {
    let upstream = Upstream::telling(|request| {
        let code = request.start.split(['/', ' ']).nth(3).unwrap_or("200");
        format!("HTTP/1.1 {code} As asked\r\nContent-Length: 0\r\n\r\n")
    });
    let url = upstream.url();
    let text = format!(
        "{}  routes:\n    - {{path: \"/api/*\", upstream: \"{url}\"}}\n    \
         - {{path: \"/gone/**\", upstream: \"http://{}\"}}\n\
         rules: [{{id: api, match: {{path: \"/api/**\"}}, key: ip, limit: 8/day}}]\n",
        head(""),
        nobody()
    );
    let site = Site::of(&[], &text);
    for code in [200, 201, 204, 302, 404, 404, 500, 503] {
        assert_eq!(site.get(&format!("/api/{code}")).status(), code);
    }
    assert_eq!((site.get("/api/200").status(), site.get("/api/200").status()), (429, 429));
    assert!([502, 503].contains(&site.get("/gone/x").status()));
    assert_eq!(site.get("/nowhere").status(), 404);
    let count = |route: &str, code: &str| {
        site.metric(&format!(
            "ratekeeper_gateway_requests_total{{route=\"{route}\",code=\"{code}\"}}"
        ))
    };
    let counts = ["2xx", "3xx", "4xx", "5xx"].map(|code| count("/api/*", code));
    assert_eq!(counts, [Some(3.0), Some(1.0), Some(4.0), Some(2.0)], "two of 4xx were refused");
    assert_eq!(count("/gone/**", "5xx"), Some(1.0));
    let seconds = "ratekeeper_upstream_seconds_count{route=\"/api/*\"}";
    assert_eq!(site.metric(seconds), Some(8.0));
    let all = "ratekeeper_upstream_seconds_bucket{le=\"+Inf\",route=\"/api/*\"}";
    let other = "ratekeeper_upstream_seconds_bucket{route=\"/api/*\",le=\"+Inf\"}";
    assert_eq!(site.metric(all).or(site.metric(other)), Some(8.0));
    assert_eq!(site.decided("api", "allowed"), 8);
    assert_eq!(site.decided("api", "refused"), 2);
}

/// Goal: how upstreams are is told: requests under way, connections, health, failures.
/// Method: hold a request, let it end; an upstream that ends without an answer; one that is not there.
#[test]
fn upstreams_are_counted_as_they_are() {
    let upstream = Upstream::acting(|request, wire| {
        if request.start.contains("/end") {
            return After::Close;
        }
        if request.start.contains("/bad") {
            wire.send("nonsense\r\n\r\n");
            return After::Close;
        }
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
        if request.start.contains("/hold") {
            let _ = wire.ends();
            return After::Close;
        }
        wire.send("done");
        After::Keep
    });
    let missing = nobody();
    let text = format!(
        "{}  routes:\n    - {{path: /gone, upstream: \"http://{missing}\"}}\n    \
         - {{path: \"/**\", upstream: \"{}\"}}\nrules: {}\n",
        head(""),
        upstream.url(),
        super::site::MANY
    );
    let site = Site::of(&[], &text);
    let of = |name: &str, more: &str| site.metric(&of_upstream(name, &upstream, more));
    assert_eq!((of("in_flight", ""), of("healthy", "")), (Some(0.0), Some(1.0)));
    let mut wire = Wire::open(site.address);
    wire.send(get("/hold", ""));
    assert_eq!(wire.head().expect("the head comes").status(), 200);
    assert_eq!(of("in_flight", ""), Some(1.0));
    assert_eq!(of("connections", ",state=\"busy\""), Some(1.0));
    drop(wire);
    site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    assert_eq!(site.get("/plain").text(), "done");
    site.becomes(&of_upstream("connections", &upstream, ",state=\"idle\""), 1.0);
    site.becomes(&of_upstream("connections", &upstream, ",state=\"busy\""), 0.0);
    assert_eq!(site.ask(&post("/end", "", "x")).status(), 502);
    assert_eq!(of("failures_total", ",kind=\"closed\""), Some(1.0));
    assert_eq!(site.ask(&post("/bad", "", "x")).status(), 502);
    assert_eq!(of("failures_total", ",kind=\"bad\""), Some(1.0));
    assert!(site.get("/gone").status() >= 502);
    let refused = format!(
        "ratekeeper_upstream_failures_total{{upstream=\"http://{missing}\",kind=\"connect\"}}"
    );
    let counted = poll(|| site.metric(&refused).filter(|count| *count >= 1.0));
    assert!(counted.is_some(), "{}", site.api("/metrics").body);
    let ill = format!("ratekeeper_upstream_healthy{{upstream=\"http://{missing}\"}}");
    site.becomes(&ill, 0.0);
}

/// Goal: no client, path or query shows in the metrics; they are those of the list, and no others.
/// Method: requests with words that can be told from all else; the names of the families.
#[test]
fn nothing_of_clients_shows_in_metrics() {
    let upstream = Upstream::saying(super::upstream::OK);
    let site = Site::before(&[&upstream], super::site::MANY);
    let fields = "X-Api-Key: mallory-key\r\nAuthorization: Bearer mallory-token\r\n";
    for path in ["/mallory-path?mallory-query", "/mallory-other"] {
        assert_eq!(site.ask(&get(path, fields)).status(), 200);
    }
    let metrics = site.api("/metrics").body;
    assert!(!metrics.contains("mallory"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"));
    assert_eq!(families(&metrics), listed(true), "every metric of the list, and no other");
}
