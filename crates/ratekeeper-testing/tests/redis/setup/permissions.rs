//! What a user of the server has to be allowed: the line of `docs/redis.md`, no more and no less.
//!
//! Invariant: the line that is tested is the line that is printed.

use super::{Errors, PASSWORD, config, refused, verify};
use ratekeeper::outage::Class;
use ratekeeper::{Algorithm, Limit, Limiter, RedisConfig, Source, StoreError};
use ratekeeper_testing::servers::{Cluster, Kind, Server};
use std::time::Duration;

/// The line as it is printed, with a password of ours.
fn line() -> Vec<String> {
    let page = include_str!("../../../../../docs/redis.md");
    let line = page.lines().find(|line| line.starts_with("ACL SETUSER ratekeeper "));
    let line = line.expect("the page has the line").replace(">password", &format!(">{PASSWORD}"));
    line.split(' ').map(str::to_owned).collect()
}

/// Makes the user on a server, without some of the line's words.
fn add_user(server: &Server, without: &str) {
    let words: Vec<String> = line().into_iter().filter(|word| word != without).collect();
    server.ask(&["ACL", "DELUSER", "ratekeeper"]);
    server.ask(&words.iter().map(String::as_str).collect::<Vec<_>>());
}

fn as_user(url: &str) -> RedisConfig {
    config(&url.replace("://", &format!("://ratekeeper:{PASSWORD}@")))
        .deadline(Duration::from_secs(1))
}

/// Does everything that can be done with a store, and returns what went wrong.
async fn everything(config: RedisConfig) -> Vec<StoreError> {
    let errors = Errors::default();
    let mut builder = Limiter::redis(config.clone()).observer(errors.clone());
    for algorithm in Algorithm::ALL {
        let limit = Limit::per_hour(100).algorithm(algorithm);
        builder = builder.rule(algorithm.name(), limit).unwrap();
    }
    builder = builder.rule("shaping", Limit::per_hour(10).shaping()).unwrap();
    builder = builder.rule("permits", Limit::concurrent(2)).unwrap();
    let limiter = builder.build();
    let _ = limiter.verify().await.map_err(|error| errors.0.lock().unwrap().push(error));
    for rule in limiter.rules() {
        let name = rule.name();
        let rule = limiter.rule(name).unwrap();
        let decision = rule.check("alice").await;
        if let Some(permit) = decision.permit() {
            limiter.release(permit).await;
        }
        let _ = rule.peek("alice").await;
        let _ = rule.refund("alice", 1).await;
        rule.reserve("alice", 1).await.settle(0).await;
        if let Some(hold) = rule.reserve("alice", 1).by_name().await.unwrap().hold() {
            let _ = limiter.settle(hold, 0).await;
        }
        drop(rule.acquire("bob").await);
        let _ = rule.reset("alice").await;
        let _ = rule.reset("bob").await;
    }
    let rules = limiter.rules();
    let _ = limiter.check_all(rules.iter().map(|rule| (rule.name(), "carol"))).unwrap().await;
    errors.take()
}

/// Goal: the line of the page is enough for everything, on one server.
/// Method: do everything as that user, on Redis and Valkey, in the first database and another.
#[tokio::test]
async fn the_line_of_the_page_is_enough() {
    for kind in [Kind::Redis, Kind::Valkey] {
        let server = Server::start(kind);
        add_user(&server, "");
        for url in [server.url(), format!("redis://{}/3", server.address())] {
            assert_eq!(everything(as_user(&url)).await, [], "{kind:?}, {url}");
        }
    }
}

