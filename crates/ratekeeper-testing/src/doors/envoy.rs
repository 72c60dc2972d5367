//! Envoy's rate limit service, asked with Envoy's own messages.

use super::http::said;
use super::{Door, Rules, Said, Step, Time};
use bytes::Bytes;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use ratekeeper::ManualClock;
use ratekeeper_server::door::envoy::Rls;
use ratekeeper_server::serve::{Bounds, run};
use std::future::pending;
use tokio::net::{TcpListener, TcpStream};

/// The service.
pub struct Envoy {
    clock: ManualClock,
    send: SendRequest<Full<Bytes>>,
}

impl Envoy {
    /// By these rules.
    pub async fn new(rules: &Rules) -> Envoy {
        let (app, clock) = rules.app("");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        tokio::spawn(run(listener, Rls::new(app), Bounds::default(), |_| true, pending()));
        let stream = TcpStream::connect(address).await.expect("the server accepts");
        let connected = handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (send, connection) = connected.expect("it speaks HTTP/2");
        tokio::spawn(connection);
        Envoy { clock, send }
    }
}

impl Door for Envoy {
    fn name(&self) -> &'static str {
        "Envoy's service"
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    async fn ask(&mut self, step: &Step) -> Said {
        let entries = vec![Entry { key: "who".into(), value: step.who.into() }];
        let descriptors = vec![RateLimitDescriptor { entries, ..Default::default() }];
        let hits_addend = u32::try_from(step.cost).expect("a small cost");
        let asked = RateLimitRequest { domain: "edge".into(), descriptors, hits_addend };
        let message = asked.encode_to_vec();
        let length = (message.len() as u32).to_be_bytes();
        let body = [&[0], &length[..], &message].concat();
        let path = "http://rls/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
        let request = Request::post(path).header("content-type", "application/grpc");
        let request = request.body(Full::new(body.into())).expect("a request");
        let answer = self.send.send_request(request).await.expect("an answer");
        let body = answer.into_body().collect().await.expect("a whole answer").to_bytes();
        let told = RateLimitResponse::decode(&body[5..]).expect("Envoy's message");
        self::told(&told)
    }
}

/// What the message says, in its statuses and in the header fields and the body for Envoy's client, which agree.
fn told(told: &RateLimitResponse) -> Said {
    let mut fields = HeaderMap::new();
    for own in &told.response_headers_to_add {
        let name: HeaderName = own.key.parse().expect("a name");
        fields.insert(name, HeaderValue::from_str(&own.value).expect("a value"));
    }
    let status = if told.overall_code == 1 { 200 } else { 429 };
    let client = said(status, &fields, &told.raw_body);
    let own = &told.statuses[0];
    assert_eq!((own.code, told.statuses.len()), (told.overall_code, 1));
    assert_eq!(client.remaining, Some(own.limit_remaining.into()), "{told:?}");
    let reset = own.duration_until_reset.as_ref().map_or(Time::None, |time| {
        assert_eq!(time.nanos, 0);
        Time::Seconds(u64::try_from(time.seconds).expect("a time to come"))
    });
    Said { reset, ..client }
}
