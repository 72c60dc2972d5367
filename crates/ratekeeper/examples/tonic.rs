//! The layer in front of a gRPC server: refusals are statuses, `RESOURCE_EXHAUSTED`.
//!
//!     cargo run --example tonic --features tower
//!     grpcurl -plaintext 127.0.0.1:50051 grpc.health.v1.Health/Check
//!
//! The third call is refused. The status carries `RetryInfo` and `QuotaFailure`, as clients of gRPC
//! know them.

use ratekeeper::layer::RateLimitLayer;
use ratekeeper::{Limiter, RuleError};
use std::error::Error;
use tonic::transport::server::{Server, TcpConnectInfo};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (_reporter, health) = tonic_health::server::health_reporter();
    let server = Server::builder().layer(limits()?).add_service(health);
    Ok(server.serve("127.0.0.1:50051".parse()?).await?)
}

pub(crate) fn limits() -> Result<RateLimitLayer, RuleError> {
    let limiter = Limiter::memory().rule("calls", "2/minute")?.build();
    // tonic leaves the address of a connection in a place of its own.
    Ok(RateLimitLayer::new(limiter).by_ip().peer(|request| {
        let connection = request.extensions().get::<TcpConnectInfo>()?;
        Some(connection.remote_addr()?.ip())
    }))
}
