//! Who is let in: passwords, users and what a user may do.
//!
//! Invariant: a login that fails is told as such, with the user and without the password.

use super::{Errors, PASSWORD, config, refused, verify};
use ratekeeper::outage::Class;
use ratekeeper::{Limiter, OnStoreFailure, RedisConfig, Source, StoreError};
use ratekeeper_testing::servers::{Kind, Server};
use std::time::Duration;

/// Goal: a wrong password, a missing one and one that nobody asked for are told apart.
/// Method: a server with a password and one without, asked with right and wrong ones.
#[tokio::test]
async fn a_wrong_a_missing_and_a_needless_password_are_told() {
    let closed = Server::with(Kind::Redis, &["--requirepass", PASSWORD]);
    let at = closed.address();
    verify(config(&format!("redis://:{PASSWORD}@{at}"))).await.unwrap();
    verify(config(&format!("redis://{at}")).password(PASSWORD)).await.unwrap();
    let wrong = config(&format!("redis://:{PASSWORD}x@{at}/0"));
    let words =
        [&format!("`redis://:***@{at}`"), "authentication failed", "; check user and password"];
    refused(wrong, Class::Denied, &words).await;
    let missing = config(&format!("redis://{at}/0"));
    let words = [&format!("`redis://{at}`"), "NOAUTH", "; give the user's password"];
    refused(missing, Class::Denied, &words).await;
    let stranger = config(&format!("redis://mallory:{PASSWORD}@{at}/0"));
    let words = [&format!("`redis://mallory:***@{at}`"), "failed", "; check user and password"];
    refused(stranger, Class::Denied, &words).await;
    let open = Server::start(Kind::Redis);
    let needless = config(&format!("redis://mallory:{PASSWORD}@{}", open.address()));
    refused(needless, Class::Denied, &["failed", "and whether the server wants one"]).await;
}

/// Goal: a server that lets nobody in is an outage for decisions: the rule's policy decides, the breaker
/// opens at once, and the observer is told, without the password.
/// Method: a wrong password, one rule for each policy; then the right one.
#[tokio::test]
async fn without_a_login_the_policy_of_the_rule_decides() {
    let server = Server::with(Kind::Redis, &["--requirepass", PASSWORD]);
    let errors = Errors::default();
    let wrong = config(&server.url()).password(&format!("{PASSWORD}?")).nodes(4);
    let limiter = policies(wrong.deadline(Duration::from_secs(1)), &errors);
    let sources = [Source::FailedOpen, Source::FailedClosed, Source::Local];
    for (name, source) in ["allow", "deny", "local"].into_iter().zip(sources) {
        assert_eq!(limiter.rule(name).unwrap().check("alice").await.source(), source);
    }
    let errors = errors.take();
    let classes: Vec<Class> = errors.iter().map(StoreError::class).collect();
    assert_eq!(classes, [Class::Denied, Class::Open, Class::Open]);
    assert!(errors.iter().all(|error| !error.to_string().contains(PASSWORD)), "{errors:?}");
    let right = config(&server.url()).password(PASSWORD).deadline(Duration::from_secs(1));
    let limiter = policies(right, &Errors::default());
    for name in ["allow", "deny", "local"] {
        assert_eq!(limiter.rule(name).unwrap().check("alice").await.source(), Source::Store);
    }
}

/// A rule for each policy.
fn policies(config: RedisConfig, errors: &Errors) -> Limiter {
    let mut builder = Limiter::redis(config).observer(errors.clone());
    let policies = [OnStoreFailure::Allow, OnStoreFailure::Deny, OnStoreFailure::Local];
    for (name, policy) in ["allow", "deny", "local"].into_iter().zip(policies) {
        builder = builder.rule(name, "100/minute").unwrap().on_store_failure(name, policy).unwrap();
    }
    builder.build()
}

/// Goal: the database of the URL is the one that is used; one that the server does not have is told.
/// Method: decide in database 3 of a server that has four, and look into all; ask for the fifth.
#[tokio::test]
async fn the_database_of_the_url_is_used() {
    let server = Server::with(Kind::Redis, &["--databases", "4"]);
    let url = |db: u32| config(&format!("redis://{}/{db}", server.address()));
    let patient = url(3).deadline(Duration::from_secs(1));
    let limiter = Limiter::redis(patient).rule("api", "10/minute").unwrap().build();
    assert_eq!(limiter.rule("api").unwrap().check("alice").await.source(), Source::Store);
    let keyspace = server.text(&["INFO", "keyspace"]);
    assert!(keyspace.contains("db3:keys=1") && !keyspace.contains("db0"), "{keyspace}");
    let words = ["DB index is out of range", "; write a database that the server has"];
    refused(url(4), Class::Config, &words).await;
}
