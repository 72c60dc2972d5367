//! Envoy's rate limit service at the wire, asked with Envoy's own messages (`envoy-types`), not ours.
//!
//! Invariant: what is sent and read here is encoded by code that shares nothing with the door; every wait has a
//! deadline.

mod asked;
mod bad;
mod health;
mod outage;
mod protos;
mod told;

use crate::wire::DEADLINE;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use ratekeeper::rule::file::RuleFile;
use ratekeeper::{Limiter, ManualClock};
use ratekeeper_server::app::{App, Parts};
use ratekeeper_server::door::envoy::Rls;
use ratekeeper_server::life::Phase;
use ratekeeper_server::observe::Observe;
use ratekeeper_server::serve::{Bounds, run};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Where the service is asked.
const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// Codes of gRPC.
const INVALID_ARGUMENT: &str = "3";
const UNIMPLEMENTED: &str = "12";

/// A server of Envoy in this process, with a clock that the test moves. It ends with the test's runtime.
struct Stand {
    address: SocketAddr,
    clock: ManualClock,
    app: App,
}

impl Stand {
    /// By the rules of a file; to be called in a runtime.
    async fn by(rules: &str) -> Stand {
        Stand::with(rules, Bounds::default()).await
    }

    async fn with(rules: &str, bounds: Bounds) -> Stand {
        let clock = ManualClock::new();
        let observe = Arc::<Observe>::default();
        let file = RuleFile::parse(rules).expect("the file is fine");
        let builder = Limiter::from_file(file).expect("its store is one");
        let limiter = builder.clock(&clock).observer(observe.observer()).build();
        let app = App::from(Parts { observe, ..Parts::new(limiter, bounds.body) });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (own, life) = (app.clone(), app.life.clone());
        tokio::spawn(async move {
            let stops = async move { life.reaches(Phase::Stopping).await };
            run(listener, Rls::new(own), bounds, |_| true, stops).await;
        });
        Stand { address, clock, app }
    }

    async fn client(&self) -> Client {
        let stream = TcpStream::connect(self.address).await.expect("the server accepts");
        let io = TokioIo::new(stream);
        let (send, connection) =
            handshake(TokioExecutor::new(), io).await.expect("it speaks HTTP/2");
        tokio::spawn(connection);
        Client { send }
    }

    /// Asks once, on a connection of its own, and wants an answer.
    async fn ask(&self, request: &RateLimitRequest) -> RateLimitResponse {
        self.client().await.ask(request).await.expect("an answer")
    }
}

/// A client that sends exactly what it is told to.
#[derive(Clone)]
struct Client {
    send: SendRequest<Full<Bytes>>,
}

/// The status of a call, and what it says.
type Failed = (String, String);

impl Client {
    async fn ask(&mut self, request: &RateLimitRequest) -> Result<RateLimitResponse, Failed> {
        let bytes = self.call(PATH, &framed(&request.encode_to_vec()), &[]).await?;
        Ok(RateLimitResponse::decode(&bytes[..]).expect("the answer is Envoy's message"))
    }

    /// Sends a body to a path, with more header fields; the message that comes back.
    async fn call(
        &mut self,
        path: &str,
        body: &[u8],
        fields: &[(&'static str, &str)],
    ) -> Result<Bytes, Failed> {
        let uri = format!("http://ratekeeper{path}");
        let mut request = Request::post(uri).header("te", "trailers");
        if !fields.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/grpc");
        }
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body))).expect("a request");
        let response = timeout(DEADLINE, self.send.send_request(request)).await;
        let response = response.expect("an answer in time").expect("an answer");
        assert_eq!(response.status(), 200);
        let early = response.headers().clone();
        let body = response.into_body().collect().await.expect("a whole answer");
        let fields = body.trailers().unwrap_or(&early).clone();
        let text = |name: &str| {
            fields
                .get(name)
                .map(|value| value.to_str().expect("text").to_owned())
                .unwrap_or_default()
        };
        let (status, message) = (text("grpc-status"), text("grpc-message"));
        if status != "0" {
            return Err((status, message));
        }
        let bytes = body.to_bytes();
        let (prefix, message) = bytes.split_first_chunk::<5>().expect("a prefix");
        let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]);
        assert_eq!((prefix[0], length as usize), (0, message.len()), "one message, plain");
        Ok(bytes.slice(5..))
    }
}

/// A message with its prefix.
fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend((message.len() as u32).to_be_bytes());
    bytes.extend(message);
    bytes
}

/// A descriptor of these entries.
fn descriptor(entries: &[(&str, &str)]) -> RateLimitDescriptor {
    let entry = |(key, value): &(&str, &str)| Entry { key: (*key).into(), value: (*value).into() };
    RateLimitDescriptor { entries: entries.iter().map(entry).collect(), ..Default::default() }
}

/// A request about these.
fn about(domain: &str, descriptors: Vec<RateLimitDescriptor>) -> RateLimitRequest {
    RateLimitRequest { domain: domain.into(), descriptors, hits_addend: 0 }
}

/// A request about one user.
fn user(name: &str) -> RateLimitRequest {
    about("edge", vec![descriptor(&[("user", name)])])
}

/// The rules of most of these tests.
const RULES: &str = "
rules:
  - {id: users, domain: edge, key: 'descriptor:user', limit: 3/hour}
  - {id: paths, domain: edge, key: 'descriptor:path', limit: [2/minute, 100/day]}
  - {id: scoped, domain: edge, match: {descriptors: {scope: strict}}, key: 'descriptor:ip', limit: 1/minute,
     algorithm: fixed_window}
  - {id: odd, domain: edge, key: 'descriptor:odd', limit: 10/90s burst 4}
  - {id: queue, domain: edge, key: 'descriptor:queue', limit: 1/second burst 3, algorithm: leaky_bucket, mode: shaping}
  - {id: shadow, domain: edge, key: 'descriptor:shadow', limit: 1/hour, rollout: shadow}
  - {id: free, domain: edge, key: 'descriptor:free', limit: unlimited}
  - {id: shut, domain: edge, match: {descriptors: {path: /internal}}, deny: true}
  - {id: http, key: ip, limit: 1/hour}
";
