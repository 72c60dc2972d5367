//! Logins: five wrong passwords in a quarter of an hour, and as many right ones as you like.
//!
//!     cargo run --example login --features axum,yaml
//!     curl -i -d guess http://127.0.0.1:3000/login
//!
//! A login is charged before it is tried, so that a thousand guesses at once do not slip through
//! together. If it was not answered with 401 or 403, it is given back.

use axum::http::StatusCode;
use axum::{Router, routing::post};
use ratekeeper::{Limiter, layer::RateLimitLayer};
use std::{error::Error, net::SocketAddr};
use tokio::net::TcpListener;

const RULES: &str = "
rules:
  - id: login
    match: {methods: [POST], path: /login}
    key: ip
    limit: 5/15m
    algorithm: sliding_window_log   # never more than five in any quarter of an hour
    count: failures
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    let app = app()?.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, app).await?)
}

pub(crate) fn app() -> Result<Router, Box<dyn Error>> {
    let limits = RateLimitLayer::new(Limiter::from_yaml(RULES)?);
    Ok(Router::new().route("/login", post(login)).layer(limits))
}

async fn login(password: String) -> (StatusCode, &'static str) {
    match password.as_str() {
        "correct horse" => (StatusCode::OK, "Welcome.\n"),
        _ => (StatusCode::UNAUTHORIZED, "Wrong.\n"),
    }
}
