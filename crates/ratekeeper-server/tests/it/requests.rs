//! `POST /v1/check` with a request: identity, rules, keys and costs are worked out by the server.

use crate::server::Server;
use crate::wire::{check, post};
use serde_json::{Value, json};
use std::time::Duration;

const RULES: &str = "
identity: {trusted_proxies: [10.0.0.0/8]}
tiers: [free, pro]
exempt: [{path: /healthz}]
rules:
  - {id: api, match: {path: '/api/**'}, key: {first: [user, ip]}, limit: {free: 5/minute, pro: 50/minute}}
  - {id: writes, match: {methods: [POST], path: '/api/**'}, key: ip, limit: 2/minute}
  - {id: watched, match: {path: /search}, key: ip, limit: 1/minute, rollout: shadow}
  - {id: closed, match: {path: /closed}, deny: true}
  - {id: tuple, match: {path: /tuple}, key: [user, route], limit: 3/minute}
  - {id: free, match: {path: /free}, key: ip, limit: unlimited}
  - {id: jobs, match: {path: /jobs}, key: ip, limit: 2 concurrent}
  - id: tokens
    match: {path: /chat}
    key: ip
    limit: 100/minute
    cost: {header: X-Tokens, default: 10, max: 50}
overrides:
  - {rule: api, key: acme, limit: 500/minute}
";

fn ask(server: &Server, body: &Value) -> Value {
    let reply = check(server.address, &body.to_string());
    assert_eq!(reply.status, 200, "{body}: {}", reply.body);
    reply.json()
}

fn request(method: &str, path: &str, ip: &str) -> Value {
    json!({"request": {"method": method, "path": path, "ip": ip}})
}

/// Goal: a request is decided by all rules that match, as one decision, in the form of the contract.
/// Method: the whole bodies of an admitted, a refused and an unmatched request.
#[test]
fn a_request_is_decided_by_all_rules_that_match() {
    let server = Server::by(RULES);
    let body = r#"{"request":{"method":"POST","path":"/api/x","ip":"192.0.2.1"},"cost":2}"#;
    let tail = r#""delay":null,"never":false,"shadow":false}"#;
    let admitted = check(server.address, body).body;
    assert_eq!(
        admitted,
        [
            r#"{"allowed":true,"rule":"writes","limit":2,"remaining":0,"retry_after":null,"#,
            r#""reset_after":60.0,"delay":null,"never":false,"source":"store","id":null,"version":1,"#,
            r#""results":[{"rule":"api","allowed":true,"limit":5,"remaining":3,"retry_after":null,"#,
            r#""reset_after":24.0,"#,
            tail,
            r#",{"rule":"writes","allowed":true,"limit":2,"remaining":0,"retry_after":null,"#,
            r#""reset_after":60.0,"#,
            tail,
            "]}"
        ]
        .concat()
    );
    let refused = ask(&server, &request("POST", "/api/x", "192.0.2.1"));
    assert_eq!((&refused["allowed"], &refused["rule"]), (&false.into(), &"writes".into()));
    assert_eq!(refused["retry_after"], 30.0);
    assert_eq!(refused["results"][0]["remaining"], 3, "a refusal charges nothing");
    assert_eq!(
        check(server.address, &request("GET", "/other", "192.0.2.1").to_string()).body,
        concat!(
            r#"{"allowed":true,"rule":null,"limit":null,"remaining":null,"retry_after":null,"#,
            r#""reset_after":null,"delay":null,"never":false,"source":"store","id":null,"version":1,"#,
            r#""results":[]}"#
        )
    );
}

