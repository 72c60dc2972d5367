//! Requests on their way: what was sent is what arrives, in one form.

use super::message::Wire;
use super::site::{MANY, Site, get, post};
use super::upstream::{OK, Upstream};

/// Goal: method, query and host arrive as they were sent, the path in its one form, and the answer comes
/// back whole.
/// Method: targets in several spellings, each with what the upstream has to read.
#[test]
fn a_request_arrives_in_one_form() {
    let upstream =
        Upstream::saying("HTTP/1.1 201 Created\r\nX-Own: 7\r\nContent-Length: 4\r\n\r\nmade");
    let site = Site::before(&[&upstream], MANY);
    let targets = [
        ("/api/x", "/api/x"),
        ("/", "/"),
        ("//api/./v1/../%78/", "/api/x/"),
        ("/caf%c3%a9?q=%2f&q=a+b&&x", "/caf%C3%A9?q=%2f&q=a+b&&x"),
        ("/a;v=1/b?", "/a;v=1/b?"),
        ("/a?b=//../%2e%2e", "/a?b=//../%2e%2e"),
    ];
    for (sent, _) in targets {
        let answer = site.ask(&get(sent, ""));
        assert_eq!((answer.status(), answer.text()), (201, "made"), "{sent}: {answer:?}");
        assert_eq!(answer.field("x-own"), Some("7"));
    }
    let seen = upstream.seen();
    assert_eq!(seen.len(), targets.len());
    for ((sent, arrived), request) in targets.iter().zip(&seen) {
        assert_eq!(request.start, format!("GET {arrived} HTTP/1.1"), "{sent}");
        assert_eq!(request.field("host"), Some("api.example"));
        assert_eq!((request.body.len(), request.all("transfer-encoding").len()), (0, 0));
    }
}

/// Goal: every method passes as it is, with its body.
/// Method: all common methods, one of our own, and one in lower case, which is another one.
#[test]
fn methods_pass_as_they_are() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "REPORT", "post"];
    for method in methods {
        let bytes = post("/x", "", "body").replacen("POST", method, 1);
        assert_eq!(site.ask(&bytes).status(), 200, "{method}");
    }
    let seen = upstream.seen();
    let arrived: Vec<&str> =
        seen.iter().filter_map(|request| request.start.split(' ').next()).collect();
    assert_eq!(arrived, methods);
    assert!(seen.iter().all(|request| request.body == b"body"), "{seen:?}");
}

/// Goal: answers without a body have none on either side, and say what the upstream said.
/// Method: HEAD with a length, 204, 304 with a tag, all on one connection, which goes on.
#[test]
fn answers_without_a_body_have_none() {
    let upstream = Upstream::telling(|request| {
        let said = match request.start.split(' ').nth(1) {
            Some("/gone") => "HTTP/1.1 204 No Content\r\n\r\n",
            Some("/same") => "HTTP/1.1 304 Not Modified\r\nETag: \"7\"\r\n\r\n",
            _ => "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n",
        };
        said.to_owned()
    });
    let site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    wire.send(get("/long", "").replacen("GET", "HEAD", 1));
    let answer = wire.answer("HEAD").expect("an answer comes");
    assert_eq!((answer.status(), answer.field("content-length")), (200, Some("12345")));
    wire.send(get("/gone", ""));
    let answer = wire.answer("GET").expect("an answer comes");
    assert_eq!((answer.status(), answer.field("content-length")), (204, None));
    wire.send(get("/same", ""));
    let answer = wire.answer("GET").expect("an answer comes");
    assert_eq!((answer.status(), answer.field("etag")), (304, Some("\"7\"")));
    assert_eq!(upstream.seen().len(), 3);
}

