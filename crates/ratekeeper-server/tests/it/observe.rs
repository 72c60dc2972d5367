//! What a server says of itself: counts, readiness, live figures.

use crate::server::Server;
use crate::wire::{Reply, check, connect, request, send};
use axum::body::Body;
use http_body_util::BodyExt;
use ratekeeper::{Limiter, OnStoreFailure};
use ratekeeper_server::app::{App, Parts};
use ratekeeper_server::door::Doors;
use ratekeeper_server::life::Phase;
use ratekeeper_server::observe::{LISTENERS_MAX, Observe};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

fn get(address: SocketAddr, path: &str) -> Reply {
    send(address, &request(&format!("GET {path}"), "", ""))
}

/// The sample with exactly this name and these labels.
fn sample(metrics: &str, name: &str) -> Option<f64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok())
}

fn ask(server: &Server, rule: &str, key: &str, times: usize) {
    for _ in 0..times {
        let body = format!(r#"{{"rule":"{rule}","key":"{key}"}}"#);
        assert_eq!(check(server.address, &body).status, 200);
    }
}

/// Goal: every decision is counted once, under its rule, outcome, source and door; a peek is not; and each
/// has a time.
/// Method: twelve checks of a rule that admits ten, a peek, a reservation; read the counts.
#[test]
fn decisions_are_counted_once_each() {
    let server = Server::start();
    ask(&server, "token-bucket", "alice", 12);
    check(server.address, r#"{"rule":"token-bucket","key":"alice","cost":0}"#);
    let held = crate::wire::post(
        server.address,
        "/v1/reserve",
        r#"{"rule":"fixed-window","key":"alice","cost":3}"#,
    );
    assert_eq!(held.status, 200);
    let reply = get(server.address, "/metrics");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(reply.field("content-type"), Some(kind));
    let count = |rule: &str, outcome: &str| {
        let labels =
            format!("rule=\"{rule}\",outcome=\"{outcome}\",source=\"store\",door=\"check\"");
        sample(&reply.body, &format!("ratekeeper_decisions_total{{{labels}}}"))
    };
    assert_eq!(count("token-bucket", "allowed"), Some(10.0));
    assert_eq!(count("token-bucket", "refused"), Some(2.0));
    assert_eq!(count("fixed-window", "allowed"), Some(1.0));
    let near = "ratekeeper_near_limit_total{rule=\"token-bucket\"}";
    assert_eq!(sample(&reply.body, near), Some(2.0));
    assert_eq!(sample(&reply.body, "ratekeeper_decision_seconds_count"), Some(13.0));
    let all = "ratekeeper_decision_seconds_bucket{le=\"+Inf\"}";
    assert_eq!(sample(&reply.body, all), Some(13.0));
    assert_eq!(sample(&reply.body, "ratekeeper_keys"), Some(2.0));
    assert_eq!(sample(&reply.body, "ratekeeper_release"), Some(1.0));
    assert_eq!(sample(&reply.body, "ratekeeper_degraded"), Some(0.0));
    let version = format!("ratekeeper_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(sample(&reply.body, &version), Some(1.0));
}

/// Goal: rules that close a route, and rules in shadow, are counted as what they are.
/// Method: one rule of each; ask, and read the counts.
#[test]
fn closed_rules_and_rules_in_shadow_are_counted() {
    let server = Server::by(
        "rules:\n\
         - {id: closed, match: {path: /closed}, key: ip, deny: true}\n\
         - {id: shadow, match: {path: /open}, key: ip, limit: 1/minute, rollout: shadow}\n",
    );
    let body = |path: &str, cost: u64| {
        format!(
            r#"{{"request":{{"method":"GET","path":"{path}","ip":"192.0.2.1"}},"cost":{cost}}}"#
        )
    };
    for (path, cost) in [("/closed", 1), ("/closed", 0), ("/open", 1), ("/open", 1), ("/open", 1)] {
        assert_eq!(check(server.address, &body(path, cost)).status, 200);
    }
    let metrics = get(server.address, "/metrics").body;
    let labels = "rule=\"closed\",outcome=\"refused\",source=\"store\",door=\"check\"";
    assert_eq!(sample(&metrics, &format!("ratekeeper_decisions_total{{{labels}}}")), Some(1.0));
    let shadow = "ratekeeper_shadow_refused_total{rule=\"shadow\"}";
    assert_eq!(sample(&metrics, shadow), Some(2.0));
    assert!(!metrics.contains("rule=\"shadow\",outcome"), "a rule in shadow decides nothing");
}

/// Goal: no key and no caller shows in the metrics.
/// Method: ask for a key that can be told from all else, and look for it.
#[test]
fn keys_do_not_show_in_metrics() {
    let server = Server::start();
    ask(&server, "token-bucket", "mallory@example.org", 12);
    let metrics = get(server.address, "/metrics").body;
    assert!(!metrics.contains("mallory"), "{metrics}");
}

/// A server in this process, asked without a connection.
async fn ask_router(app: App, path: &str) -> (u16, String) {
    let request = axum::http::Request::get(path).body(Body::empty()).expect("a path");
    let answer = Doors::all(app).answer(request, None).await;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    (status, String::from_utf8(body.to_vec()).expect("text"))
}

/// A limiter whose store is not there, and whose rule does this then.
fn away(policy: OnStoreFailure) -> App {
    // Nobody listens where somebody has just stopped listening.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("redis://{}", listener.local_addr().expect("it has an address"));
    drop(listener);
    let observe = Arc::<Observe>::default();
    let builder = Limiter::redis(url.parse().expect("a URL")).rule("api", "5/minute");
    let builder = builder.expect("a rule").on_store_failure("api", policy).expect("it is there");
    let limiter = builder.observer(observe.observer()).build();
    Parts { observe, ..Parts::new(limiter, Duration::from_secs(1)) }.into()
}

/// Goal: a server is ready if it can decide: with its store, or without it if no rule refuses then.
/// Method: memory; a store that is away, with each policy; and the metrics of such a server.
#[tokio::test]
async fn readiness_is_whether_it_can_decide() {
    let memory = Parts::new(
        Limiter::memory().rule("api", "5/minute").unwrap().build(),
        Duration::from_secs(1),
    );
    assert_eq!(ask_router(memory.into(), "/readyz").await, (200, "ready".into()));
    for policy in [OnStoreFailure::Allow, OnStoreFailure::Local] {
        let (status, body) = ask_router(away(policy), "/readyz").await;
        assert_eq!((status, body.starts_with("ready, degraded")), (200, true), "{body}");
    }
    let app = away(OnStoreFailure::Deny);
    let (status, body) = ask_router(app.clone(), "/readyz").await;
    assert_eq!(status, 503);
    assert!(body.contains("the store is away") && !body.contains("127.0.0.1"), "{body}");
    let (_, metrics) = ask_router(app, "/metrics").await;
    assert_eq!(sample(&metrics, "ratekeeper_degraded"), Some(1.0));
    let errors = sample(&metrics, "ratekeeper_store_errors_total{class=\"connection\"}");
    assert!(errors > Some(0.0), "{metrics}");
    assert!(!metrics.contains("ratekeeper_decisions_total"), "the canary is no decision");
    assert!(!metrics.contains("ratekeeper_store_memory_bytes"), "nobody has said");
}

/// Goal: who stops is not ready.
/// Method: begin to drain, and ask.
#[tokio::test]
async fn a_server_that_drains_is_not_ready() {
    let app = App::from(Parts::new(Limiter::memory().build(), Duration::from_secs(1)));
    app.life.go(Phase::Leaving);
    let (status, body) = ask_router(app.clone(), "/readyz").await;
    assert!(status == 503 && body.contains("about to stop"), "{body}");
    assert_eq!(ask_router(app, "/livez").await, (200, "ok".into()));
}

/// Goal: the rules and keys that ask most are told, with their text once they have stayed.
/// Method: keys with known counts; compare both lists, and ask for fewer rows.
#[test]
fn the_keys_that_ask_most_are_told() {
    let server = Server::start();
    ask(&server, "token-bucket", "alice", 15);
    ask(&server, "fixed-window", "alice", 3);
    ask(&server, "token-bucket", "once", 1);
    let top = get(server.address, "/v1/top").json();
    assert_eq!(top["rules"][0]["rule"], "token-bucket");
    assert_eq!((&top["rules"][0]["allowed"], &top["rules"][0]["refused"]), (&11.into(), &5.into()));
    let keys = top["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 3);
    let row = |at: usize| {
        let key = &keys[at];
        (key["rule"].as_str().unwrap(), key["count"].as_u64(), key["refused"].as_u64())
    };
    assert_eq!(row(0), ("token-bucket", Some(15), Some(5)));
    assert_eq!(row(1), ("fixed-window", Some(3), Some(0)));
    assert_eq!(row(2), ("token-bucket", Some(1), Some(0)));
    assert_eq!((&keys[0]["key"], &keys[1]["key"]), (&["alice"].into(), &["alice"].into()));
    assert!(keys[2]["key"].is_null(), "a key that was seen once is only a hash");
    let refused = top["refused"].as_array().unwrap();
    assert_eq!((refused.len(), &refused[0]["count"]), (1, &5.into()));
    let few = get(server.address, "/v1/top?limit=1").json();
    assert_eq!(few["keys"].as_array().map(Vec::len), Some(1));
}

/// Goal: what is asked for in a wrong way is told so.
/// Method: numbers beyond the bounds, words, other parameters, the same one twice.
#[test]
fn a_number_of_rows_that_makes_no_sense_is_refused() {
    let server = Server::start();
    for query in
        ["limit=0", "limit=1001", "limit=-1", "limit=%31", "limit=", "rows=3", "limit=1&limit=2"]
    {
        let reply = get(server.address, &format!("/v1/top?{query}"));
        let detail = reply.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert_eq!(reply.status, 400, "{query}");
        assert!(detail.contains("a whole number from 1 to 1000"), "{query}: {detail}");
    }
}

fn listen(server: &Server) -> (TcpStream, String) {
    let mut stream = connect(server.address);
    stream.write_all(request("GET /v1/stream", "", "").as_bytes()).expect("it is open");
    let text = read_until(&mut stream, "\r\n\r\n");
    (stream, text)
}

fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains(end) {
        let mut piece = [0; 1024];
        let count = stream.read(&mut piece).expect("it comes before the deadline");
        assert!(count > 0, "it ended after {:?}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&piece[..count]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Goal: a stream tells what has happened since the last event, has so many listeners at most, and ends with
/// the server.
/// Method: listen; decide; wait for the event that tells it; listen with too many; stop.
#[test]
fn a_stream_tells_figures_until_the_server_stops() {
    let mut server = Server::start();
    let (mut first, head) = listen(&server);
    assert!(head.contains("text/event-stream"), "{head}");
    ask(&server, "token-bucket", "alice", 12);
    let told = read_until(&mut first, "\"refused\":2,");
    assert!(told.contains("\"rule\":\"token-bucket\",\"allowed\":"), "{told}");
    let others: Vec<_> = (1..LISTENERS_MAX).map(|_| listen(&server)).collect();
    assert!(others.iter().all(|(_, head)| head.starts_with("HTTP/1.1 200")));
    let (_, refused) = listen(&server);
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    server.stop();
    let mut rest = Vec::new();
    first.read_to_end(&mut rest).expect("the stream ends");
    assert!(rest.ends_with(b"0\r\n\r\n"), "it ends in order");
}
