//! Whether a limiter can decide, as a server that is asked for its readiness finds out.

use ratekeeper::limiter::Health;
use ratekeeper::{Limiter, Observer, OnStoreFailure};
use ratekeeper_testing::servers::{Kind, Server, wait_until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts answers of the store.
#[derive(Clone, Default)]
struct Answers(Arc<AtomicU64>);

impl Observer for Answers {
    fn decided(&self, rule: &str, _: &ratekeeper::Decision) {
        panic!("the canary is no decision of {rule}");
    }

    fn store_answered(&self, took: Duration) {
        assert!(took < Duration::from_secs(10));
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Goal: the canary runs the real script: it is well where scripts were forgotten, and says what the rules do
/// where the store is away; once it is back, all is well.
/// Method: flush the scripts; kill the server, with a rule that admits then and with one that refuses; start
/// it again.
#[tokio::test(flavor = "multi_thread")]
async fn the_canary_runs_the_real_script() {
    let mut server = Server::start(Kind::Redis);
    let answers = Answers::default();
    let limiter = |policy| {
        let builder = Limiter::redis(server.url().parse().unwrap()).observer(answers.clone());
        let builder = builder.rule("api", "5/minute").unwrap();
        builder.on_store_failure("api", policy).unwrap().build()
    };
    let (open, closed) = (limiter(OnStoreFailure::Allow), limiter(OnStoreFailure::Deny));
    assert_eq!(open.canary().await, Health::Well);
    server.ask(&["SCRIPT", "FLUSH"]);
    assert_eq!((open.canary().await, closed.canary().await), (Health::Well, Health::Well));
    assert_eq!(answers.0.load(Ordering::Relaxed), 3);
    assert!(server.ask(&["DBSIZE"]).contains('1'), "it wrote, under one key of its own");
    let usage = open.store_usage().await.unwrap();
    assert!(usage.memory_bytes > 100_000 && usage.evicted_keys == 0, "{usage:?}");
    assert!(!open.is_store_open());
    server.kill();
    // Each failure may be the one that opens the breaker.
    for _ in 0..6 {
        assert_eq!(open.canary().await, Health::Degraded);
        assert_eq!(closed.canary().await, Health::Refusing);
    }
    assert!(open.is_store_open() && closed.is_store_open());
    assert_eq!(open.store_usage().await, None);
    server.restart();
    let handle = tokio::runtime::Handle::current();
    let back = tokio::task::spawn_blocking(move || {
        let well = |limiter: &Limiter| handle.block_on(limiter.canary()) == Health::Well;
        wait_until("the store is back", || well(&open) && well(&closed));
    });
    back.await.unwrap();
}
