//! One law: a gateway is told what `POST /v1/check` says of the same request.

use crate::server::Server;
use crate::wire::{check, request, send};
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

const RULES: &str = "
identity: {trusted_proxies: [127.0.0.1]}
exempt: [{path: /healthz}]
rules:
  - {id: api, match: {path: '/api/**', except: [/api/free]}, key: ip, limit: [3/minute, 7/hour]}
  - {id: login, match: {methods: [POST], path: /login}, key: ip, limit: 2/10s, algorithm: sliding_window_log}
  - {id: org, key: 'header:X-Org', on_missing: skip, limit: 4/minute, algorithm: fixed_window}
  - {id: shop, match: {host: '*.shop.example'}, key: [ip, path], limit: 2/second, algorithm: leaky_bucket}
  - {id: trial, match: {path: '/api/*'}, key: global, limit: 1/minute, rollout: shadow}
  - {id: closed, match: {path: /closed}, key: ip, deny: true}
";

/// One request, on whose three paths a gateway may ask.
#[derive(Clone, Debug)]
struct Asked {
    door: usize,
    method: &'static str,
    path: &'static str,
    host: &'static str,
    client: u8,
    forged: bool,
    org: Option<&'static str>,
    wait: u64,
}

fn asked() -> impl Strategy<Value = Asked> {
    let paths = [
        "/api/a",
        "/API/a/",
        "/api/free",
        "/login",
        "/healthz",
        "/closed",
        "/",
        "/api/%2f",
        "/x//y?q=1",
    ];
    (
        0..4_usize,
        prop::sample::select(vec!["GET", "POST", "post", "QUERY"]),
        prop::sample::select(paths.to_vec()),
        prop::sample::select(vec!["a.shop.example", "api.example", "A.SHOP.EXAMPLE:443"]),
        1..3_u8,
        any::<bool>(),
        prop::option::of(prop::sample::select(vec!["acme", "other"])),
        prop::sample::select(vec![0, 0, 0, 400_000, 20_000_000]),
    )
        .prop_map(|(door, method, path, host, client, forged, org, wait)| Asked {
            door,
            method,
            path,
            host,
            client,
            forged,
            org,
            wait,
        })
}

impl Asked {
    fn list(&self) -> String {
        let forged = if self.forged { "6.6.6.6, " } else { "" };
        format!("{forged}192.0.2.{}", self.client)
    }

    /// What a gateway is told: whether it passes, the figures, and the refusal's problem.
    fn through_a_gateway(&self, server: &Server) -> (u16, Option<String>, bool) {
        let Asked { method, path, host, .. } = self;
        let org = self.org.map(|org| format!("X-Org: {org}\r\n")).unwrap_or_default();
        let own = format!("X-Forwarded-For: {}\r\n{org}", self.list());
        let family = |name: &str, target: &str| {
            format!(
                "{own}X-{name}-Method: {method}\r\nX-{name}-{target}: {path}\r\nX-{name}-Host: {host}\r\n"
            )
        };
        let (line, fields) = match self.door {
            0 => ("GET /v1/authorize".to_owned(), family("Forwarded", "Uri")),
            1 => ("GET /v1/authorize?x".to_owned(), family("Original", "URI")),
            2 => ("GET /v1/authorize/nginx".to_owned(), family("Original", "URI")),
            _ => (format!("{method} /v1/authorize/envoy{path}"), own.clone()),
        };
        let bytes =
            request(&line, &fields, "").replace("Host: localhost", &format!("Host: {host}"));
        let reply = send(server.address, &bytes);
        let told = reply.field("x-ratelimit-status").and_then(|status| status.parse().ok());
        assert!(self.door == 2 || told.is_none());
        (
            told.unwrap_or(reply.status),
            reply.field("x-ratelimit-remaining").map(str::to_owned),
            reply.status == 200,
        )
    }

    /// The same from the check API.
    fn by_the_check(&self, server: &Server) -> (u16, Option<String>, bool) {
        let mut headers = json!({"X-Forwarded-For": self.list()});
        if let Some(org) = self.org {
            headers["X-Org"] = org.into();
        }
        let asked = json!({"request": {"method": self.method, "path": self.path, "host": self.host,
            "ip": "127.0.0.1", "headers": headers}});
        let reply = check(server.address, &asked.to_string());
        if reply.status != 200 {
            return (reply.status, None, false);
        }
        let json = reply.json();
        let allowed = json["allowed"] == true;
        let closed = json["limit"] == 0 && json["never"] == true;
        let status = if allowed {
            200
        } else if closed {
            403
        } else {
            429
        };
        let enforced = json["results"]
            .as_array()
            .is_some_and(|all| all.iter().any(|own| own["shadow"] == false));
        let figures = enforced && !closed;
        (status, figures.then(|| json["remaining"].to_string()), allowed)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Goal: every door gives the same answers.
    /// Method: any sequence of requests and pauses, to two servers with the same rules and the same time;
    /// one is asked by gateways of every kind, the other by the check API.
    #[test]
    fn a_gateway_is_told_what_the_check_says(sequence in prop::collection::vec(asked(), 1..40)) {
        let (one, other) = (Server::by(RULES), Server::by(RULES));
        for asked in sequence {
            for server in [&one, &other] {
                server.clock.advance(Duration::from_micros(asked.wait));
            }
            prop_assert_eq!(asked.through_a_gateway(&one), asked.by_the_check(&other), "{:?}", asked);
        }
    }
}
