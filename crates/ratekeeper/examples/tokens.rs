//! A monthly budget of tokens for a language model: charged by estimate, settled by what was used.
//!
//!     cargo run --example tokens --features axum,yaml
//!     curl -i -H 'X-Tokens: 1000' -d 'Why is the sky blue?' http://127.0.0.1:3000/complete
//!
//! The estimate is charged at once, so that calls that run at the same time cannot spend the budget
//! twice. When the answer is there, its field says what was used, and the rest is given back.

use axum::response::{AppendHeaders, IntoResponse};
use axum::{Router, routing::post};
use ratekeeper::{Limiter, layer::RateLimitLayer};
use std::{error::Error, net::SocketAddr};
use tokio::net::TcpListener;

const RULES: &str = "
rules:
  - id: tokens
    match: {methods: [POST], path: /complete}
    key: {first: [user, ip]}
    limit: 10000/month
    cost: {header: X-Tokens, default: 2000, max: 4000}  # nobody reserves more than this at once
    settle: {response_header: X-Tokens-Used}
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    let app = app()?.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, app).await?)
}

pub(crate) fn app() -> Result<Router, Box<dyn Error>> {
    let limits = RateLimitLayer::new(Limiter::from_yaml(RULES)?);
    Ok(Router::new().route("/complete", post(complete)).layer(limits))
}

/// Stands in for the model: each word of the prompt is a token, and ten more are the answer.
async fn complete(prompt: String) -> impl IntoResponse {
    let used = prompt.split_whitespace().count() + 10;
    (AppendHeaders([("X-Tokens-Used", used.to_string())]), "Because of Rayleigh scattering.\n")
}
