//! Whoever keeps a log of decisions is told each of them.
//!
//! Invariant: each request that rules were asked about is told once, before it reaches the service.

use super::{CALLER, Door, Inner, by, from, get, limiter, on, rule, set, with};
use http::{Response, StatusCode};
use ratekeeper::layer::RateLimitLayer;
use ratekeeper::rule::{KeyKind, RuleSet};
use ratekeeper::{Limit, Limiter};
use std::sync::{Arc, Mutex};

/// What was told: method, path, peer, user, and whether it was allowed by how many rules.
type Log = Arc<Mutex<Vec<String>>>;

/// A layer that notes what is decided, and names each.
fn layer(rules: RuleSet) -> (RateLimitLayer, Log) {
    noting(limiter(rules).0)
}

fn noting(limiter: Limiter) -> (RateLimitLayer, Log) {
    let log = Log::default();
    let noted = Arc::clone(&log);
    let layer = RateLimitLayer::new(limiter).decided(move |seen, request, decisions| {
        assert_eq!((seen.method().as_str(), seen.uri().path()), (request.method, request.path));
        let mut noted = noted.lock().expect("nobody panics");
        noted.push(format!(
            "{} {} {} {} {} {}",
            request.method,
            request.path,
            request.peer.map_or("-".to_owned(), |peer| peer.to_string()),
            request.user.unwrap_or("-"),
            decisions.is_allowed(),
            decisions.rules().len(),
        ));
        Some(format!("id-{}", noted.len()))
    });
    (layer, log)
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().expect("nobody panics"))
}

/// Goal: who passes, who is refused and who meets no rule are told once each, with what rules saw.
/// Method: one a minute on one path, and a path without rules; the service notes what was told before.
#[test]
fn each_request_is_told_once_before_it_goes_on() {
    let (layer, log) = layer(set([on("/api", rule("api", "1/minute"))]));
    let layer = layer.user(|seen| Some(seen.headers().get("x-user")?.to_str().ok()?.to_owned()));
    let before = Arc::clone(&log);
    let inner = Inner::new(move |_| {
        assert_eq!(before.lock().expect("nobody panics").len(), 1, "told before");
        Response::new("hello".into())
    });
    let door = Door::before(&layer, inner);
    assert_eq!(door.status(with(get("/api"), "x-user", "ann")), 200);
    assert_eq!(taken(&log), [format!("GET /api {CALLER} ann true 1")]);
    assert_eq!(door.status(from(CALLER, "POST", "/other")), 200);
    assert_eq!(taken(&log), [format!("POST /other {CALLER} - true 0")]);
    assert_eq!(door.status(with(get("/api"), "x-user", "ann")), 429);
    assert_eq!(taken(&log), [format!("GET /api {CALLER} ann false 1")]);
}

/// Goal: a request that no rule could be asked about is not told.
/// Method: a path and a host that nobody agrees on.
#[test]
fn a_request_that_is_rejected_is_not_told() {
    let (layer, log) = layer(set([on("/api", rule("api", "1/minute"))]));
    let door = Door::new(&layer);
    assert_eq!(door.status(get("/a%2Fb")), 400);
    assert_eq!(door.status(with(with(get("/"), "host", "a"), "host", "b")), 400);
    assert_eq!((taken(&log), door.calls()), (vec![], 0));
}

/// Goal: a refusal has the name that it was given, in a field and in the problem; who passes has not.
/// Method: a problem, a text, a call over gRPC, and an answer of one's own.
#[test]
fn a_refusal_has_its_name() {
    let (layer, _) = layer(set([rule("api", "1/minute")]));
    let door = Door::new(&layer);
    assert_eq!(door.ask(get("/")).field("x-ratekeeper-decision"), None);
    let told = door.ask(get("/"));
    assert_eq!((told.status, told.field("x-ratekeeper-decision")), (429, Some("id-2")));
    let body: serde_json::Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!(body["instance"], "id-2");
    let text = door.ask(with(get("/"), "accept", "text/plain"));
    assert_eq!(text.field("x-ratekeeper-decision"), Some("id-3"));
    let grpc = door.ask(with(get("/"), "content-type", "application/grpc"));
    assert_eq!(grpc.field("x-ratekeeper-decision"), Some("id-4"));
    let own = layer.on_refusal(|_| {
        Response::builder().status(StatusCode::IM_A_TEAPOT).body("no".into()).expect("an answer")
    });
    let told = Door::new(&own).ask(get("/"));
    assert_eq!((told.status, told.field("x-ratekeeper-decision")), (418, Some("id-5")));
}

/// Goal: a name that cannot be in a header field does no harm, and none is none.
/// Method: hooks that return such.
#[test]
fn a_name_may_be_none_or_no_field() {
    for name in [None, Some("a\nb")] {
        let (limiter, _) = limiter(set([rule("api", "1/minute")]));
        let layer = RateLimitLayer::new(limiter).decided(move |_, _, _| name.map(str::to_owned));
        let door = Door::new(&layer);
        assert_eq!(door.status(get("/")), 200);
        let told = door.ask(get("/"));
        assert_eq!((told.status, told.field("x-ratekeeper-decision")), (429, None));
        let body: serde_json::Value = serde_json::from_str(&told.body).unwrap();
        assert_eq!(body.get("instance").and_then(serde_json::Value::as_str), name);
    }
}

/// Goal: who waits for its turn is told when it has it, with what hooks said, once; who leaves before
/// is not told.
/// Method: turns each second in tokio's time, with a hook that counts how often it is asked.
#[tokio::test(start_paused = true)]
async fn who_waits_is_told_at_its_turn() {
    let shaping = Limit::per_second(1).burst(3).shaping().build().unwrap();
    let rules = set([by(KeyKind::Global, rule("turns", shaping))]);
    let (layer, log) = noting(Limiter::memory().tokio_clock().rules(rules).build());
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let layer = layer.user(move |_| {
        *count.lock().expect("nobody panics") += 1;
        Some("ann".to_owned())
    });
    let door = Door::new(&layer);
    let ask = |path: &str| {
        let service = door.service.clone();
        tower::ServiceExt::oneshot(service, get(path))
    };
    let answered = |answer: Result<Response<_>, std::convert::Infallible>| {
        let Ok(response) = answer;
        response.status().as_u16()
    };
    assert_eq!(answered(ask("/1").await), 200);
    assert_eq!(taken(&log), [format!("GET /1 {CALLER} ann true 1")]);
    let mut second = Box::pin(ask("/2"));
    assert!(futures_now(second.as_mut()).is_none(), "it waits");
    {
        let mut leaves = Box::pin(ask("/3"));
        assert!(futures_now(leaves.as_mut()).is_none(), "it waits, too");
    }
    assert_eq!(answered(second.await), 200);
    assert_eq!(taken(&log), [format!("GET /2 {CALLER} ann true 1")]);
    assert_eq!(*asked.lock().unwrap(), 3, "hooks are asked once for each");
}

/// What a future is at once, if it is anything.
fn futures_now<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    match future.poll(context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}
