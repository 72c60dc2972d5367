//! The twenty attacks of `spec/reliability.md` 1.6, through the layer, each by the number of its row.
//!
//! Invariant: over all its spellings a caller gets no more than the limit, and no other caller less.
//!
//! Two rows belong elsewhere. Row 13, many operations in one unit: a layer sees one request of HTTP at a
//! time; descriptors, hits, pipelines, batches and frames are the doors' of the server, and what a body
//! holds is for the `cost` of a rule. Row 14, smuggling: the layer gets requests that a server has cut out
//! of its connection; where they begin and end is the server's and the gateway's to get right.

mod addresses;
mod counts;
mod credentials;
mod keys;
mod paths;

use super::{Door, RateLimitLayer, RuleSet, RuleSpec, by, from, limiter, rule, set};
use http::Request;
use ratekeeper::Identity;
use ratekeeper::rule::KeyKind;

/// What every caller has, in a minute.
const MOST: usize = 5;

/// A proxy that is trusted.
const PROXY: &str = "10.0.0.1";

/// Somebody who does nothing wrong.
const OTHER: &str = "203.0.113.5";

fn five() -> RuleSpec {
    by(KeyKind::Ip, rule("api", "5/minute"))
}

/// Five a minute for each address; a proxy is believed.
fn behind_a_proxy() -> Door {
    let identity = Identity::default().trusted_proxies(["10.0.0.0/8".parse().unwrap()]);
    let rules = RuleSet { identity, ..set([five()]) };
    Door::new(&RateLimitLayer::new(limiter(rules).0))
}

/// The attack: `MOST` of all these requests pass, though there are more of them; and then somebody else
/// has all that there is.
fn attack(door: &Door, requests: impl IntoIterator<Item = Request<()>>) {
    let requests: Vec<_> = requests.into_iter().collect();
    assert!(requests.len() > MOST, "an attack that is too small to tell");
    assert_eq!(door.admits(requests), MOST);
    other_is_unharmed(door);
}

fn other_is_unharmed(door: &Door) {
    assert_eq!(door.admits([(); MOST + 1].map(|()| from(OTHER, "GET", "/x/y"))), MOST);
}
