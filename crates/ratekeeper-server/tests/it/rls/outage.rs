//! A store that is away, or does not answer: a decision by each rule's policy, before the caller gives up.

use super::{Stand, framed, user};
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitResponse;
use envoy_types::pb::google::protobuf::value::Kind;
use prost::Message;
use tokio::net::TcpListener;

const OK: i32 = 1;
const OVER_LIMIT: i32 = 2;

fn rules(store: &str, policy: &str) -> String {
    format!(
        "store: {{url: '{store}', deadline: 60s}}\nnodes: 2\n\
         rules: [{{id: a, domain: edge, key: 'descriptor:user', limit: 2/hour, on_store_failure: {policy}}}]"
    )
}

fn source(told: &RateLimitResponse) -> String {
    let kind =
        told.dynamic_metadata.as_ref().and_then(|own| own.fields.get("source")?.kind.clone());
    let text = if let Some(Kind::StringValue(text)) = kind { Some(text) } else { None };
    text.expect("a source")
}

/// Goal: without a store each rule does what it was told, and that is no error.
/// Method: a port on which nobody listens.
#[tokio::test]
async fn an_outage_is_a_decision() {
    for (policy, expected) in [
        ("allow", [(OK, "failed_open"), (OK, "failed_open")]),
        ("deny", [(OVER_LIMIT, "failed_closed"), (OVER_LIMIT, "failed_closed")]),
        ("local", [(OK, "local"), (OVER_LIMIT, "local")]),
    ] {
        let stand = Stand::by(&rules("redis://127.0.0.1:1/0", policy)).await;
        for (code, from) in expected {
            let told = stand.ask(&user("x")).await;
            assert_eq!((told.overall_code, &*source(&told)), (code, from), "{policy}");
            assert_eq!(told.statuses[0].code, code);
        }
    }
}

/// Goal: who only asks whether something is left is refused, too, by a rule that refuses without a store.
/// Method: no hits, and a port on which nobody listens.
#[tokio::test]
async fn who_only_asks_is_refused_without_a_store() {
    let stand = Stand::by(&rules("redis://127.0.0.1:1/0", "deny")).await;
    let mut asks = user("x");
    asks.descriptors[0].hits_addend =
        Some(envoy_types::pb::google::protobuf::UInt64Value { value: 0 });
    let told = stand.ask(&asks).await;
    assert_eq!((told.overall_code, &*source(&told)), (OVER_LIMIT, "failed_closed"));
}

/// Goal: a caller that says how long it waits is answered by then, whatever the store's own deadline is.
/// Method: a store that takes connections and never says anything, with a deadline of a minute.
#[tokio::test]
async fn callers_are_answered_before_they_give_up() {
    let mute = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("redis://{}/0", mute.local_addr().expect("an address"));
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok(connection) = mute.accept().await {
            held.push(connection);
        }
    });
    let path = super::PATH;
    for (policy, code, from) in
        [("allow", OK, "failed_open"), ("deny", OVER_LIMIT, "failed_closed")]
    {
        let stand = Stand::by(&rules(&url, policy)).await;
        let body = framed(&user("x").encode_to_vec());
        let bytes = stand.client().await.call(path, &body, &[("grpc-timeout", "20m")]).await;
        let told = RateLimitResponse::decode(bytes.expect("a decision")).expect("a message");
        assert_eq!((told.overall_code, &*source(&told)), (code, from));
    }
    held.abort();
}

/// Goal: the time of a caller is that of the whole call, and what was asked too late charges nobody twice.
/// Method: a store that says nothing; a look, a take and what is given back in one call; then this server's own limit.
#[tokio::test]
async fn the_time_is_that_of_the_whole_call() {
    let mute = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("redis://{}/0", mute.local_addr().expect("an address"));
    let text = format!(
        "store: {{url: '{url}', deadline: 60s}}\nrules:\n\
         - {{id: far, domain: edge, key: 'descriptor:user', limit: 9/hour}}\n\
         - {{id: near, domain: edge, scope: instance, limit: 2/hour}}\n"
    );
    let stand = Stand::by(&text).await;
    let mut three = super::about("edge", vec![super::descriptor(&[("user", "x")]); 3]);
    let none = envoy_types::pb::google::protobuf::UInt64Value { value: 0 };
    three.descriptors[0].hits_addend = Some(none);
    three.descriptors[2].is_negative_hits = true;
    let call =
        async |request: &envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest| {
            let body = framed(&request.encode_to_vec());
            let mut client = stand.client().await;
            let answer = client.call(super::PATH, &body, &[("grpc-timeout", "40m")]).await;
            RateLimitResponse::decode(answer.expect("a decision")).expect("a message")
        };
    let begun = tokio::time::Instant::now();
    assert_eq!(call(&three).await.overall_code, OK);
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(30),
        "not by the store's own deadline"
    );
    assert_eq!(call(&user("x")).await.overall_code, OK, "the first took one of two, and not two");
    assert_eq!(call(&user("x")).await.overall_code, OVER_LIMIT);
}