/// Goal: other spellings of a path, `HEAD` for `GET`, and exemptions are as for any door.
/// Method: a table of requests, with the rules that answer.
#[test]
fn requests_are_matched_in_canonical_form() {
    let server = Server::by(RULES);
    let table: [(&str, &str, &[&str]); 7] = [
        ("GET", "/API/x", &["api"]),
        ("post", "/x/../api//y?query=/z", &["api", "writes"]),
        ("HEAD", "/api", &["api"]),
        ("GET", "/healthz", &[]),
        ("GET", "/free", &["free"]),
        ("GET", "/closed", &["closed"]),
        ("GET", "/", &[]),
    ];
    for (method, path, rules) in table {
        let answer = ask(&server, &request(method, path, "192.0.2.1"));
        let results = answer["results"].as_array().expect("an array");
        let found: Vec<_> = results.iter().map(|own| own["rule"].as_str()).collect();
        let wanted: Vec<_> = rules.iter().map(|rule| Some(*rule)).collect();
        assert_eq!(found, wanted, "{method} {path}");
    }
}

/// Goal: `limit` and `remaining` are null where nothing is limited; a closed rule refuses for good.
/// Method: the members of both answers.
#[test]
fn unlimited_and_closed_rules_say_so() {
    let server = Server::by(RULES);
    let free = ask(&server, &request("GET", "/free", "192.0.2.1"));
    assert_eq!((&free["allowed"], &free["rule"]), (&true.into(), &"free".into()));
    assert_eq!((&free["limit"], &free["remaining"]), (&Value::Null, &Value::Null));
    let closed = ask(&server, &request("GET", "/closed", "192.0.2.1"));
    assert_eq!((&closed["allowed"], &closed["rule"]), (&false.into(), &"closed".into()));
    assert_eq!((&closed["never"], &closed["retry_after"]), (&true.into(), &Value::Null));
    let reserved =
        post(server.address, "/v1/reserve", &request("GET", "/closed", "192.0.2.1").to_string());
    assert_eq!(reserved.json()["allowed"], false);
    assert!(reserved.json().get("hold").is_none(), "what is refused has no hold");
}

/// Goal: rules in shadow answer, flagged, and refuse nobody.
/// Method: go over the limit of a rule in shadow.
#[test]
fn a_rule_in_shadow_answers_and_refuses_nobody() {
    let server = Server::by(RULES);
    for would in [true, false] {
        let answer = ask(&server, &request("GET", "/search", "192.0.2.1"));
        assert_eq!((&answer["allowed"], &answer["rule"]), (&true.into(), &Value::Null));
        let own = &answer["results"][0];
        assert_eq!((&own["rule"], &own["shadow"]), (&"watched".into(), &true.into()));
        assert_eq!(own["allowed"], would);
    }
}

/// Goal: `ip` is the peer, and header fields count only from trusted proxies; IPv6 by its /64.
/// Method: spend one caller's units under one spelling, and look at what others have.
#[test]
fn the_address_is_the_peers_unless_a_trusted_proxy_speaks() {
    let server = Server::by(RULES);
    let left = |ip: &str, forwarded: Value| {
        let request = json!({"method": "GET", "path": "/api/x", "ip": ip,
            "headers": {"X-Forwarded-For": forwarded}});
        ask(&server, &json!({"request": request}))["remaining"].as_u64().expect("a figure")
    };
    assert_eq!(left("192.0.2.1", json!("203.0.113.9")), 4, "an untrusted peer speaks for itself");
    assert_eq!(left("192.0.2.1", json!("203.0.113.8")), 3);
    assert_eq!(left("10.0.0.1", json!("192.0.2.1")), 2, "a proxy speaks for the same caller");
    assert_eq!(left("10.0.0.2", json!(["198.51.100.1", "192.0.2.1"])), 1, "lines are in order");
    assert_eq!(left("2001:db8::1", json!([])), 4);
    assert_eq!(left("2001:db8::ffff:1", json!([])), 3, "one subscriber is one caller");
    assert_eq!(left("::ffff:192.0.2.1", json!([])), 0, "IPv4 in IPv6 form is the IPv4 address");
}

