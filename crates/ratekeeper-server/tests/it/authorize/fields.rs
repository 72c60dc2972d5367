//! What gateways say of their client's request: every combination of the fields.

use super::{RULES, ask, detail, forwarded};
use crate::server::Server;

/// Goal: method and target come from one family of fields, each once; anything else is told with its
/// repair, and is a 403 on nginx's path.
/// Method: every subset of the four fields, against what is written down for it.
#[test]
fn every_combination_of_the_fields_is_understood_or_told() {
    let server = Server::by(RULES);
    let lines = [
        "X-Forwarded-Method: POST\r\n",
        "X-Forwarded-Uri: /login\r\n",
        "X-Original-Method: POST\r\n",
        "X-Original-URI: /login\r\n",
    ];
    for set in 0_usize..16 {
        let has = |number: usize| set & (1 << number) != 0;
        let fields: String =
            (0..4).filter(|number| has(*number)).map(|number| lines[number]).collect();
        let fields = format!("{fields}X-Forwarded-For: 198.51.100.{set}\r\n");
        let expected = match (has(0), has(1), has(2), has(3)) {
            (true, true, false, false) | (false, false, true, true) => None,
            (false, false, false, false) => {
                Some("the gateway does not say what its client asked for; ")
            }
            (true, false, false, false) => Some("`X-Forwarded-Uri` is missing; "),
            (false, true, false, false) => Some("`X-Forwarded-Method` is missing; "),
            (false, false, true, false) => Some("`X-Original-URI` is missing; "),
            (false, false, false, true) => Some("`X-Original-Method` is missing; "),
            _ => Some("both `X-Forwarded-"),
        };
        let reply = ask(&server, "GET /v1/authorize", &fields);
        let nginx = ask(&server, "GET /v1/authorize/nginx", &fields);
        match expected {
            None => {
                assert_eq!((reply.status, nginx.status), (200, 403), "{fields}");
                assert_eq!(reply.field("ratelimit-policy"), Some(r#""login";q=1;w=60"#));
                assert_eq!(nginx.field("x-ratelimit-status"), Some("429"));
            }
            Some(fault) => {
                assert_eq!((reply.status, nginx.status), (400, 403), "{fields}");
                assert!(detail(&reply).starts_with(fault), "{fields}: {reply:?}");
                assert_eq!(nginx.field("x-ratelimit-status"), Some("400"));
                assert_eq!(nginx.body, reply.body);
            }
        }
    }
}

/// Goal: a field that a client could have sent beside the gateway's is never chosen between.
/// Method: each of them twice, in either order, and values that are none.
#[test]
fn fields_that_are_there_twice_or_make_no_sense_are_told() {
    let server = Server::by(RULES);
    let good = forwarded("/api/x", "192.0.2.1");
    for name in ["X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Host"] {
        for fields in [format!("{name}: x\r\n{good}"), format!("{good}{name}: x\r\n")] {
            let reply = ask(&server, "GET /v1/authorize", &fields);
            assert_eq!(reply.status, 400);
            assert_eq!(detail(&reply), format!("`{name}` is on more than one line; send it once"));
        }
    }
    let long = "a".repeat(9_000);
    for (method, target, fault) in [
        ("GE T", "/api/x", "`X-Original-Method` is not a method; "),
        ("", "/api/x", "`X-Original-Method` is not a method; "),
        (&"M".repeat(33), "/api/x", "`X-Original-Method` is not a method; "),
        ("GET", &*format!("/{long}"), "`X-Original-URI` is longer than 8192 bytes; "),
        ("GET", "", "the path cannot be matched: "),
        ("GET", "api/x", "the path cannot be matched: "),
        ("GET", "http://api.example/api/x", "the path cannot be matched: "),
    ] {
        let fields = format!("X-Original-Method: {method}\r\nX-Original-URI: {target}\r\n");
        let reply = ask(&server, "GET /v1/authorize", &fields);
        assert_eq!(reply.status, 400, "{method} {target}");
        assert!(detail(&reply).starts_with(fault), "{reply:?}");
        assert!(!reply.body.contains("aaaa"), "nothing that was sent comes back");
    }
}

/// Goal: the host is that of the family that speaks, and never that of this server.
/// Method: a rule by host; the host in either family, in the other one, and in `Host`.
#[test]
fn the_host_is_of_the_same_family() {
    let server = Server::by(RULES);
    let meets = |fields: &str| {
        let reply =
            ask(&server, "GET /v1/authorize", &format!("{fields}X-Forwarded-For: 192.0.2.9\r\n"));
        assert!(matches!(reply.status, 200 | 429), "{reply:?}");
        reply.field("ratelimit-policy").is_some()
    };
    let (one, other) = (
        "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\n",
        "X-Original-Method: GET\r\nX-Original-URI: /\r\n",
    );
    let (own, others) = ("X-Forwarded-Host: shop.example\r\n", "X-Original-Host: shop.example\r\n");
    assert!(meets(&format!("{one}{own}")));
    assert!(meets(&format!("{other}{others}")));
    assert!(!meets(&format!("{one}{others}")));
    assert!(!meets(&format!("{other}{own}")));
    assert!(!meets(one) && !meets(other));
    assert!(!meets(&format!("{one}X-Forwarded-Host:\r\n")));
    let bytes = format!(
        "GET /v1/authorize HTTP/1.1\r\nHost: shop.example\r\n{one}X-Forwarded-For: 192.0.2.9\r\n\r\n"
    );
    let reply = crate::wire::send(server.address, &bytes);
    assert_eq!((reply.status, reply.field("ratelimit-policy")), (200, None));
}

/// Goal: nothing in the query or the client's fields is an option, and the client's own fields reach the
/// rules: its costs, and what it is counted by.
/// Method: the same bucket from calls that try, and a rule on fields.
#[test]
fn a_client_chooses_nothing_but_its_own_fields() {
    let server = Server::by(RULES);
    let tries = "X-Ratekeeper-Cost: 0\r\nX-RateLimit-Status: 200\r\nX-Cost: 0\r\n";
    let lines = [
        "GET /v1/authorize?cost=0&rule=closed&status=200",
        "GET /v1/authorize/nginx?key=mallory&peek=true",
        "GET /v1/authorize?tier=pro",
    ];
    let fields = forwarded("/api/x?cost=0", "192.0.2.1") + tries;
    let replies = lines.map(|line| ask(&server, line, &fields));
    assert_eq!(replies.map(|reply| reply.status), [200, 200, 429]);

    let tokens = |fields: &str| {
        ask(&server, "GET /v1/authorize", &(forwarded("/tokens", "192.0.2.1") + fields))
    };
    let left = |fields: &str| tokens(fields).field("x-ratelimit-remaining").map(str::to_owned);
    assert_eq!(left("X-Org: acme\r\nX-Cost: 7\r\n").as_deref(), Some("3"));
    assert_eq!(left("X-Org: acme\r\nX-Cost: 1\r\n").as_deref(), Some("2"));
    assert_eq!(left("X-Org: other\r\n").as_deref(), Some("9"));
    let reply = tokens("X-Org: acme\r\nX-Org: other\r\n");
    assert_eq!(reply.status, 400);
    assert_eq!(detail(&reply), "the header field `x-org` is there more than once; send it once");
    assert_eq!(tokens("X-Org: acme\r\nX-Cost: -1\r\n").status, 400);
}