/// Goal: connections to upstreams are used again, whether clients keep theirs or not.
/// Method: ten requests of ten clients, ten of one; connections that the upstream accepted.
#[test]
fn connections_to_upstreams_are_used_again() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    for _ in 0..10 {
        assert_eq!(site.get("/").status(), 200);
    }
    let mut wire = Wire::open(site.address);
    for _ in 0..10 {
        wire.send(get("/", ""));
        assert_eq!(wire.answer("GET").expect("an answer comes").status(), 200);
    }
    assert_eq!((upstream.seen().len(), upstream.accepted()), (20, 1));
}

/// Goal: a pooled connection that the upstream has closed is no fault of the next request, whatever its
/// method.
/// Method: an upstream that closes after each answer without saying so; POSTs, one after the other.
#[test]
fn a_pooled_connection_that_was_closed_is_replaced() {
    let upstream = Upstream::acting(|_, wire| {
        wire.send(OK);
        super::upstream::After::Close
    });
    let site = Site::before(&[&upstream], MANY);
    for number in 1..=10 {
        assert_eq!(site.ask(&post("/", "", "x")).status(), 200, "request {number}");
        // The gateway has seen the end when the upstream has.
        assert!(crate::program::poll(|| (upstream.open() == 0).then_some(())).is_some());
    }
    assert_eq!((upstream.seen().len(), upstream.accepted()), (10, 10));
}

/// Goal: a target in absolute form is the path in it, and its host is the host; `*` stays what it is.
/// Method: both, with the same host in the field, and in another case.
#[test]
fn other_forms_of_a_target_mean_the_same() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    assert_eq!(site.get("http://api.example/a//b?q=1").status(), 200);
    assert_eq!(site.get("http://API.example/a").status(), 200);
    assert_eq!(site.get("http://b.example/b").status(), 200, "the host of the target is the host");
    let options = get("*", "").replacen("GET", "OPTIONS", 1);
    let status = site.ask(&options).status();
    let seen = upstream.seen();
    assert_eq!(seen[0].start, "GET /a/b?q=1 HTTP/1.1");
    assert_eq!(seen[0].field("host"), Some("api.example"));
    assert_eq!(seen[1].start, "GET /a HTTP/1.1");
    assert_eq!(
        (seen[2].start.as_str(), seen[2].field("host")),
        ("GET /b HTTP/1.1", Some("b.example"))
    );
    assert_eq!((status, seen[3].start.as_str()), (200, "OPTIONS * HTTP/1.1"));
    assert_eq!(site.decided("all", "allowed"), 4);
}

/// Goal: routes are tried in the order of the file, and a path without one is answered here, after it was
/// counted.
/// Method: three routes to two upstreams; a path that no route has.
#[test]
fn the_first_route_that_matches_is_taken() {
    let (one, two) = (Upstream::saying(OK), Upstream::saying(OK));
    let (first, second) = (one.url(), two.url());
    let text = format!(
        "{}  routes:\n    - {{path: /api/special, upstream: \"{second}\"}}\n    \
         - {{path: \"/api/**\", upstream: \"{first}\"}}\n    \
         - {{path: \"/*/special\", upstream: [\"{second}\"]}}\nrules: {MANY}\n",
        super::site::head("")
    );
    let site = Site::of(&[], &text);
    for path in ["/api/special", "/api/other", "/api", "/x/special"] {
        assert_eq!(site.get(path).status(), 200, "{path}");
    }
    let missing = site.get("/nowhere");
    assert_eq!(missing.status(), 404);
    assert_eq!(missing.field("content-type"), Some("application/problem+json"));
    assert_eq!(missing.json()["status"], 404);
    assert!(missing.field("ratelimit").is_some(), "{missing:?}");
    let paths = |upstream: &Upstream| {
        let seen = upstream.seen();
        let paths = seen.iter().filter_map(|request| request.start.split(' ').nth(1));
        paths.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(paths(&one), ["/api/other", "/api"]);
    assert_eq!(paths(&two), ["/api/special", "/x/special"]);
    assert_eq!(site.decided("all", "allowed"), 5);
}