/// Goal: both forms count the same buckets: keys, tiers and overrides of file rules are heeded.
/// Method: charge by a request and look by rule and key, and the other way round.
#[test]
fn a_rule_and_its_key_are_what_a_request_of_that_caller_meets() {
    let server = Server::by(RULES);
    let by_user = |user: &str| json!({"request": {"method": "GET", "path": "/api/x", "ip": "192.0.2.1", "user": user}});
    assert_eq!(ask(&server, &by_user("alice"))["remaining"], 4);
    assert_eq!(ask(&server, &json!({"rule": "api", "key": "alice"}))["remaining"], 3);
    assert_eq!(ask(&server, &by_user("alice"))["remaining"], 2);
    let by_ip = json!({"rule": "api", "key": "192.0.2.1"});
    assert_eq!(ask(&server, &by_ip)["remaining"], 4, "an address is not a user");
    assert_eq!(ask(&server, &request("GET", "/api/x", "192.0.2.1"))["remaining"], 3);
    let pro = json!({"rule": "api", "key": "bob", "tier": "pro"});
    assert_eq!((ask(&server, &pro))["limit"], 50);
    let unknown = json!({"rule": "api", "key": "carol", "tier": "gold"});
    assert_eq!((ask(&server, &unknown))["limit"], 5, "an unknown tier is the first");
    assert_eq!(ask(&server, &json!({"rule": "api", "key": "acme"}))["limit"], 500);
    assert_eq!(ask(&server, &by_user("acme"))["remaining"], 498);
    let tuple = json!({"rule": "tuple", "key": ["alice", "/tuple"]});
    assert_eq!(ask(&server, &tuple)["remaining"], 2);
    let request =
        json!({"request": {"method": "GET", "path": "/tuple", "ip": "192.0.2.1", "user": "alice"}});
    assert_eq!(ask(&server, &request)["remaining"], 1);
}

/// Goal: the cost is the header's where a rule says so, else the caller's; 0 looks.
/// Method: a table on one bucket.
#[test]
fn the_cost_is_what_rule_header_and_caller_say() {
    let server = Server::by(RULES);
    let table: [(Value, Value, u64); 5] = [
        (json!({"X-Tokens": "30"}), json!(1), 70),
        (json!({}), json!(1), 60),
        (json!({"x-tokens": "9999"}), json!(1), 10),
        (json!({"X-Tokens": "5"}), json!(0), 10),
        (json!({"X-Tokens": "5"}), json!(3), 5),
    ];
    for (headers, cost, left) in table {
        let request = json!({"method": "GET", "path": "/chat", "ip": "192.0.2.1",
            "headers": headers});
        let answer = ask(&server, &json!({"request": request, "cost": cost}));
        assert_eq!(answer["remaining"], left, "{request} {cost}");
    }
}

/// Goal: a batch may mix both forms, each decided by itself in order; one bad item charges nothing.
/// Method: a mixed batch; the same with an item that cannot be decided, and a look.
#[test]
fn a_batch_may_mix_both_forms() {
    let server = Server::by(RULES);
    let get = request("GET", "/api/x", "192.0.2.1");
    let key = json!({"rule": "api", "key": "192.0.2.1", "cost": 2});
    let answers = ask(&server, &json!([get, key, get]));
    let left: Vec<_> = (0..3).map(|index| answers[index]["remaining"].as_u64()).collect();
    assert_eq!(left, [Some(4), Some(2), Some(1)]);
    for (bad, field) in [
        (request("GET", "/api/%zz", "192.0.2.1"), "[1].request"),
        (json!({"request": {"method": "GET", "path": "/api/x"}}), "[1].request.ip"),
    ] {
        let reply = check(server.address, &json!([get, bad]).to_string());
        assert_eq!((reply.status, reply.json()["field"].as_str()), (400, Some(field)));
    }
    let peek = json!({"rule": "api", "key": "192.0.2.1", "cost": 0});
    assert_eq!(ask(&server, &peek)["remaining"], 1, "nothing was charged");
}

