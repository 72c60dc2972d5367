//! What stands before the store: calls that go together, refusals that are remembered, shares.
//!
//! Invariant: whatever is decided without the store, the store would have allowed, or charged before.

mod leases;
mod refusals;
mod spread;
mod together;

use ratekeeper::limiter::Builder;
use ratekeeper::{Limiter, RedisConfig};
use ratekeeper_testing::servers::Server;
use std::time::Duration;

/// No call is late, however busy the machine is.
const PATIENT: Duration = Duration::from_secs(20);

fn config(url: &str) -> RedisConfig {
    url.parse::<RedisConfig>().unwrap().deadline(PATIENT)
}

fn builder(url: &str) -> Builder {
    Limiter::redis(config(url))
}

/// How many scripts the server has run.
fn scripts(server: &Server) -> u64 {
    let stats = server.text(&["INFO", "commandstats"]);
    let calls = |name: &str| {
        let line =
            stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{name}:calls=")));
        line.and_then(|line| line.split(',').next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    calls("evalsha") + calls("eval")
}
