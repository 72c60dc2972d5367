//! axum, rate limited by address in ten lines.
//!
//!     cargo run --example axum --features axum
//!     for i in 1 2 3 4; do curl -i http://127.0.0.1:3000/; done
//!
//! The fourth call is answered with 429, says when to come back, and never reaches the handler.

use axum::{Router, routing::get};
use ratekeeper::{Limiter, layer::RateLimitLayer};
use std::{error::Error, net::SocketAddr};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    // The address of each caller comes with its connection.
    let app = app()?.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, app).await?)
}

pub(crate) fn app() -> Result<Router, Box<dyn Error>> {
    let limiter = Limiter::memory().rule("hello", "3/minute")?.build();
    let hello = get(|| async { "Hello!\n" });
    Ok(Router::new().route("/", hello).layer(RateLimitLayer::new(limiter).by_ip()))
}
