//! The tower layer, asked as a server asks it.
//!
//! Invariant: the inner service counts its calls, so that every test can tell what has reached it.

mod agreement;
mod answers;
mod callers;
mod decided;
mod diagnoses;
mod endings;
mod first_twenty;
mod forms;
mod grpc;
mod nested;
#[cfg(feature = "redis")]
mod outage;
mod permits;
mod settling;
mod shaping;
mod upgrades;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use ratekeeper::layer::{Peer, RateLimit, RateLimitLayer};
use ratekeeper::limiter::IntoLimits;
use ratekeeper::rule::pattern::PathPattern;
use ratekeeper::rule::{KeyKind, KeySpec, Limits, RuleSet, RuleSpec};
use ratekeeper::{Limiter, ManualClock};
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::{Ready, ready};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use tower::{Layer, Service, ServiceExt};

/// Where callers come from, unless said.
const CALLER: &str = "192.0.2.1";

/// Room for the keys of any test here.
const KEYS: usize = 65_536;

/// What the inner service makes of a request.
type Answers = Arc<dyn Fn(&Request<()>) -> Response<Full<Bytes>> + Send + Sync>;

/// A service that counts its calls.
#[derive(Clone)]
struct Inner {
    calls: Arc<AtomicUsize>,
    answers: Answers,
}

impl Inner {
    fn new(
        answers: impl Fn(&Request<()>) -> Response<Full<Bytes>> + Send + Sync + 'static,
    ) -> Inner {
        Inner { calls: Arc::default(), answers: Arc::new(answers) }
    }
}

impl Service<Request<()>> for Inner {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Full<Bytes>>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        self.calls.fetch_add(1, Ordering::SeqCst);
        ready(Ok((self.answers)(&request)))
    }
}

/// A service behind the layer, and what has reached it.
struct Door {
    service: RateLimit<Inner>,
    calls: Arc<AtomicUsize>,
}

impl Door {
    /// Before a service that answers `hello`.
    fn new(layer: &RateLimitLayer) -> Door {
        Door::before(layer, Inner::new(|_| Response::new("hello".into())))
    }

    fn before(layer: &RateLimitLayer, inner: Inner) -> Door {
        let calls = Arc::clone(&inner.calls);
        Door { service: layer.layer(inner), calls }
    }

    /// What a request that waits for nothing is told.
    fn ask(&self, request: Request<()>) -> Told {
        ask(&self.service, request)
    }

    /// The status alone.
    fn status(&self, request: Request<()>) -> u16 {
        self.ask(request).status
    }

    /// How many of these requests pass.
    fn admits(&self, requests: impl IntoIterator<Item = Request<()>>) -> usize {
        let before = self.calls();
        let passed = requests.into_iter().map(|request| self.status(request));
        let passed = passed.filter(|status| *status == 200).count();
        assert_eq!(self.calls() - before, passed, "who is refused reaches nothing");
        passed
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

/// An answer, read to its end.
#[derive(Debug)]
struct Told {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Told {
    /// The header fields, in the order of their names, those of one name in theirs.
    fn lines(&self) -> Vec<String> {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let each = self.headers.iter().map(|(name, value)| (name.as_str(), text(value)));
        let mut lines: Vec<_> = each.map(|(name, value)| format!("{name}: {value}")).collect();
        lines.sort_by(|one, other| one.split(": ").next().cmp(&other.split(": ").next()));
        lines
    }

    /// The only value of a field.
    fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let only = values.next();
        assert!(values.next().is_none(), "{name} is there twice: {self:?}");
        only.map(|value| value.to_str().unwrap())
    }

    fn remaining(&self) -> Option<u64> {
        self.field("x-ratelimit-remaining").map(|text| text.parse().unwrap())
    }
}

/// What a service behind layers answers to a request that waits for nothing.
fn ask<S, B>(service: &S, request: Request<()>) -> Told
where
    S: Service<Request<()>, Response = Response<B>, Error = Infallible> + Clone,
    B: http_body::Body<Data = Bytes>,
    B::Error: Debug,
{
    let Ok(response) = now(service.clone().oneshot(request));
    told(response)
}

fn told<B>(response: Response<B>) -> Told
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Debug,
{
    let (parts, body) = response.into_parts();
    let body = now(body.collect()).unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    Told { status: parts.status.as_u16(), headers: parts.headers, body }
}

/// What a future is at once.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("there is nothing to wait for"),
    }
}

/// A request from an address.
fn from(address: &str, method: &str, target: &str) -> Request<()> {
    let peer = Peer(address.parse::<IpAddr>().unwrap());
    Request::builder().method(method).uri(target).extension(peer).body(()).unwrap()
}

fn get(target: &str) -> Request<()> {
    from(CALLER, "GET", target)
}

/// The same request with one more header field.
fn with(mut request: Request<()>, name: &str, value: impl AsRef<[u8]>) -> Request<()> {
    let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
    request.headers_mut().append(name, HeaderValue::from_bytes(value.as_ref()).unwrap());
    request
}

fn rule(id: &str, limits: impl IntoLimits) -> RuleSpec {
    RuleSpec::new(id, Limits::Same(limits.into_limits().unwrap()))
}

/// The rule, counted by this.
fn by(kind: KeyKind, rule: RuleSpec) -> RuleSpec {
    RuleSpec { key: KeySpec::of(kind), ..rule }
}

/// The rule, for these paths.
fn on(path: &str, mut rule: RuleSpec) -> RuleSpec {
    rule.matches.paths.push(PathPattern::parse(path).unwrap());
    rule
}

fn set(rules: impl IntoIterator<Item = RuleSpec>) -> RuleSet {
    RuleSet { rules: rules.into_iter().collect(), ..RuleSet::default() }
}

/// A limiter at the first second of 2026.
fn limiter(set: RuleSet) -> (Limiter, ManualClock) {
    let clock = ManualClock::new();
    (Limiter::memory().keys(KEYS).clock(&clock).rules(set).build(), clock)
}

/// A door with these rules, and nothing else about it.
fn door(rules: impl IntoIterator<Item = RuleSpec>) -> Door {
    Door::new(&RateLimitLayer::new(limiter(set(rules)).0))
}
