//! Forward-auth on the wire: what gateways send, what they are told, and who may ask.

mod fields;
mod held;
mod law;
mod outage;
mod page;
mod paths;
mod permits;
mod peers;

use crate::server::Server;
use crate::wire::{Reply, request, send};

/// Rules for whom `127.0.0.1`, where the tests are, is a gateway.
const RULES: &str = "
identity: {trusted_proxies: [127.0.0.1]}
rules:
  - {id: api, match: {path: '/api/**'}, key: ip, limit: 2/minute}
  - {id: login, match: {methods: [POST], path: /login}, key: ip, limit: 1/minute}
  - {id: shop, match: {host: shop.example}, key: ip, limit: 1/minute}
  - {id: tokens, match: {path: /tokens}, key: 'header:X-Org', limit: 10/minute, cost: {header: X-Cost, max: 9}}
  - {id: closed, match: {path: /closed}, key: ip, deny: true}
";

/// What a gateway that is set up well says of a GET.
fn forwarded(target: &str, client: &str) -> String {
    format!(
        "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: {target}\r\n\
         X-Forwarded-Host: api.example\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: {client}\r\n"
    )
}

/// Asks with these lines of header fields.
fn ask(server: &Server, line: &str, fields: &str) -> Reply {
    send(server.address, &request(line, fields, ""))
}

/// Asks as Caddy does.
fn get(server: &Server, target: &str, client: &str) -> Reply {
    ask(server, "GET /v1/authorize", &forwarded(target, client))
}

/// What a problem says.
fn detail(reply: &Reply) -> String {
    assert_eq!(reply.field("content-type"), Some("application/problem+json"), "{reply:?}");
    reply.json()["detail"].as_str().expect("a problem has a detail").to_owned()
}