/// Goal: a reserved request holds all its rules, and is settled by name; permits come by name, too.
/// Method: reserve under two rules and settle at nothing; take permits, and release one.
#[test]
fn a_request_is_reserved_and_permitted_by_name() {
    let server = Server::by(RULES);
    let write = request("POST", "/api/x", "192.0.2.1");
    let reserved = post(server.address, "/v1/reserve", &write.to_string()).json();
    assert_eq!(reserved["results"].as_array().map(Vec::len), Some(2));
    let body = json!({"hold": reserved["hold"], "cost": 0}).to_string();
    assert_eq!(post(server.address, "/v1/settle", &body).body, r#"{"settled":true}"#);
    for rule in ["api", "writes"] {
        let peek = ask(&server, &json!({"rule": rule, "key": "192.0.2.1", "cost": 0}));
        assert_eq!(peek["remaining"], peek["limit"], "{rule} has everything back");
    }
    let job = request("GET", "/jobs", "192.0.2.1");
    let permit = ask(&server, &job)["permit"].clone();
    assert_eq!(ask(&server, &job)["remaining"], 0);
    assert_eq!(ask(&server, &job)["allowed"], false);
    let body = json!({"permit": permit}).to_string();
    assert_eq!(post(server.address, "/v1/release", &body).body, r#"{"released":true}"#);
    assert_eq!(ask(&server, &job)["allowed"], true);
}

/// Goal: a rule that is asked by name does what its rollout says, and one that is closed refuses.
/// Method: a rule in shadow beyond its limit, a closed one, and one that is off.
#[test]
fn a_rule_that_is_asked_by_name_does_what_its_rollout_says() {
    let off =
        "  - {id: gone, match: {path: /gone}, key: ip, limit: 1/minute, rollout: off}\noverrides:";
    let server = Server::by(&RULES.replace("overrides:", off));
    let watched = json!({"rule": "watched", "key": "192.0.2.1"});
    assert_eq!(ask(&server, &watched)["results"][0]["remaining"], 0);
    let second = ask(&server, &watched);
    assert_eq!((&second["allowed"], &second["rule"]), (&json!(true), &Value::Null));
    let result = &second["results"][0];
    assert_eq!((&result["allowed"], &result["shadow"]), (&json!(false), &json!(true)));
    let closed = ask(&server, &json!({"rule": "closed", "key": "192.0.2.1"}));
    assert_eq!((&closed["allowed"], &closed["never"]), (&json!(false), &json!(true)));
    for _ in 0..2 {
        let gone = ask(&server, &json!({"rule": "gone", "key": "192.0.2.1"}));
        assert_eq!(
            (&gone["allowed"], gone["results"].as_array().map(Vec::len)),
            (&json!(true), Some(0))
        );
    }
}

/// Goal: what a reserved request really used is settled under the rules that take an estimate; others
/// stay charged as they were, unless all is given back.
/// Method: a rule by requests beside one by tokens, settled and cancelled.
#[test]
fn only_rules_that_take_estimates_are_settled() {
    let each = "  - {id: each, match: {path: /chat}, key: ip, limit: 10/minute}\noverrides:";
    let server = Server::by(&RULES.replace("overrides:", each));
    let left = |rule: &str| {
        ask(&server, &json!({"rule": rule, "key": "192.0.2.1", "cost": 0}))["remaining"].clone()
    };
    let chat = request("POST", "/chat", "192.0.2.1");
    for (used, tokens, calls) in [(json!(7), 93, 9), (json!(0), 93, 9)] {
        let reserved = post(server.address, "/v1/reserve", &chat.to_string()).json();
        let body = json!({"hold": reserved["hold"], "cost": used}).to_string();
        assert_eq!(post(server.address, "/v1/settle", &body).body, r#"{"settled":true}"#);
        assert_eq!((left("tokens"), left("each")), (json!(tokens), json!(calls)), "{used}");
    }
}

/// Goal: a request that waits as it was told gets in, and not a tick before.
/// Method: two limits in a row, at the time that the refusal names.
#[test]
fn a_refused_request_gets_in_at_the_time_it_names() {
    let server = Server::by(RULES);
    let write = request("POST", "/api/x", "192.0.2.1");
    while ask(&server, &write)["allowed"] == true {}
    let wait = ask(&server, &write)["retry_after"].as_f64().expect("a wait");
    let (wait, tick) = (Duration::from_secs_f64(wait), Duration::from_micros(1));
    server.clock.advance(wait - tick);
    assert_eq!(ask(&server, &write)["retry_after"], 1e-6);
    server.clock.advance(tick);
    assert_eq!(ask(&server, &write)["allowed"], true);
}
