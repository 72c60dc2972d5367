//! The three paths: one decision, told as each kind of gateway understands it.

use super::{RULES, ask, detail, forwarded, get};
use crate::server::Server;
use std::time::Duration;

/// Goal: allowed and refused answers carry all figures, and a refusal its problem, on every path; on
/// nginx's it is a 403 that tells what the client is to see.
/// Method: three calls under a limit of two, for a client of its own on each path, with every field.
#[test]
fn every_path_tells_the_decision_with_all_figures() {
    let server = Server::by(RULES);
    let paths = [
        ("GET /v1/authorize", "192.0.2.1", 429),
        ("HEAD /v1/authorize", "192.0.2.2", 429),
        ("PURGE /v1/authorize", "192.0.2.3", 429),
        ("GET /v1/authorize/nginx", "192.0.2.4", 403),
        ("GET /v1/authorize/envoy/api/x", "192.0.2.5", 429),
    ];
    for (line, client, refusal) in paths {
        let fields = forwarded("/api/x", client);
        for left in ["1", "0"] {
            let reply = if line.starts_with("HEAD") {
                head(&server, &fields)
            } else {
                ask(&server, line, &fields)
            };
            assert_eq!((reply.status, reply.field("x-ratelimit-remaining")), (200, Some(left)));
            assert_eq!(reply.field("x-ratelimit-limit"), Some("2"));
            assert_eq!(reply.field("ratelimit-policy"), Some(r#""api";q=2;w=60"#));
            assert!(
                reply
                    .field("ratelimit")
                    .is_some_and(|told| told.starts_with(&format!(r#""api";r={left};t="#)))
            );
            assert_eq!((reply.field("retry-after"), reply.body.as_str()), (None, ""));
            assert_eq!(reply.field("x-ratelimit-status"), None);
        }
        let reply = if line.starts_with("HEAD") {
            head(&server, &fields)
        } else {
            ask(&server, line, &fields)
        };
        assert_eq!((reply.status, reply.field("retry-after")), (refusal, Some("30")), "{line}");
        assert_eq!(reply.field("ratelimit"), Some(r#""api";r=0;t=30"#));
        assert_eq!(reply.field("x-ratelimit-remaining"), Some("0"));
        assert_eq!(reply.field("cache-control"), Some("no-store"));
        if line.starts_with("HEAD") {
            continue;
        }
        assert_eq!(detail(&reply), r#"quota of policy "api" exceeded, retry in 30 s"#);
        let json = reply.json();
        assert_eq!((&json["status"], &json["retry_after"]), (&429.into(), &30.into()));
        assert_eq!(json["violated-policies"][0], "api");
        let nginx = refusal == 403;
        assert_eq!(reply.field("x-ratelimit-status"), nginx.then_some("429"));
        assert_eq!(reply.field("x-ratelimit-problem"), nginx.then_some(&*reply.body));
    }
}

/// A HEAD, whose answer has the length of a body and none.
fn head(server: &Server, fields: &str) -> crate::wire::Reply {
    use std::io::Write;
    let mut stream = crate::wire::connect(server.address);
    let bytes = format!("HEAD /v1/authorize HTTP/1.1\r\nHost: check\r\n{fields}\r\n");
    stream.write_all(bytes.as_bytes()).expect("the request can be sent");
    crate::wire::read_head(&mut stream)
}

/// Goal: who waits as long as it was told passes, and a microsecond earlier it does not.
/// Method: both sides of the moment.
#[test]
fn the_wait_that_is_told_is_exact() {
    let server = Server::by(RULES);
    for _ in 0..2 {
        assert_eq!(get(&server, "/api/x", "192.0.2.1").status, 200);
    }
    server.clock.advance(Duration::from_micros(29_999_999));
    let reply = get(&server, "/api/x", "192.0.2.1");
    assert_eq!((reply.status, reply.field("retry-after")), (429, Some("1")));
    server.clock.advance(Duration::from_micros(1));
    assert_eq!(get(&server, "/api/x", "192.0.2.1").status, 200);
}

/// Goal: Envoy's path is the target: its method, its query, its host and its escapes, and no field that
/// its client sends along says otherwise.
/// Method: rules by method, path and host, asked with fields that name another request.
#[test]
fn behind_envoys_prefix_is_the_whole_request() {
    let server = Server::by(RULES);
    let other = forwarded("/elsewhere", "192.0.2.1") + "X-Original-URI: /elsewhere\r\n";
    let rule = |line: &str, fields: &str| {
        let reply = ask(&server, line, fields);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.field("ratelimit-policy").map(|told| told.split(';').next().unwrap_or("").to_owned())
    };
    let envoy = "/v1/authorize/envoy";
    assert_eq!(rule(&format!("GET {envoy}/api/a?rule=login"), &other).as_deref(), Some("\"api\""));
    assert_eq!(rule(&format!("POST {envoy}/login?x=1"), &other).as_deref(), Some("\"login\""));
    assert_eq!(rule(&format!("GET {envoy}/login"), &other), None);
    assert_eq!(rule(&format!("GET {envoy}/"), &other), None);
    assert_eq!(rule(&format!("GET {envoy}//api//%61"), &other).as_deref(), Some("\"api\""));
    let bytes = format!("GET {envoy}/ HTTP/1.1\r\nHost: shop.example\r\n{other}\r\n");
    let reply = crate::wire::send(server.address, &bytes);
    assert_eq!(reply.field("ratelimit-policy"), Some(r#""shop";q=1;w=60"#));
}

/// Goal: what cannot be asked is rejected with a problem, a closed rule is a 403 without a wait, and no
/// path says 200 to either.
/// Method: a path that servers read differently, and a rule that lets nobody pass, on each path.
#[test]
fn what_cannot_be_asked_does_not_pass() {
    let server = Server::by(RULES);
    let bad = "/api/%2e%2e%2fadmin";
    for (line, rejected, told) in [
        ("GET /v1/authorize".to_owned(), 400, None),
        ("GET /v1/authorize/nginx".to_owned(), 403, Some("400")),
        (format!("GET /v1/authorize/envoy{bad}"), 400, None),
    ] {
        let reply = ask(&server, &line, &forwarded(bad, "192.0.2.1"));
        assert_eq!(
            (reply.status, reply.field("x-ratelimit-status")),
            (rejected, told),
            "{reply:?}"
        );
        assert!(detail(&reply).starts_with("the path cannot be matched: "), "{reply:?}");
    }
    for line in ["GET /v1/authorize", "GET /v1/authorize/nginx", "GET /v1/authorize/envoy/closed"] {
        let reply = ask(&server, line, &forwarded("/closed", "192.0.2.1"));
        assert_eq!((reply.status, reply.field("retry-after")), (403, None));
        assert_eq!(detail(&reply), r#"closed by rule "closed""#);
    }
}

/// Goal: a client that wants plain text gets it, also behind a gateway; nginx is told the problem anyway.
/// Method: refusals with `Accept: text/plain`.
#[test]
fn a_client_that_accepts_text_alone_gets_text() {
    let server = Server::by(RULES);
    let fields = forwarded("/api/x", "192.0.2.1") + "Accept: text/plain\r\n";
    for _ in 0..2 {
        assert_eq!(ask(&server, "GET /v1/authorize", &fields).status, 200);
    }
    let sentence = "quota of policy \"api\" exceeded, retry in 30 s";
    for line in ["GET /v1/authorize", "GET /v1/authorize/nginx"] {
        let reply = ask(&server, line, &fields);
        assert_eq!(reply.field("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(reply.body, format!("{sentence}\n"));
        let problem = reply.field("x-ratelimit-problem").map(|text| {
            let json: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
            json["detail"].clone()
        });
        assert_eq!(problem.is_some(), line.ends_with("nginx"));
        assert!(problem.is_none_or(|problem| problem == sentence));
    }
}
