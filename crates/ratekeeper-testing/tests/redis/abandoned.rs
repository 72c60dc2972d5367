//! Callers that go away while the store is asked.
//!
//! Invariant: what nobody was there to have is not held.

use ratekeeper::{Limit, Limiter};
use ratekeeper_testing::servers::{Kind, Server};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Goal: a permit that was taken for a caller who has gone is given back, not held until its time is
/// over.
/// Method: hold the server's answers; ask for permits and go away; then look until all are free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permits_of_callers_who_went_away_are_free() {
    let redis = Server::start(Kind::Redis);
    let config = redis.url().parse::<ratekeeper::RedisConfig>().unwrap();
    let builder = Limiter::redis(config.deadline(Duration::from_secs(5)));
    let limiter = builder.rule("exports", Limit::concurrent(8)).unwrap().build();
    let exports = limiter.rule("exports").unwrap();
    assert_eq!(exports.peek("alice").await.remaining(), 8);
    redis.ask(&["CLIENT", "PAUSE", "300", "ALL"]);
    let short = Duration::from_millis(50);
    let (here, by_name) = (exports.acquire("alice").cost(3), exports.check("alice").cost(2));
    assert!(timeout(short, here.into_future()).await.is_err(), "the server does not answer yet");
    assert!(timeout(short, by_name.into_future()).await.is_err(), "nor to this");
    let free = async || exports.peek("alice").await.remaining() == 8;
    // Held until their time is over, they would be so for a minute.
    for _ in 0..500 {
        if free().await {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?}", exports.peek("alice").await);
}
