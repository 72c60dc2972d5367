//! Refusals in the form that the caller takes, or that the application makes.
//!
//! Invariant: whatever the body is, the header fields are the same.

use super::{Door, Told, by, get, limiter, on, rule, set, with};
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use ratekeeper::layer::RateLimitLayer;
use ratekeeper::rule::{KeyKind, Limits, RuleSpec};

/// What the second of one a minute is told.
fn second(layer: impl Fn(RateLimitLayer) -> RateLimitLayer, accept: &[&str]) -> Told {
    let door = Door::new(&layer(RateLimitLayer::new(limiter(set([rule("api", "1/minute")])).0)));
    assert_eq!(door.status(get("/")), 200);
    let request = accept.iter().fold(get("/"), |request, own| with(request, "accept", own));
    let told = door.ask(request);
    assert_eq!(door.calls(), 1);
    told
}

/// Goal: who names text and no JSON has text, and all others a problem.
/// Method: forms that callers send.
#[test]
fn text_for_those_who_take_text() {
    for (accept, text) in [
        (&["text/plain"][..], true),
        (&["text/html, Text/Plain;q=0.5"], true),
        (&["text/plain, application/json"], false),
        (&["text/plain;q=0, */*"], false),
        (&["*/*"], false),
        (&[], false),
        (&["\u{e9}\u{e9}, ;;,,"], false),
    ] {
        let told = second(|layer| layer, accept);
        assert_eq!(told.status, 429);
        let kind = if text { "text/plain; charset=utf-8" } else { "application/problem+json" };
        assert_eq!(told.field("content-type"), Some(kind), "{accept:?}");
        if text {
            assert_eq!(told.body, "quota of policy \"api\" exceeded, retry in 60 s\n");
        }
    }
}

/// Goal: a response of the application's own is sent as it is, with the fields of a refusal.
/// Method: one with another status, fields and a body, and one that says what the layer says.
#[test]
fn a_response_of_ones_own_has_the_fields() {
    let own = |layer: RateLimitLayer| {
        layer.on_refusal(|decisions| {
            assert_eq!(decisions.rule(), Some("api"));
            let made = Response::builder().status(509).header("x-own", "yes");
            let made = made.header("retry-after", "7").header("cache-control", "public");
            made.body(Bytes::from(format!("{}", **decisions))).unwrap()
        })
    };
    let told = second(own, &["text/plain"]);
    assert_eq!((told.status, &told.body[..]), (509, "refused, retry in 60.0 s"));
    let expected = [
        "cache-control: no-store",
        "ratelimit: \"api\";r=0;t=60",
        "ratelimit-policy: \"api\";q=1;w=60",
        "retry-after: 60",
        "x-own: yes",
        "x-ratelimit-limit: 1",
        "x-ratelimit-remaining: 0",
        "x-ratelimit-reset: 1767225660",
    ];
    assert_eq!(told.lines(), expected);
}

/// Goal: the application's response is for refusals, and for nothing else.
/// Method: a request that passes, one that is rejected, and one that a closed rule refuses.
#[test]
fn a_response_of_ones_own_is_for_refusals_alone() {
    let rules = [
        by(KeyKind::Ip, on("/a/**", rule("api", "1/minute"))),
        on("/closed", RuleSpec::new("closed", Limits::Closed)),
    ];
    let layer = RateLimitLayer::new(limiter(set(rules)).0)
        .on_refusal(|_| Response::builder().status(299).body(Bytes::new()).unwrap());
    let door = Door::new(&layer);
    let statuses = ["/a/x", "/a/x", "/a%2Fx", "/closed"].map(|path| door.status(get(path)));
    assert_eq!(statuses, [200, 299, 400, 299]);
}

/// Goal: a body that is empty has ended, so that servers send its length.
/// Method: an own response without a body, beside one with.
#[test]
fn the_size_of_a_body_is_known() {
    use http_body::Body as _;
    for (text, length) in [("", 0), ("no", 2)] {
        let rules = set([RuleSpec::new("closed", Limits::Closed)]);
        let layer = RateLimitLayer::new(limiter(rules).0)
            .on_refusal(move |_| Response::new(Bytes::from_static(text.as_bytes())));
        let door = Door::new(&layer);
        let Ok(response) = super::now(tower::ServiceExt::oneshot(door.service, get("/")));
        assert_eq!(response.body().size_hint().exact(), Some(length));
        assert_eq!(response.body().is_end_stream(), length == 0);
        assert_eq!(super::told(response).body, text);
    }
}

/// Goal: fields that the service sets itself are left, where the layer has nothing to say.
/// Method: a service with a time to come back of its own, and a vary.
#[test]
fn the_services_own_fields_stay() {
    let inner = super::Inner::new(|_| {
        let mut response = Response::new("busy".into());
        *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("120"));
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private"));
        response
    });
    let door = Door::before(&RateLimitLayer::new(limiter(set([rule("api", "5/minute")])).0), inner);
    let told = door.ask(get("/"));
    assert_eq!(
        (told.field("retry-after"), told.field("cache-control")),
        (Some("120"), Some("private"))
    );
    assert_eq!((told.status, told.remaining()), (503, Some(4)));
}
