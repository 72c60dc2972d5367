//! Whatever is sent to the check API, the answer is a decision or a problem of the caller.

use crate::server::Server;
use crate::wire::post;
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

const RULES: &str = "
tiers: [free, pro]
rules:
  - {id: api, match: {path: '/api/**'}, key: {first: [user, ip]}, limit: {free: 5/minute, pro: unlimited}}
  - {id: all, key: [ip, 'header:x-a'], limit: [9/second, 4 concurrent], cost: {header: X-A, max: 3}}
  - {id: slow, key: global, limit: 9/second, algorithm: leaky_bucket, mode: shaping}
  - {id: closed, match: {path: /closed}, deny: true}
";

/// Any JSON, not too deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            hash_map(".{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// What a field may well have, or anything.
fn mostly(good: Vec<Value>) -> impl Strategy<Value = Value> {
    prop_oneof![6 => select(good), 1 => any_json()]
}

/// An object that has some of these fields, each as it should be or not.
fn some_of(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let each = fields.into_iter().map(|(name, value)| {
        proptest::option::weighted(0.8, value).prop_map(move |value| (name.to_owned(), value))
    });
    let object = |fields: Vec<(String, Option<Value>)>| {
        let there = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
        Value::Object(there.collect())
    };
    each.collect::<Vec<_>>().prop_map(object).boxed()
}

fn request() -> BoxedStrategy<Value> {
    let lines = prop_oneof![
        select(vec![json!("1"), json!("x"), json!(["1", "2"]), json!([])]),
        ".{0,9}".prop_map(Value::from),
    ];
    let headers = hash_map("x-a|X-A|[a-zé -]{0,5}", lines, 0..3)
        .prop_map(|map| Value::Object(map.into_iter().collect()));
    let path = prop_oneof![
        select(vec![json!("/api/x"), json!("/closed"), json!("*"), json!("/a/%2e%2e/b")]),
        "/.{0,20}".prop_map(Value::from),
    ];
    some_of(vec![
        ("method", mostly(vec![json!("GET"), json!("post"), json!("")]).boxed()),
        ("path", path.boxed()),
        ("host", mostly(vec![json!("a.example"), json!(":0")]).boxed()),
        ("ip", mostly(vec![json!("192.0.2.1"), json!("::1")]).boxed()),
        ("headers", headers.boxed()),
        ("user", mostly(vec![json!("alice")]).boxed()),
    ])
}

fn question() -> BoxedStrategy<Value> {
    let cost = || mostly(vec![json!(0), json!(1), json!(4), json!(4_294_967_296_u64)]).boxed();
    let rule = vec![json!("api"), json!("all"), json!("slow"), json!("closed"), json!("none")];
    let key = vec![json!("alice"), json!(["192.0.2.1", "x"]), json!(["a", "b", "c"])];
    prop_oneof![
        4 => some_of(vec![("request", request()), ("cost", cost())]),
        3 => some_of(vec![
            ("rule", mostly(rule).boxed()),
            ("key", mostly(key).boxed()),
            ("tier", mostly(vec![json!("pro"), json!("gold")]).boxed()),
            ("cost", cost()),
        ]),
        1 => any_json(),
    ]
    .boxed()
}

/// Goal: no JSON makes the check API fail: the answer is 200 with a decision, or 4xx with a problem.
/// Method: bodies that are mostly right in each field, and any JSON, alone and in batches; the server is
/// alive after all of them.
#[test]
fn every_body_is_answered_by_a_decision_or_a_problem() {
    let server = Server::by(RULES);
    let body = prop_oneof![3 => question(), 1 => vec(question(), 0..4).prop_map(Value::from)];
    let mut runner =
        TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(600) });
    let (mut decided, mut refused) = (0, 0);
    for path in ["/v1/check", "/v1/reserve"] {
        let done = runner.run(&body, |body| {
            let reply = post(server.address, path, &body.to_string());
            let json = reply.json();
            match reply.status {
                200 => {
                    let answers = json.as_array().cloned().unwrap_or_else(|| vec![json]);
                    prop_assert!(answers.iter().all(|answer| answer["allowed"].is_boolean()));
                }
                status => {
                    prop_assert!((400..500).contains(&status), "{status}: {}", reply.body);
                    prop_assert!(json["detail"].is_string(), "{}", reply.body);
                }
            }
            Ok(())
        });
        done.expect("every body is answered");
    }
    for body in [r#"{"rule":"api","key":"alice"}"#, r#"{"rule":"none","key":"alice"}"#] {
        match post(server.address, "/v1/check", body).status {
            200 => decided += 1,
            404 => refused += 1,
            status => panic!("{status}"),
        }
    }
    assert_eq!((decided, refused), (1, 1), "it still tells good from bad");
}
