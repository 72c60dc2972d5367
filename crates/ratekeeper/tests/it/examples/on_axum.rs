//! The examples on axum.

use super::axum_example;
use super::served::call;
use axum::Router;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Serves an app as the examples do, until the runtime of the test ends.
async fn served(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    at
}

/// Goal: ten lines of axum limit by the address of the connection.
/// Method: four calls, of which three are allowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn axum_counts_by_address() {
    let at = served(axum_example::app().unwrap()).await;
    for left in ["2", "1", "0"] {
        let answer = call(at, "GET /", &[], "").await;
        assert!(answer.says("Hello!\n") && answer.status == 200, "{answer:?}");
        assert_eq!(answer.field("x-ratelimit-remaining"), left);
    }
    let refused = call(at, "GET /", &[], "").await;
    assert!(refused.is_violated("hello"), "{refused:?}");
    assert_eq!(refused.field("content-type"), "application/problem+json");
    assert!(refused.field("retry-after").parse::<u64>().is_ok_and(|after| after > 0));
}

/// Goal: without Redis each rule does what it was told to, and each tier has its own limit.
/// Method: a store that nobody listens at; calls of two tiers, of nobody, and an order.
#[cfg(all(feature = "redis", feature = "yaml"))]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiers_hold_and_rules_keep_their_policy_while_redis_is_away() {
    let at = served(super::axum_redis_tiers::app("redis://127.0.0.1:1/0").unwrap()).await;
    let (free, pro) = ("authorization: Bearer free-key", "authorization: Bearer pro-key");
    for (fields, limit) in [(&[free][..], "2"), (&[pro], "20"), (&[], "2")] {
        let answer = call(at, "GET /", fields, "").await;
        assert_eq!((answer.status, answer.field("x-ratelimit-limit")), (200, limit), "{fields:?}");
    }
    assert_eq!(call(at, "GET /", &[free], "").await.status, 200);
    assert!(call(at, "GET /", &[free], "").await.is_violated("read"));
    assert_eq!(call(at, "GET /", &[pro], "").await.status, 200);
    let order = call(at, "POST /orders", &[pro], "").await;
    assert_eq!((order.status, order.field("retry-after")), (503, "1"), "{order:?}");
}

/// Goal: a user has its share, the server has its own, and a refusal by one charges neither.
/// Method: three users against a server that takes five, and users that have two.
#[cfg(feature = "yaml")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_protected_and_users_are_treated_alike() {
    let at = served(super::two_scopes::app().unwrap()).await;
    for (user, left) in [("alice", 4), ("alice", 3)] {
        let answer = call(at, "GET /", &[&format!("x-user: {user}")], "").await;
        assert_eq!(answer.status, 200);
        let server = format!(r#""server";r={left};"#);
        assert!(answer.field("ratelimit").contains(&server), "{answer:?}");
    }
    for _ in 0..3 {
        assert!(call(at, "GET /", &["x-user: alice"], "").await.is_violated("fair"));
    }
    for user in ["bob", "bob", "carol"] {
        assert_eq!(call(at, "GET /", &[&format!("x-user: {user}")], "").await.status, 200);
    }
    assert!(call(at, "GET /", &["x-user: carol"], "").await.is_violated("server"));
}

/// Goal: right passwords do not count, and five wrong ones close the door to the right one, too.
/// Method: ten right ones, five wrong ones, then one of each.
#[cfg(feature = "yaml")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_failed_logins_count() {
    let at = served(super::login::app().unwrap()).await;
    for _ in 0..10 {
        assert_eq!(call(at, "POST /login", &[], "correct horse").await.status, 200);
    }
    for _ in 0..5 {
        assert_eq!(call(at, "POST /login", &[], "guess").await.status, 401);
    }
    assert!(call(at, "POST /login", &[], "guess").await.is_violated("login"));
    assert!(call(at, "POST /login", &[], "correct horse").await.is_violated("login"));
}

/// Goal: an estimate is charged, and settled by what the answer says; nobody reserves above `max`.
/// Method: what is left after calls with an estimate, without one, and with far too large a one.
#[cfg(feature = "yaml")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_charged_by_estimate_and_settled_by_use() {
    let at = served(super::tokens::app().unwrap()).await;
    let steps: [(&[&str], &str); 3] = [
        (&["x-tokens: 1000"], "9000"),
        // Five words and ten more were used before.
        (&[], "7985"),
        (&["x-tokens: 99999999"], "5970"),
    ];
    for (fields, left) in steps {
        let answer = call(at, "POST /complete", fields, "Why is the sky blue?").await;
        assert_eq!(answer.field("x-tokens-used"), "15", "{answer:?}");
        assert_eq!(answer.field("x-ratelimit-remaining"), left, "{answer:?}");
    }
    assert_eq!(call(at, "POST /complete", &["x-tokens: many"], "").await.status, 400);
}
