//! Two questions at once: does this server bear it, and is it fair to the others?
//!
//!     cargo run --example two_scopes --features axum,yaml
//!     curl -i -H 'X-User: alice' http://127.0.0.1:3000/
//!
//! `server` protects the process: every instance of a fleet counts for itself, whatever others do, and
//! it is asked first. `fair` is each user's own: with `store: redis://…` above the rules, the whole
//! fleet counts it together. A call passes if both say so, and one that is refused by either is
//! charged to none.

use axum::{Router, routing::get};
use ratekeeper::{Limiter, layer::RateLimitLayer};
use std::{error::Error, net::SocketAddr};
use tokio::net::TcpListener;

const RULES: &str = "
rules:
  - {id: server, key: global, scope: instance, limit: 5/minute}
  - {id: fair, key: {first: [user, ip]}, limit: 2/minute}
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    let app = app()?.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, app).await?)
}

pub(crate) fn app() -> Result<Router, Box<dyn Error>> {
    // Your own authentication says who the user is; here whoever calls may say so.
    let limits = RateLimitLayer::new(Limiter::from_yaml(RULES)?)
        .user(|request| Some(request.headers().get("x-user")?.to_str().ok()?.to_owned()));
    Ok(Router::new().route("/", get(|| async { "Served.\n" })).layer(limits))
}
