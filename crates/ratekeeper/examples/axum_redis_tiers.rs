//! axum with tiers, counted by all servers together through Redis.
//!
//!     REDIS_URL=redis://127.0.0.1:6379/0 cargo run --example axum_redis_tiers --features axum,redis,yaml
//!     curl -i -H 'Authorization: Bearer pro-key' http://127.0.0.1:3000/
//!
//! Stop Redis, and call again: reading goes on, each server with its share of the limit, and orders,
//! which must not go uncounted, are answered with 503 until it is back.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, header::AUTHORIZATION};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use ratekeeper::layer::{RateLimitLayer, Seen};
use ratekeeper::rule::file::RuleFile;
use ratekeeper::{Limiter, RedisConfig};
use std::{error::Error, net::SocketAddr};
use tokio::net::TcpListener;

const RULES: &str = "
tiers: [free, pro]          # who has no tier, has the first
rules:
  - id: read
    match: {methods: [GET]}
    key: {first: [user, ip]}
    limit: {free: 2/minute, pro: 100/minute burst 20}
    on_store_failure: local # each server admits its share
  - id: order
    match: {methods: [POST], path: /orders}
    key: user
    limit: 10/minute
    on_store_failure: deny
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379/0".into());
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    let app = app(&url)?.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, app).await?)
}

pub(crate) fn app(url: &str) -> Result<Router, Box<dyn Error>> {
    let rules = RuleFile::parse(RULES)?.rules;
    let limiter = Limiter::redis(RedisConfig::new(url)?).rules(rules).build();
    let account = |request: &Seen<'_>| request.extensions().get::<Account>().copied();
    let limits = RateLimitLayer::new(limiter)
        .user(move |request| Some(account(request)?.name.into()))
        .tier(move |request| Some(account(request)?.tier.into()));
    Ok(Router::new()
        .route("/", get(|| async { "Read.\n" }))
        .route("/orders", post(|| async { "Ordered.\n" }))
        .layer(limits)
        .layer(middleware::from_fn(authenticate))) // the last layer is the first that a call meets
}

/// Who calls, as the application knows it.
#[derive(Clone, Copy)]
struct Account {
    name: &'static str,
    tier: &'static str,
}

/// Stands in for your own authentication.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let account = match request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes) {
        Some(b"Bearer pro-key") => Some(Account { name: "acme", tier: "pro" }),
        Some(b"Bearer free-key") => Some(Account { name: "alice", tier: "free" }),
        _ => None,
    };
    if let Some(account) = account {
        request.extensions_mut().insert(account);
    }
    next.run(request).await
}
