//! gRPC's own health service, as Envoy's health checks ask it.

use super::{RULES, Stand};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use ratekeeper_server::life::Phase;
use tokio::time::timeout;

const CHECK: &str = "/grpc.health.v1.Health/Check";

/// `HealthCheckResponse {status}`.
const SERVING: &[u8] = b"\x08\x01";
const NOT_SERVING: &[u8] = b"\x08\x02";

/// `HealthCheckRequest {service}`, with its prefix.
fn about(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        message = vec![0x0a, service.len() as u8];
        message.extend(service.as_bytes());
    }
    super::framed(&message)
}

/// Goal: it is asked by the name of the service, and by none; a name that there is not is told; a server that
/// is about to stop says so.
/// Method: each name, and a server that is on its way to its end.
#[tokio::test]
async fn health_is_what_the_server_is() {
    let stand = Stand::by(RULES).await;
    let mut client = stand.client().await;
    for service in ["", "envoy.service.ratelimit.v3.RateLimitService"] {
        assert_eq!(client.call(CHECK, &about(service), &[]).await.as_deref(), Ok(SERVING));
    }
    let (status, _) = client.call(CHECK, &about("other"), &[]).await.expect_err("no such service");
    assert_eq!(status, "5");
    stand.app.life.go(Phase::Leaving);
    assert_eq!(client.call(CHECK, &about(""), &[]).await.as_deref(), Ok(NOT_SERVING));
}

/// Goal: who watches is told of the state, of a change, and of the end; the server does not wait for it.
/// Method: one stream, while the server goes from phase to phase.
#[tokio::test]
async fn watchers_are_told_of_changes_and_of_the_end() {
    let stand = Stand::by(RULES).await;
    let mut client = stand.client().await;
    let request = Request::post("http://ratekeeper/grpc.health.v1.Health/Watch")
        .header("content-type", "application/grpc")
        .body(Full::new(Bytes::from(about(""))))
        .expect("a request");
    let mut body = client.send.send_request(request).await.expect("an answer").into_body();
    let mut next = async || {
        let frame = timeout(crate::wire::DEADLINE, body.frame()).await.expect("in time");
        frame.map(|frame| frame.expect("a frame").into_data().map(|data| data[5..].to_vec()))
    };
    assert_eq!(next().await.expect("a state").ok().as_deref(), Some(SERVING));
    stand.app.life.go(Phase::Leaving);
    assert_eq!(next().await.expect("a change").ok().as_deref(), Some(NOT_SERVING));
    stand.app.life.go(Phase::Stopping);
    let last = next().await.expect("trailers");
    assert_eq!(
        last.expect_err("no message").into_trailers().expect("trailers")["grpc-status"],
        "0"
    );
}