/// Goal: in a cluster, too, with a slot that is on its way to another server.
/// Method: do everything as that user; then find out where a key is, put its slot on its way, so that
/// it has to be asked for with ASKING, and ask.
#[tokio::test]
async fn the_line_of_the_page_is_enough_for_a_cluster() {
    let cluster = Cluster::start(Kind::Redis, 2, 0);
    cluster.nodes.iter().for_each(|node| add_user(node, ""));
    assert_eq!(everything(as_user(&cluster.url())).await, []);
    cluster.nodes.iter().for_each(|node| _ = node.ask(&["FLUSHALL"]));
    let limiter = Limiter::redis(as_user(&cluster.url())).rule("api", "10/minute").unwrap().build();
    let api = limiter.rule("api").unwrap();
    assert_eq!(api.check("alice").await.source(), Source::Store);
    let from = usize::from(cluster.nodes[0].text(&["DBSIZE"]) == "0");
    let (old, new) = (&cluster.nodes[from], &cluster.nodes[1 - from]);
    let slot = old.text(&["CLUSTER", "KEYSLOT", &old.text(&["KEYS", "*"])]);
    old.ask(&["FLUSHALL"]);
    new.ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &cluster.id(from)]);
    old.ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &cluster.id(1 - from)]);
    let decision = api.check("alice").await;
    assert_eq!((decision.source(), decision.remaining()), (Source::Store, 9));
    assert_eq!((old.text(&["DBSIZE"]), new.text(&["DBSIZE"])), ("0".into(), "1".into()));
    for word in ["+asking", "+cluster|slots"] {
        cluster.nodes.iter().for_each(|node| add_user(node, word));
        let limiter = Limiter::redis(as_user(&cluster.url())).rule("api", "10/minute").unwrap();
        let decision = limiter.build().rule("api").unwrap().check("alice").await;
        assert_eq!(decision.source(), Source::FailedOpen, "without {word}");
    }
}

/// Goal: the line has nothing that is not needed, and what is left out is missed.
/// Method: leave out one command after the other, and do everything in another database.
#[tokio::test]
async fn every_command_of_the_line_is_needed() {
    let server = Server::start(Kind::Redis);
    let url = format!("redis://{}/3", server.address());
    for word in line().iter().filter(|word| word.starts_with('+')) {
        // These two are a cluster's.
        if ["+cluster|slots", "+asking"].contains(&&**word) {
            continue;
        }
        add_user(&server, word);
        server.ask(&["SCRIPT", "FLUSH"]);
        assert_ne!(everything(as_user(&url)).await, [], "{word} is not needed");
    }
}

/// Goal: the user can do nothing else: not read the settings, nor other keys, nor all keys.
/// Method: ask the server whether that user may.
#[tokio::test]
async fn the_user_of_the_line_can_do_nothing_else() {
    let server = Server::start(Kind::Redis);
    add_user(&server, "");
    let may = |words: &[&str]| server.text(&[&["ACL", "DRYRUN", "ratekeeper"][..], words].concat());
    assert_eq!(may(&["SET", "rk:{AAA}x", "1"]), "OK");
    for words in [
        &["CONFIG", "GET", "*"][..],
        &["DEBUG", "JMAP"],
        &["KEYS", "*"],
        &["SCAN", "0"],
        &["FLUSHALL"],
        &["GET", "other"],
        &["SET", "rkey", "1"],
        &["EVAL", "return 1", "1", "other"],
        &["CLUSTER", "NODES"],
        &["SCRIPT", "FLUSH"],
        &["ACL", "LIST"],
        &["PUBLISH", "channel", "1"],
    ] {
        let answer = may(words);
        assert!(answer.contains("has no permissions"), "{words:?}: {answer}");
    }
}

/// Goal: a user without a permission is told which, and what to do.
/// Method: take away what `verify` needs, and what its probe does.
#[tokio::test]
async fn a_missing_permission_is_told() {
    let server = Server::start(Kind::Redis);
    add_user(&server, "+info");
    let place = format!("`redis://ratekeeper:***@{}`", server.address());
    let words =
        [&*place, "NOPERM", "'info'", "; give the user the commands and keys that docs/redis.md"];
    refused(as_user(&server.url()), Class::Denied, &words).await;
    for word in ["+eval", "+time", "+set"] {
        add_user(&server, word);
        let error = verify(as_user(&server.url())).await.expect_err("something is missing");
        let text = error.to_string();
        assert!(text.contains(&place) && !text.contains(PASSWORD), "without {word}: {text}");
    }
    add_user(&server, "");
    verify(as_user(&server.url())).await.unwrap();
}
