//! The parts of the gateway that need no connection.

mod choice;

use super::Routed;
use super::fields;
use super::forward::target;
use super::head::host;
use super::routes::Budget;
use crate::serve::Arrival;
use axum::http::header::{CONNECTION, HeaderName, HeaderValue, TE, UPGRADE, VIA};
use axum::http::{HeaderMap, Request, Uri};
use http_body_util::{Empty, Full};
use hyper::body::Bytes;
use proptest::prelude::*;
use ratekeeper::Limiter;
use ratekeeper::identity::{Verified, is_forwarding_name};
use ratekeeper::rule::file::RuleFile;
use std::time::Duration;

fn routed(peer: &str) -> Routed {
    let arrival = Arrival {
        peer: peer.parse().expect("an address"),
        peer_text: HeaderValue::from_str(peer).expect("a text"),
        is_secure: true,
        most: Duration::from_secs(1),
        body: Duration::from_secs(1),
        tunnels: None,
    };
    Routed { route: None, arrival, verified: None, rejected: None, entry: None }
}

fn request(fields: &[(&str, &str)]) -> Request<Empty<Bytes>> {
    let mut request = Request::get("/").body(Empty::new()).expect("a request");
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        request.headers_mut().append(name, HeaderValue::from_str(value).expect("a value"));
    }
    request
}

/// A limiter that trusts 10.0.0.0/8, and reads this field of theirs.
fn limiter(header: &str) -> Limiter {
    let text = format!(
        "identity: {{trusted_proxies: [10.0.0.0/8], client_ip_header: {header}}}\n\
         rules: [{{id: api, key: ip, limit: 1/minute}}]\n"
    );
    let file = RuleFile::parse(&text).expect("the file is fine");
    Limiter::from_file(file).expect("its store is memory").build()
}

/// What an upstream gets of these fields.
fn sent(fields: &[(&str, &str)], routed: &Routed, header: &str) -> HeaderMap {
    let mut request = request(fields);
    fields::outgoing(&mut request, routed, &limiter(header));
    std::mem::take(request.headers_mut())
}

fn lines(headers: &HeaderMap, name: &str) -> Vec<String> {
    let each = headers.get_all(name).iter().map(|line| line.to_str().expect("text").to_owned());
    each.collect()
}

const FAMILY: [&str; 14] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-real-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "x_forwarded_for",
    "x-ratekeeper-user",
    "x_ratekeeper-tier",
    "x-http-method-override",
    "content_length",
    "x_api_key",
];

