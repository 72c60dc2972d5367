//! Two regions: each with a store and a part of every limit, or both with one store that is far for one.
//!
//! Invariant: rules are those of files, as operators write them; the distance is a proxy.

mod far;
mod page;
mod parts;

use ratekeeper::{Limiter, Source};
use ratekeeper_testing::servers::Server;
use std::net::SocketAddr;

/// Servers in each region.
const NODES: usize = 2;

/// Refusals in a row after which there is nothing left.
const ENOUGH: usize = 2 * NODES;

/// Limiters that share a file.
fn nodes(file: &str) -> Vec<Limiter> {
    (0..NODES).map(|_| Limiter::from_yaml(file).unwrap()).collect()
}

fn address(server: &Server) -> SocketAddr {
    server.address().parse().unwrap()
}

/// Asks them in turn until nothing is left: how many the store has admitted. Nobody else decides.
async fn use_up(nodes: &[Limiter], rule: &str, key: &str) -> u64 {
    let (mut admitted, mut refused) = (0, 0);
    for node in nodes.iter().cycle() {
        let decision = node.rule(rule).unwrap().check(key).await;
        let remembered = decision.is_refused() && decision.source() == Source::DeniedCache;
        assert!(remembered || decision.source() == Source::Store, "{decision:?}");
        match decision.is_allowed() {
            true => (admitted, refused) = (admitted + 1, 0),
            false => refused += 1,
        }
        assert!(admitted < 10_000, "no end of it");
        if refused == ENOUGH {
            break;
        }
    }
    admitted
}
