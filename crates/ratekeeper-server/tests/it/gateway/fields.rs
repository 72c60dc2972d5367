//! Header fields on their way: what is for the next hop only stays, all else passes.

use super::site::{MANY, Site, get, post};
use super::upstream::{OK, Upstream};

/// Goal: fields pass unchanged, in both directions, on as many lines as they came.
/// Method: fields that others treat in special ways; two lines of one name.
#[test]
fn fields_pass_unchanged() {
    let upstream = Upstream::saying(
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nServer: own/1\r\n\
         Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nLocation: http://other.example/\r\n\
         X-Empty:\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
    );
    let site = Site::before(&[&upstream], MANY);
    let sent = "Cookie: a=1\r\nAuthorization: Basic eDp5\r\nX-Two: 1\r\nX-Two: 2\r\nX-Empty:\r\n\
                Accept-Encoding: gzip\r\nRange: bytes=0-1\r\nUser-Agent: tests/1\r\n\
                Referer: http://a/?q\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\
                tracestate: x=1\r\nPriority: u=1\r\n";
    let answer = site.ask(&get("/", sent));
    let request = upstream.only();
    for line in sent.lines().filter(|line| !line.starts_with("X-Two")) {
        let (name, value) = line.split_once(':').expect("a field");
        assert_eq!(request.field(name), Some(value.trim()), "{name}");
    }
    assert_eq!(request.all("x-two"), ["1", "2"]);
    assert_eq!(answer.all("set-cookie"), ["a=1", "b=2"]);
    for (name, value) in [
        ("server", "own/1"),
        ("date", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("location", "http://other.example/"),
        ("x-empty", ""),
        ("content-encoding", "gzip"),
    ] {
        assert_eq!(answer.field(name), Some(value), "{name}");
    }
    for name in ["ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining"] {
        assert!(answer.field(name).is_some(), "{name} in {answer:?}");
    }
}

/// Goal: fields that are for one hop do not pass it, in either direction, and the upstream is told by whom
/// the request came.
/// Method: send all of them, from both sides.
#[test]
fn fields_of_one_hop_stay_there() {
    let upstream = Upstream::saying(
        "HTTP/1.1 200 OK\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\
         Proxy-Connection: x\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok",
    );
    let site = Site::before(&[&upstream], MANY);
    let sent = "Connection: keep-alive, Keep-Alive, Proxy-Connection\r\nKeep-Alive: timeout=5\r\n\
                Proxy-Connection: keep-alive\r\nTE: trailers, deflate\r\nUpgrade: h2c\r\n\
                HTTP2-Settings: AAMAAABkAAQAAP__\r\nProxy-Authorization: Basic eDp5\r\n";
    let answer = site.ask(&post("/", sent, ""));
    assert_eq!(answer.status(), 200, "{answer:?}");
    let request = upstream.only();
    for name in
        ["keep-alive", "proxy-connection", "upgrade", "http2-settings", "proxy-authorization"]
    {
        assert!(!request.has(name), "{name} in {request:?}");
    }
    for value in request.all("connection") {
        assert!(value.eq_ignore_ascii_case("keep-alive"), "{request:?}");
    }
    assert!(matches!(request.field("te"), None | Some("trailers")), "{request:?}");
    assert_eq!(request.field("via"), Some("1.1 ratekeeper"));

    for name in ["keep-alive", "proxy-connection", "upgrade"] {
        assert!(!answer.has(name), "{name} in {answer:?}");
    }
}

/// Goal: one who came by another proxy is told so, too.
/// Method: a `Via` of the client, which stays in front.
#[test]
fn hops_before_are_kept() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    assert_eq!(site.ask(&get("/", "Via: 1.0 fred\r\n")).status(), 200);
    let request = upstream.only();
    assert_eq!(request.all("via").join(", "), "1.0 fred, 1.1 ratekeeper");
}

/// Goal: `Connection` takes away fields of one hop, and none that is counted by, verified or written here.
/// Method: name such fields in it; an API key still says who it is, and the upstream reads all of them.
#[test]
fn connection_takes_nothing_away_that_matters() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    let sent = "Connection: close, X-Forwarded-For, X-Api-Key, Authorization, Host, Content-Length, \
                X-Forwarded-Proto, Via, Cookie, X-Own\r\nX-Api-Key: k\r\nAuthorization: Bearer t\r\n\
                Cookie: c=1\r\nX-Own: 1\r\n";
    assert_eq!(site.ask(&post("/", sent, "body")).status(), 200);
    let request = upstream.only();
    assert_eq!(request.field("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(request.field("x-forwarded-proto"), Some("http"));
    assert_eq!(request.field("host"), Some("api.example"));
    assert_eq!(request.field("x-api-key"), Some("k"));
    assert_eq!(request.field("authorization"), Some("Bearer t"));
    assert_eq!(request.field("cookie"), Some("c=1"));
    assert_eq!(request.field("x-own"), Some("1"));
    assert_eq!(request.body, b"body");
    assert!(request.all("connection").iter().all(|value| !value.contains("X-")), "{request:?}");
}

/// Goal: the method that was counted is the method that the upstream sees.
/// Method: every field that servers read another one from, with a rule for DELETE alone.
#[test]
fn nobody_says_another_method() {
    let upstream = Upstream::saying(OK);
    let rules = "[{id: delete, match: {methods: [DELETE]}, key: ip, limit: 1/day}]";
    let site = Site::before(&[&upstream], rules);
    for name in
        ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "x_http_method_override"]
    {
        assert_eq!(site.ask(&post("/", &format!("{name}: DELETE\r\n"), "")).status(), 200);
    }
    let seen = upstream.seen();
    assert_eq!(seen.len(), 4);
    for request in &seen {
        for name in ["x-http-method-override", "x-http-method", "x-method-override"] {
            assert!(!request.has(name), "{name} in {request:?}");
        }
    }
    assert_eq!(site.left("delete"), 1);
}
