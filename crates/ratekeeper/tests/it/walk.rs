//! The walk of a request through a release: which rules apply, whom they count, and what they decide.
//!
//! Invariant: only the public interface is used; rule sets are built in code, and time is moved by hand.

mod model;

mod changed;
mod costs;
mod descriptors;
mod exempt;
#[cfg(feature = "redis")]
mod instance;
mod keys;
mod matched;
mod missing;
mod overrides;
mod permits;
mod rejected;
mod releases;
mod rollout;
mod several;
mod switches;
mod tiers;
mod unheld;
#[cfg(feature = "cel")]
mod when;

use crate::limiter::block_on;
use ratekeeper::rule::pattern::PathPattern;
use ratekeeper::rule::{KeyKind, KeySpec, Limits, Match, RuleSpec};
use ratekeeper::{Decisions, Limit, Limiter, ManualClock, Rejected, Request, RuleSet};
use std::net::IpAddr;

/// Rules, a clock, and whom to ask.
struct Site {
    limiter: Limiter,
    clock: ManualClock,
}

impl Site {
    fn new(set: RuleSet) -> Site {
        let clock = ManualClock::new();
        let limiter = Limiter::memory().rules(set).clock(&clock).build();
        Site { limiter, clock }
    }

    fn of(rules: impl IntoIterator<Item = RuleSpec>) -> Site {
        Site::new(set(rules))
    }

    fn ask(&self, request: &Request<'_>) -> Decisions {
        block_on(self.limiter.check(request)).unwrap()
    }

    fn refusal(&self, request: &Request<'_>) -> Rejected {
        block_on(self.limiter.check(request)).unwrap_err()
    }

    /// The same without a charge.
    fn peek(&self, request: &Request<'_>) -> Decisions {
        self.ask(&Request { cost: Some(0), ..*request })
    }

    /// The ids of the rules that apply.
    fn applied(&self, request: &Request<'_>) -> Vec<String> {
        self.peek(request).results().map(|(id, _)| id.to_owned()).collect()
    }

    /// Whether two requests are counted together, by a rule with something left.
    fn together(&self, one: &Request<'_>, other: &Request<'_>) -> bool {
        let before = self.peek(other).remaining();
        assert!(self.ask(one).is_allowed());
        self.peek(other).remaining() != before
    }
}

fn set(rules: impl IntoIterator<Item = RuleSpec>) -> RuleSet {
    RuleSet { rules: rules.into_iter().collect(), ..RuleSet::default() }
}

fn same(limit: &str) -> Limits {
    Limits::Same(vec![limit.parse().unwrap()])
}

/// A rule that counts users.
fn rule(id: &str, limit: &str) -> RuleSpec {
    RuleSpec { key: KeySpec::of(KeyKind::User), ..RuleSpec::new(id, same(limit)) }
}

/// A rule with this key, and much to use.
fn keyed(parts: &[&[KeyKind]]) -> RuleSpec {
    let key = KeySpec { parts: parts.iter().map(|part| part.to_vec()).collect() };
    RuleSpec { key, ..rule("keyed", "1000000/hour") }
}

fn on_paths(paths: &[&str]) -> Match {
    Match { paths: patterns(paths), ..Match::default() }
}

fn patterns(paths: &[&str]) -> Vec<PathPattern> {
    paths.iter().map(|path| PathPattern::parse(path).unwrap()).collect()
}

fn limits(texts: &[&str]) -> Vec<Limit> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A request from an address of the documentation.
fn get(path: &str) -> Request<'_> {
    Request { peer: Some(ip("192.0.2.1")), ..Request::new("GET", path) }
}

/// A request of a user.
fn by(user: &str) -> Request<'_> {
    Request { user: Some(user), ..get("/") }
}

/// Goal: whoever waits for a decision can be moved to another thread, as servers do.
/// Method: the futures are handed to what takes only such; another kind would not compile.
#[test]
fn decisions_can_be_awaited_on_any_thread() {
    fn moves<T: Send>(future: T) -> T {
        future
    }
    let limiter = Limiter::memory().rule("api", "2/minute").unwrap().build();
    let fields = [("x-a", "1")];
    let request =
        Request { headers: &fields, peer: Some([192, 0, 2, 7].into()), ..Request::new("GET", "/") };
    assert!(block_on(moves(limiter.admit(&request))).unwrap().is_allowed());
    assert_eq!(block_on(moves(limiter.check(&request))).unwrap().remaining(), 0);
    assert!(block_on(moves(limiter.explain(&request))).unwrap().rules[0].why_not.is_none());
    assert!(block_on(moves(limiter.reserve(&request))).unwrap().unwrap().is_refused());
}
