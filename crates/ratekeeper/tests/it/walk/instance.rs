//! Rules of one server beside rules of the fleet, on a store that is away.
//!
//! Invariant: nobody listens where these limiters ask.

use super::{by, on_paths, rule, same, set};
use ratekeeper::rule::{Rollout, RuleSpec, Scope};
use ratekeeper::{Limiter, ManualClock, OnStoreFailure, RedisConfig, Request, RuleSet, Source};

/// A rule of the server on every path, and one of the fleet on `/fleet`, in this order or the other.
fn rules(limit: &str, policy: OnStoreFailure, node_first: bool) -> RuleSet {
    let node = RuleSpec { scope: Scope::Instance, ..rule("node", limit) };
    let fleet = RuleSpec {
        matches: on_paths(&["/fleet"]),
        on_store_failure: policy,
        ..rule("fleet", "1000/minute")
    };
    set(if node_first { [node, fleet] } else { [fleet, node] })
}

fn limiter(set: RuleSet) -> Limiter {
    // Nobody listens on the first port.
    let away: RedisConfig = "redis://127.0.0.1:1/0".parse().unwrap();
    Limiter::redis(away.nodes(1)).rules(set).clock(&ManualClock::new()).build()
}

fn on<'a>(path: &'a str, user: &'a str) -> Request<'a> {
    Request { path, ..by(user) }
}

/// Goal: a rule of the server counts exactly while the store is away, in the server's own store.
/// Method: three of three, alone and beside a rule of the fleet that admits then.
#[tokio::test]
async fn rules_of_the_server_count_without_the_store() {
    for node_first in [true, false] {
        let limiter = limiter(rules("3/minute", OnStoreFailure::Allow, node_first));
        for left in [2, 1] {
            let decisions = limiter.check(&on("/fleet", "alice")).await.unwrap();
            assert!(decisions.is_allowed());
            let expected = if node_first { ["node", "fleet"] } else { ["fleet", "node"] };
            let ids: Vec<&str> = decisions.results().map(|(id, _)| id).collect();
            assert_eq!(ids, expected);
            let node = &decisions.rules()[usize::from(!node_first)];
            let fleet = &decisions.rules()[usize::from(node_first)];
            assert_eq!((node.remaining(), node.source()), (left, Source::Store));
            assert_eq!(fleet.source(), Source::FailedOpen);
            assert_eq!(decisions.rule(), Some("node"), "the one with the least left speaks");
        }
        assert!(limiter.admit(&on("/", "alice")).await.unwrap().is_allowed());
        for _ in 0..3 {
            let refused = limiter.check(&on("/fleet", "alice")).await.unwrap();
            assert!(refused.is_refused());
            assert_eq!(refused.rule(), Some("node"));
            assert_eq!(refused.rules().len(), 1, "the store was not asked");
        }
        assert!(limiter.check(&on("/", "bob")).await.unwrap().is_allowed());
    }
}

/// Goal: what the server's rule charged is given back where the fleet's refuses, however it was asked.
/// Method: ten refused by the fleet, by `check` and by `admit`; then exactly three pass.
#[tokio::test]
async fn what_the_fleet_refuses_is_given_back() {
    for (node_first, told) in [(true, true), (true, false), (false, true), (false, false)] {
        for limit in ["3/minute", "3 concurrent"] {
            let limiter = limiter(rules(limit, OnStoreFailure::Deny, node_first));
            for _ in 0..10 {
                let request = on("/fleet", "alice");
                let decisions = match told {
                    true => limiter.check(&request).await.unwrap(),
                    false => limiter.admit(&request).await.unwrap().decisions().clone(),
                };
                assert!(decisions.is_refused(), "{limit} {told}");
                assert_eq!(decisions.rule(), Some("fleet"), "{limit} {told}");
                assert_eq!(decisions.source(), Source::FailedClosed);
                assert_eq!(decisions.permit(), None, "nothing is held");
            }
            let mut held = Vec::new();
            for _ in 0..5 {
                held.push(limiter.admit(&on("/", "alice")).await.unwrap());
            }
            let passed = held.iter().filter(|own| own.is_allowed()).count();
            assert_eq!(passed, 3, "{limit}, told: {told}, first: {node_first}");
        }
    }
}

/// Goal: several limits of a server's rules, and several rules, are given back each at its cost.
/// Method: two rules of the server with two limits each, costs of two; the fleet refuses.
#[tokio::test]
async fn everything_is_given_back_at_its_cost() {
    let mut set = rules("9/minute", OnStoreFailure::Deny, true);
    set.rules[0].limits = ratekeeper::rule::Limits::Same(super::limits(&["9/minute", "7/hour"]));
    let second = RuleSpec { scope: Scope::Instance, ..rule("second", "8/minute") };
    let cost = ratekeeper::rule::CostSpec::Fixed(2);
    set.rules.push(RuleSpec { cost, ..second });
    let limiter = limiter(set);
    for _ in 0..20 {
        assert!(limiter.check(&on("/fleet", "alice")).await.unwrap().is_refused());
    }
    let peek = Request { cost: Some(0), ..on("/", "alice") };
    let decisions = limiter.check(&peek).await.unwrap();
    let left: Vec<_> = decisions.results().map(|(id, own)| (id, own.remaining())).collect();
    assert_eq!(left, [("node", 7), ("second", 8)]);
}

/// Goal: a rule of the server in shadow counts on the server, and refuses nobody; none is asked where the
/// request does not pass.
/// Method: a shadow of one beside the fleet's rule that admits, then refuses.
#[tokio::test]
async fn a_shadow_of_the_server_counts_on_the_server() {
    for (policy, asked) in [(OnStoreFailure::Allow, true), (OnStoreFailure::Deny, false)] {
        let mut set = rules("1/minute", policy, true);
        set.rules[0].rollout = Rollout::Shadow;
        set.rules[0].trial = Some(same("2/minute"));
        let limiter = limiter(set);
        for expected in [[true, true], [false, true], [false, false]] {
            let decisions = limiter.check(&on("/fleet", "alice")).await.unwrap();
            assert_eq!(decisions.is_allowed(), asked);
            let shadows = decisions.rules().iter().filter(|own| own.is_shadow());
            let seen: Vec<bool> = shadows.map(|own| own.is_allowed()).collect();
            assert_eq!(seen, if asked { expected.to_vec() } else { Vec::new() });
        }
    }
}
