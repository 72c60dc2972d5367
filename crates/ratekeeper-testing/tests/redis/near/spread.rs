//! Many servers that lease from one store, at full speed.
//!
//! Invariant: what they admit together is at most the limit and a share for each, whatever is spent where.

use super::config;
use ratekeeper::rule::Consistency;
use ratekeeper::{Algorithm, Limit, Limiter, Source};
use ratekeeper_testing::servers::{Kind, Server};
use std::time::Duration;

const NODES: u32 = 4;

/// Goal: four servers that are asked for the same key at full speed admit no more together than the limit and their
/// shares; and no less than the limit without them.
/// Method: a limit of which nothing comes back while the test runs, on each algorithm; two tasks on each server,
/// until all are refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_together_admit_no_more_than_the_limit() {
    let server = Server::start(Kind::Redis);
    for algorithm in Algorithm::ALL {
        let long = Duration::from_secs(86_400 * if algorithm.is_bucket() { 30 } else { 3_650 });
        let limit = 10_000;
        let share = limit * 5 / 100 / u64::from(NODES);
        let node = |_| {
            let built = Limiter::redis(config(&server.url()).nodes(NODES));
            let built = built.rule(algorithm.name(), Limit::per(limit, long).algorithm(algorithm));
            built.unwrap().consistency(algorithm.name(), Consistency::Leased).unwrap().build()
        };
        let nodes: Vec<Limiter> = (0..NODES).map(node).collect();
        let mut tasks = Vec::new();
        for limiter in nodes.iter().chain(&nodes) {
            let rule = limiter.rule(algorithm.name()).unwrap();
            tasks.push(tokio::spawn(async move {
                let (mut admitted, mut leased, mut refused) = (0_u64, 0_u64, 0);
                while refused < 50 {
                    let told = rule.check("alice").await;
                    match told.is_allowed() {
                        true => (admitted, refused) = (admitted + 1, 0),
                        false => refused += 1,
                    }
                    leased += u64::from(told.source() == Source::Lease);
                }
                (admitted, leased)
            }));
        }
        let (mut admitted, mut leased) = (0, 0);
        for task in tasks {
            let told = task.await.unwrap();
            (admitted, leased) = (admitted + told.0, leased + told.1);
        }
        // All of it was charged before it was spent, so here nothing is admitted beyond; what others hold may be
        // missing.
        assert!(admitted <= limit, "{algorithm}: {admitted} of {limit}");
        let held = share * u64::from(NODES);
        assert!(admitted + held >= limit, "{algorithm}: {admitted} of {limit}, {held} may be held");
        assert!(leased * 2 > admitted, "{algorithm}: {leased} by leases");
    }
}
