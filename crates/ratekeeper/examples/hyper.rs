//! The layer in front of a bare hyper server, without any framework.
//!
//!     cargo run --example hyper --features tower
//!     for i in 1 2 3; do curl -i http://127.0.0.1:3000/; done
//!
//! hyper does not say who is at the other end of a connection. Whoever accepts it knows, and leaves
//! the address with each request as a `Peer`.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ratekeeper::Limiter;
use ratekeeper::layer::{Peer, RateLimitLayer};
use std::convert::Infallible;
use std::error::Error;
use tokio::net::TcpListener;
use tower::{Layer, ServiceExt, service_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    serve(TcpListener::bind("127.0.0.1:3000").await?, limits()?).await
}

pub(crate) fn limits() -> Result<RateLimitLayer, Box<dyn Error>> {
    let limiter = Limiter::memory().rule("hello", "2/minute")?.build();
    Ok(RateLimitLayer::new(limiter).by_ip())
}

pub(crate) async fn serve(
    listener: TcpListener,
    limits: RateLimitLayer,
) -> Result<(), Box<dyn Error>> {
    let limited = limits.layer(service_fn(hello));
    loop {
        let (stream, peer) = listener.accept().await?;
        let service = limited.clone().map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer.ip()));
            request
        });
        tokio::spawn(
            http1::Builder::new()
                .timer(TokioTimer::new()) // a caller that sends no header field for 30 s is cut off
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)),
        );
    }
}

async fn hello(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from("Hello!\n")))
}
