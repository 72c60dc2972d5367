//! The tower layer, before a service that always says yes.

use super::http::said;
use super::{Door, Rules, Said, Step};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, Response};
use ratekeeper::ManualClock;
use ratekeeper::layer::{Peer, RateLimitLayer};
use std::convert::Infallible;
use tower::{Layer as _, ServiceExt, service_fn};

/// The layer.
pub struct Layer {
    layer: RateLimitLayer,
    clock: ManualClock,
}

impl Layer {
    /// By these rules.
    pub fn new(rules: &Rules) -> Layer {
        let (limiter, clock) = rules.limiter();
        Layer { layer: RateLimitLayer::new(limiter), clock }
    }
}

impl Door for Layer {
    fn name(&self) -> &'static str {
        "layer"
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }

    async fn ask(&mut self, step: &Step) -> Said {
        let inner = service_fn(async |_: Request<Empty<Bytes>>| {
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        });
        let mut request = Request::get("/r")
            .header("x-who", step.who)
            .header("x-cost", step.cost)
            .body(Empty::new())
            .expect("a request");
        request.extensions_mut().insert(Peer([127, 0, 0, 1].into()));
        let answer = self.layer.layer(inner).oneshot(request).await.expect("an answer");
        let (head, body) = answer.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        said(head.status.as_u16(), &head.headers, &body)
    }
}
