//! What a layer adds to a call of a ready service: ratekeeper's and tower_governor's, one rule by address,
//! a million addresses; what a refusal costs; and what it takes to find the rules of a request among many.
//!
//! In process, since a network's noise hides it. Invariant: every contender is handed the same requests,
//! and what making them costs is in the bare service's row, which is taken off the others'.

use crate::{Plan, median};
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response};
use ratekeeper::layer::RateLimitLayer;
use ratekeeper::{Limit, Limiter};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tower::{Layer, Service};
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;

/// Calls between two looks at the clock.
const CALLS: usize = 4_096;

/// Rules among which those of a request are found.
const RULES: usize = 1_000;

/// A service that has its answer ready.
#[derive(Clone, Copy)]
struct Answers;

impl Service<Request<Body>> for Answers {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        ready(Ok(Response::new(Body::empty())))
    }
}

/// One service, called with a request from an address; the status of the answer.
type Calls = Box<dyn FnMut(u32) -> u16>;

fn calls<S, B>(mut service: S) -> Calls
where
    S: Service<Request<Body>, Response = Response<B>> + 'static,
{
    Box::new(move |address| {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = http::Uri::from_static("/api/items");
        let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(address)), 40_000);
        request.extensions_mut().insert(ConnectInfo(peer));
        let mut context = Context::from_waker(Waker::noop());
        let _ = service.poll_ready(&mut context);
        let answer = pin!(service.call(request));
        match answer.poll(&mut context) {
            Poll::Ready(Ok(response)) => black_box(response).status().as_u16(),
            _ => 0,
        }
    })
}

fn ours(limit: Limit, keys: usize) -> Calls {
    let builder = Limiter::memory().keys(keys * 2 + 1_000).rule("api", limit);
    let limiter = builder.expect("the limit makes sense").build();
    calls(RateLimitLayer::new(limiter).by_ip().layer(Answers))
}

/// `burst` at once, and one more each second.
fn governor(burst: u32, headers: bool) -> Calls {
    let mut builder = GovernorConfigBuilder::default();
    builder.per_second(1).burst_size(burst);
    if headers {
        let config = builder.use_headers().finish().expect("the figures make sense");
        return calls(GovernorLayer::new(config).layer(Answers));
    }
    let config = builder.finish().expect("the figures make sense");
    calls(GovernorLayer::new(config).layer(Answers))
}

pub fn run(plan: Plan) {
    println!("\n### Layer: what it adds to a call, one rule by address, 1 M addresses\n");
    // It refuses nothing, but lets no key become whole, so that all have to be remembered.
    let generous = Limit::per_day(1).burst(2_000).build().expect("it makes sense");
    let contenders: Vec<(&str, Calls)> = vec![
        ("the service alone", calls(Answers)),
        ("ratekeeper, all header fields", ours(generous, plan.many_keys)),
        ("tower_governor, header fields", governor(1 << 20, true)),
        ("tower_governor, none", governor(1 << 20, false)),
    ];
    compare(plan, contenders, plan.many_keys as u32, 200);
    println!("\n### Layer: a refusal, one address\n");
    let strict = Limit::per_day(1).build().expect("it makes sense");
    let contenders: Vec<(&str, Calls)> = vec![
        ("the service alone", calls(Answers)),
        ("ratekeeper, all header fields and the problem", ours(strict, 1)),
        ("tower_governor, header fields", governor(1, true)),
        ("tower_governor, none", governor(1, false)),
    ];
    compare(plan, contenders, 1, 429);
    matching(plan);
}

fn compare(plan: Plan, mut contenders: Vec<(&str, Calls)>, addresses: u32, status: u16) {
    let address = |number: u32| 0x0a00_0000 + number.wrapping_mul(2_654_435_761) % addresses;
    for (name, call) in &mut contenders {
        (0..addresses).for_each(|number| {
            call(0x0a00_0000 + number);
        });
        let answered = call(address(0));
        let expected = if *name == "the service alone" { 200 } else { status };
        assert_eq!(answered, expected, "{name}");
    }
    let mut times = vec![Vec::new(); contenders.len()];
    let mut number = 0_u32;
    for round in 0..=plan.rounds {
        for ((_, call), times) in contenders.iter_mut().zip(&mut times) {
            let (start, mut count) = (Instant::now(), 0_usize);
            while start.elapsed() < plan.slice {
                for _ in 0..CALLS {
                    number = number.wrapping_add(1);
                    black_box(call(address(number)));
                }
                count += CALLS;
            }
            if round > 0 {
                times.push(start.elapsed().as_nanos() as f64 / count as f64);
            }
        }
    }
    report(&contenders, &times);
}

/// What each adds to the service alone, and how that compares with tower_governor with header fields.
fn report(contenders: &[(&str, Calls)], times: &[Vec<f64>]) {
    let (bare, spread) = median(&times[0]);
    let (peer, _) = median(&times[2]);
    println!("| | ns a call | spread | adds | of tower_governor's with fields |");
    println!("|---|---:|---:|---:|---:|");
    println!("| {} | {bare:.0} | {spread:.0} % | – | – |", contenders[0].0);
    for ((name, _), times) in contenders.iter().zip(times).skip(1) {
        let (time, spread) = median(times);
        let (adds, ratio) = (time - bare, (time - bare) / (peer - bare));
        println!("| {name} | {time:.0} | {spread:.0} % | {adds:.0} | {ratio:.2} × |");
    }
}

/// Matching and identity among many rules: a whole decision, and the same of a limiter with one rule.
fn matching(plan: Plan) {
    println!("\n### Layer: finding the rules of a request\n");
    println!("| | ns a call | spread |");
    println!("|---|---:|---:|");
    for (name, rules) in [("1 rule", 1), ("1 000 rules", RULES)] {
        let mut text = String::from("identity: {trusted_proxies: [10.0.0.0/8]}\nrules:\n");
        for number in 0..rules {
            text += &format!(
                "  - {{id: r{number}, match: {{methods: [GET], path: '/service{number}/*/items/**'}}, \
                 key: [ip, route], limit: 1000000/second}}\n"
            );
        }
        let limiter = Limiter::from_yaml(&text).expect("it is a rule file");
        let layer = RateLimitLayer::new(limiter).layer(Answers);
        let mut call = forwarded(layer);
        assert_eq!(call(), 200);
        let mut times = Vec::new();
        for round in 0..=plan.rounds {
            let (start, mut count) = (Instant::now(), 0_usize);
            while start.elapsed() < plan.slice {
                for _ in 0..CALLS {
                    black_box(call());
                }
                count += CALLS;
            }
            if round > 0 {
                times.push(start.elapsed().as_nanos() as f64 / count as f64);
            }
        }
        let (time, spread) = median(&times);
        println!("| {name}, through the layer, behind a proxy | {time:.0} | {spread:.0} % |");
    }
}

/// Calls through a trusted proxy that speaks for another one.
fn forwarded<S, B>(mut service: S) -> impl FnMut() -> u16
where
    S: Service<Request<Body>, Response = Response<B>>,
{
    move || {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = http::Uri::from_static("/service0/42/items/7");
        let value = http::HeaderValue::from_static("192.0.2.9, 10.1.2.3");
        request.headers_mut().insert("x-forwarded-for", value);
        let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 40_000);
        request.extensions_mut().insert(ConnectInfo(peer));
        let mut context = Context::from_waker(Waker::noop());
        let _ = service.poll_ready(&mut context);
        match pin!(service.call(request)).poll(&mut context) {
            Poll::Ready(Ok(response)) => black_box(response).status().as_u16(),
            _ => 0,
        }
    }
}