proptest! {
    /// Goal: whatever somebody who is not trusted sends, the upstream reads about who calls only what the
    /// gateway writes; and nothing that `Connection` names is lost for it but what is the connection's.
    /// Method: any choice of the fields that speak for others, of our own, and of harmless ones, all of them
    /// named by `Connection`; the expected fields are written by hand.
    #[test]
    fn nobody_speaks_for_others_unless_trusted(
        chosen in proptest::collection::vec((0..FAMILY.len(), "[a-z0-9.]{1,12}"), 0..8),
        end_to_end in "[a-z]{1,8}",
    ) {
        let mut all: Vec<(&str, &str)> =
            chosen.iter().map(|(place, value)| (FAMILY[*place], value.as_str())).collect();
        let named = FAMILY.join(", ") + ", x-api-key, host, close";
        all.extend([("connection", named.as_str()), ("host", "api.example")]);
        all.extend([("x-api-key", end_to_end.as_str()), ("keep-alive", "timeout=5")]);
        let headers = sent(&all, &routed("192.0.2.1"), "X-Forwarded-For");
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        prop_assert_eq!(
            names,
            ["host", "via", "x-api-key", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"]
        );
        prop_assert_eq!(lines(&headers, "x-forwarded-for"), ["192.0.2.1"]);
        prop_assert_eq!(lines(&headers, "x-forwarded-proto"), ["https"]);
        prop_assert_eq!(lines(&headers, "x-forwarded-host"), ["api.example"]);
        prop_assert_eq!(lines(&headers, "x-api-key"), [end_to_end]);
    }

    /// Goal: retries are a tenth of the requests, and ten, at most, in whatever order they come.
    /// Method: any series of requests and failures.
    #[test]
    fn retries_keep_to_their_budget(fails in proptest::collection::vec(any::<bool>(), 1..2_000)) {
        let budget = Budget::default();
        let mut retries = 0;
        for (number, fails) in fails.iter().enumerate() {
            budget.earn();
            retries += usize::from(*fails && budget.take());
            prop_assert!(retries <= 10 + (number + 1) / 10, "{retries} of {}", number + 1);
        }
    }
}

/// Goal: what a trusted proxy says is kept and continued; what it may only have passed on is not.
/// Method: each form of the field that is read, beside others.
#[test]
fn trusted_proxies_are_continued() {
    let all = [
        ("x-forwarded-for", "203.0.113.9"),
        ("x-forwarded-for", "203.0.113.8"),
        ("x-forwarded-proto", "http"),
        ("x-forwarded-prefix", "/v1"),
        ("forwarded", "for=6.6.6.6"),
        ("x-real-ip", "198.51.100.7"),
    ];
    let routed = routed("10.1.2.3");
    let headers = sent(&all, &routed, "X-Forwarded-For");
    assert_eq!(lines(&headers, "x-forwarded-for"), ["203.0.113.9, 203.0.113.8, 10.1.2.3"]);
    assert_eq!(lines(&headers, "x-forwarded-proto"), ["http"]);
    assert_eq!(lines(&headers, "x-forwarded-prefix"), ["/v1"]);
    assert!(lines(&headers, "forwarded").is_empty() && lines(&headers, "x-real-ip").is_empty());
    let headers = sent(&all, &routed, "X-Real-IP");
    assert_eq!(lines(&headers, "x-forwarded-for"), ["198.51.100.7, 10.1.2.3"]);
    assert_eq!(lines(&headers, "x-real-ip"), ["198.51.100.7"]);
    let headers = sent(&all, &routed, "Forwarded");
    assert_eq!(lines(&headers, "forwarded"), ["for=6.6.6.6, for=10.1.2.3;proto=https"]);
    assert_eq!(lines(&headers, "x-forwarded-for"), ["6.6.6.6, 10.1.2.3"]);
    let names = headers.keys().filter(|name| is_forwarding_name(name.as_str())).count();
    assert_eq!(names, 4, "{headers:?}");
}

/// Goal: trailers can be asked for, upgrades pass but for HTTP/2, and who was verified is told.
/// Method: requests with each, and the fields that are sent.
#[test]
fn trailers_upgrades_and_who_it_is_are_passed_on() {
    let routed = Routed {
        verified: Some(Verified { user: "ä b%".into(), tier: Some("pro".into()) }),
        ..routed("192.0.2.1")
    };
    let all = [("te", "gzip, trailers"), ("connection", "Upgrade, TE"), ("upgrade", "websocket")];
    let headers = sent(&all, &routed, "X-Forwarded-For");
    assert_eq!(lines(&headers, TE.as_str()), ["trailers"]);
    assert_eq!(lines(&headers, CONNECTION.as_str()), ["upgrade"]);
    assert_eq!(lines(&headers, UPGRADE.as_str()), ["websocket"]);
    assert_eq!(lines(&headers, VIA.as_str()), ["1.1 ratekeeper"]);
    assert_eq!(lines(&headers, "x-ratekeeper-user"), ["%C3%A4%20b%25"]);
    assert_eq!(lines(&headers, "x-ratekeeper-tier"), ["pro"]);
    for upgrade in ["h2c", "websocket, H2C"] {
        let fields = [("connection", "upgrade"), ("upgrade", upgrade), ("http2-settings", "AA")];
        let headers = sent(&fields, &routed, "X-Forwarded-For");
        let left = ["connection", "upgrade", "http2-settings"].map(|name| lines(&headers, name));
        assert_eq!(left, [[""; 0]; 3]);
    }
    let headers = sent(&[("cookie", "a=1"), ("cookie", "b=2; c=3")], &routed, "X-Forwarded-For");
    assert_eq!(lines(&headers, "cookie"), ["a=1; b=2; c=3"]);
    let twice = [("connection", "upgrade"), ("upgrade", "a"), ("upgrade", "b")];
    assert_eq!(fields::upgrade(&request(&twice)), None);
    let mut with_body = request(&all).map(|_| Full::new(Bytes::from_static(b"x")));
    fields::outgoing(&mut with_body, &routed, &limiter("X-Forwarded-For"));
    assert!(lines(with_body.headers(), UPGRADE.as_str()).is_empty());
}

/// Goal: a request that has been here too often is noticed.
/// Method: one time less, and as often.
#[test]
fn circles_are_noticed() {
    for (times, circles) in [(7, false), (8, true)] {
        let via = vec!["1.1 ratekeeper"; times].join(", ");
        assert_eq!(fields::goes_in_circles(request(&[("via", &via)]).headers()), circles);
    }
    let others = ["1.1 ratekeeper-like", "1.1 other (ratekeeper)"].repeat(8).join(", ");
    assert!(!fields::goes_in_circles(request(&[("via", &others)]).headers()));
}

/// Goal: a host is a name or an address, with or without a port, and nothing else.
/// Method: a list of both.
#[test]
fn hosts_are_names_and_addresses() {
    for good in ["a.example", "a.example:8080", "127.0.0.1", "[::1]", "[2001:db8::1]:443", "a_b"] {
        assert!(host(&request(&[("host", good)])).is_ok(), "{good}");
    }
    let bad = [
        "",
        ":80",
        "a:b",
        "a:123456",
        "a b",
        "a@b",
        "a/b",
        "a,b",
        "[::1",
        "[::1]x",
        "[g]",
        "a%20b",
        "http://a",
        "a:80:80",
        "[]",
        "a?b",
        "a#b",
        "[::::]",
        "[.]",
        "[1.2.3.4]",
    ];
    for bad in bad {
        assert!(host(&request(&[("host", bad)])).is_err(), "{bad}");
    }
    assert!(host(&request(&[])).is_ok());
}

/// Goal: what is forwarded has the path of the rules and the query as it was sent, and no host.
/// Method: targets in each form.
#[test]
fn targets_are_forwarded_in_one_form() {
    let of = |uri: &'static str, path: &str| {
        let target = target(&Uri::from_static(uri), path).expect("a target");
        target.map(|target| target.to_string())
    };
    assert_eq!(of("/a?b=%2F", "/a"), None);
    assert_eq!(of("/a//b?c=//d", "/a/b").as_deref(), Some("/a/b?c=//d"));
    assert_eq!(of("http://x.example/a?b", "/a").as_deref(), Some("/a?b"));
    assert_eq!(of("http://x.example", "/").as_deref(), Some("/"));
}
