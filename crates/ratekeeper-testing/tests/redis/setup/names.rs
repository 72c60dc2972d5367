//! Names in the store: the same in every process and for years, and apart where they have to be.
//!
//! Invariant: a name that is written down here never changes; if it did, a running fleet would start
//! afresh.

use super::config;
use ratekeeper::{Algorithm, Limit, Limiter, RedisConfig};
use ratekeeper_testing::servers::{Kind, Server};
use std::collections::BTreeSet;
use std::time::Duration;

fn patient(server: &Server) -> RedisConfig {
    config(&server.url()).deadline(Duration::from_secs(1))
}

/// The names that a server has.
fn names(server: &Server) -> BTreeSet<String> {
    server
        .ask(&["KEYS", "*"])
        .list()
        .iter()
        .map(ratekeeper_testing::servers::wire::Reply::text)
        .collect()
}

/// The name of one key under one rule.
async fn name_of(
    server: &Server,
    config: RedisConfig,
    limit: Limit,
    key: impl ratekeeper::Key,
) -> String {
    server.ask(&["FLUSHALL"]);
    let limiter = Limiter::redis(config).rule("api", limit).unwrap().build();
    assert!(limiter.rule("api").unwrap().check(key).await.is_allowed());
    let names: Vec<String> = names(server).into_iter().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    names.concat()
}

/// Goal: names are what they always were.
/// Method: names of some keys, with and without a secret and under another prefix, written down.
#[tokio::test]
async fn names_of_keys_are_what_they_always_were() {
    let server = Server::start(Kind::Redis);
    let limit = Limit::per_minute(100).build().unwrap();
    let plain = || patient(&server);
    let secret = |text: &str| patient(&server).key_secret(text.as_bytes());
    for (config, key, name) in [
        (plain(), vec!["alice"], "rk:{qPk}9It9SDnWVfhsEjXAZGRHqB"),
        (plain(), vec![""], "rk:{H_u}oUEigcVXi2o_Pgs8wd5HdD"),
        (plain(), vec!["a", "bc"], "rk:{aYN}KAxudyNLitbziFwRuW3ZrC"),
        (plain(), vec!["{x}\r\n\0"], "rk:{cXl}HrGRhc3HtEDWvZ7iHdWnzC"),
        (secret("s3cret"), vec!["alice"], "rk:{ARe}OnSaGEAD2MLJQGOTMlo6iB"),
        (plain().prefix("shop.1").unwrap(), vec!["alice"], "shop.1:{qPk}9It9SDnWVfhsEjXAZGRHqB"),
    ] {
        assert_eq!(name_of(&server, config, limit, key.clone()).await, name, "{key:?}");
    }
    assert_ne!(
        name_of(&server, secret("another"), limit, "alice").await,
        name_of(&server, secret("s3cret"), limit, "alice").await
    );
}

/// Goal: the same for every kind of limit, each with a name of its own.
/// Method: names of one key under each, written down.
#[tokio::test]
async fn names_of_limits_are_what_they_always_were() {
    let server = Server::start(Kind::Redis);
    let by = |algorithm| Limit::per_minute(100).algorithm(algorithm).build().unwrap();
    for (limit, name) in [
        (by(Algorithm::TokenBucket), "rk:{qPk}9It9SDnWVfhsEjXAZGRHqB"),
        (by(Algorithm::LeakyBucket), "rk:{qPk}iwBV-wrlg8D786_PeIvROD"),
        (by(Algorithm::FixedWindow), "rk:{qPk}1EUueTAe1GPnIdX3mXoE4D"),
        (by(Algorithm::SlidingWindowLog), "rk:{qPk}mfD6gspUXjbofnz8EtWpOA"),
        (by(Algorithm::SlidingWindowCounter), "rk:{qPk}XMdLmzyYDLXC9zz6MKm6TB"),
        (Limit::per_minute(100).shaping().build().unwrap(), "rk:{qPk}xFQPdABYA3SwiPcBdrm2qD"),
        // The burst is none of the name, so that what was used stays when it is changed.
        (Limit::per_minute(100).burst(7).build().unwrap(), "rk:{qPk}9It9SDnWVfhsEjXAZGRHqB"),
    ] {
        assert_eq!(name_of(&server, patient(&server), limit, "alice").await, name, "{limit}");
    }
}

/// Goal: a prefix keeps two fleets on one server apart, and so does a secret; without either they share.
/// Method: use a limit up in one, and ask the others.
#[tokio::test]
async fn a_prefix_and_a_secret_keep_fleets_apart() {
    let server = Server::start(Kind::Redis);
    let fleet = |config: RedisConfig| {
        let limiter = Limiter::redis(config).rule("api", "5/hour").unwrap().build();
        limiter.rule("api").unwrap()
    };
    let first = fleet(patient(&server));
    assert_eq!(first.check("alice").cost(5).await.remaining(), 0);
    let same = fleet(patient(&server));
    assert!(same.check("alice").await.is_refused());
    let prefix = fleet(patient(&server).prefix("other").unwrap());
    assert_eq!(prefix.check("alice").await.remaining(), 4);
    let secret = fleet(patient(&server).key_secret(b"other"));
    assert_eq!(secret.check("alice").await.remaining(), 4);
    let names = names(&server);
    assert_eq!(names.iter().filter(|name| name.starts_with("rk:{")).count(), 2, "{names:?}");
    assert_eq!(names.iter().filter(|name| name.starts_with("other:{")).count(), 1, "{names:?}");
}
