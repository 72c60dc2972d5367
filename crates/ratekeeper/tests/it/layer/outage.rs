//! The layer while the shared store is away.
//!
//! Invariant: an outage is an answer, by what each rule says.

use super::{Door, Inner, by, get, on, rule, set, with};
use http::Response;
use ratekeeper::layer::RateLimitLayer;
use ratekeeper::rule::{KeyKind, RuleSpec, Scope};
use ratekeeper::{Limiter, OnStoreFailure, RedisConfig};
use tower::ServiceExt;

/// A door whose store is at a port where nobody listens.
fn door() -> Door {
    let config = "redis://127.0.0.1:1/0".parse::<RedisConfig>().unwrap();
    let policy = |path: &str, id: &str, on_store_failure| {
        let own = by(KeyKind::Ip, rule(id, "5/minute"));
        on(path, RuleSpec { on_store_failure, ..own })
    };
    let own = by(KeyKind::Ip, rule("own", "2/minute"));
    let rules = [
        policy("/open", "open", OnStoreFailure::Allow),
        policy("/deny", "deny", OnStoreFailure::Deny),
        policy("/local", "local", OnStoreFailure::Local),
        on("/near", RuleSpec { scope: Scope::Instance, ..own }),
    ];
    let limiter = Limiter::redis(config).rules(set(rules)).build();
    Door::before(&RateLimitLayer::new(limiter), Inner::new(|_| Response::new("hello".into())))
}

async fn ask(door: &Door, request: http::Request<()>) -> super::Told {
    let Ok(response) = door.service.clone().oneshot(request).await;
    super::told(response)
}

/// Goal: a rule that refuses without its store answers 503, with when to come back and no figures.
/// Method: a store that is not there, over HTTP and over gRPC.
#[tokio::test]
async fn a_refusal_for_an_outage_is_503() {
    let door = door();
    let told = ask(&door, get("/deny")).await;
    let expected =
        ["cache-control: no-store", "content-type: application/problem+json", "retry-after: 1"];
    assert_eq!((told.status, told.lines()), (503, expected.map(String::from).to_vec()));
    let body: serde_json::Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!(body["violated-policies"], serde_json::json!(["deny"]));
    let kind = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
    assert_eq!((&body["type"], &body["retry_after"]), (&kind.into(), &serde_json::Value::Null));
    let told = ask(&door, with(get("/deny"), "content-type", "application/grpc")).await;
    assert_eq!((told.status, told.field("grpc-status")), (200, Some("14")));
    assert_eq!(door.calls(), 0);
}

/// Goal: a rule that admits without its store says nothing of figures; one that counts by itself then,
/// and one of this server, limit as ever.
/// Method: more requests than the limits have.
#[tokio::test]
async fn other_rules_do_what_they_say() {
    let door = door();
    for _ in 0..9 {
        let told = ask(&door, get("/open")).await;
        assert_eq!((told.status, told.lines().len()), (200, 0));
    }
    for (path, most) in [("/local", 5), ("/near", 2)] {
        let mut passed = 0;
        for _ in 0..9 {
            passed += usize::from(ask(&door, get(path)).await.status == 200);
        }
        assert_eq!(passed, most, "{path}");
    }
    assert_eq!(door.calls(), 16);
}
