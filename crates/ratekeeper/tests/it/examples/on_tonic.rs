//! The example in front of a gRPC server.

use super::tonic_example;
use tonic::body::Body;
use tonic::codegen::http::{HeaderMap, Request};
use tonic::service::Routes;
use tonic::transport::server::TcpConnectInfo;
use tonic::{Code, Status};
use tower::{Layer, ServiceExt};

/// A call of the health service for the server as a whole: an empty message in its frame.
fn call(from: [u8; 4]) -> Request<Body> {
    let frame = http_body_util::Full::new(vec![0; 5].into());
    let mut request = Request::new(Body::new(frame));
    *request.method_mut() = "POST".parse().unwrap();
    *request.uri_mut() = "http://a/grpc.health.v1.Health/Check".parse().unwrap();
    request.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    let remote_addr = Some((from, 50_000).into());
    request.extensions_mut().insert(TcpConnectInfo { local_addr: None, remote_addr });
    request
}

/// The status that tonic's clients find in the fields of an answer.
fn status(headers: &HeaderMap) -> Option<Status> {
    Status::from_header_map(headers)
}

/// Goal: a refusal is a status of gRPC, for the address that used up its calls and for no other.
/// Method: the layer before the health service; tonic itself reads the status.
#[tokio::test]
async fn a_refused_call_of_grpc_has_a_status_that_clients_know() {
    let (_reporter, health) = tonic_health::server::health_reporter();
    let server = tonic_example::limits().unwrap().layer(Routes::new(health));
    for _ in 0..2 {
        let answer = server.clone().oneshot(call([192, 0, 2, 1])).await.unwrap();
        assert!(status(answer.headers()).is_none(), "{answer:?}");
        assert_eq!(answer.headers()["x-ratelimit-limit"], "2");
    }
    let refused = server.clone().oneshot(call([192, 0, 2, 1])).await.unwrap();
    let told = status(refused.headers()).expect("a refusal has a status");
    assert_eq!((refused.status().as_u16(), told.code()), (200, Code::ResourceExhausted));
    assert!(told.message().starts_with(r#"quota of policy "calls" exceeded"#), "{told}");
    let details = String::from_utf8_lossy(told.details()).into_owned();
    assert!(details.contains("google.rpc.RetryInfo"), "{details}");
    let other = server.clone().oneshot(call([192, 0, 2, 2])).await.unwrap();
    assert!(status(other.headers()).is_none(), "{other:?}");
}
