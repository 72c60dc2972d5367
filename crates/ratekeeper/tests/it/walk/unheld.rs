//! Requests of which nobody will say when they have ended: no permits, all else as for anybody.

use super::{Site, by, limits, rule, same, set};
use crate::limiter::block_on;
use ratekeeper::rule::{Limits, Rollout, RuleSpec};
use ratekeeper::{Admission, Request};

fn pass(site: &Site, request: &Request<'_>) -> Admission {
    block_on(site.limiter.admit_without_permits(request)).unwrap()
}

fn both(texts: &[&str]) -> RuleSpec {
    RuleSpec { limits: Limits::Same(limits(texts)), ..rule("both", "1/day") }
}

fn told(admission: &Admission) -> Vec<(&str, u64)> {
    admission.rules().iter().map(|own| (own.name(), own.remaining())).collect()
}

/// Goal: what gives only permits is left out, whether enforced, in shadow or on trial, and the others keep
/// their order.
/// Method: rules of both kinds side by side, more calls than there are permits.
#[test]
fn rules_of_permits_alone_are_not_asked() {
    let shadow = RuleSpec { rollout: Rollout::Shadow, ..rule("shadow", "1 concurrent") };
    let tried = RuleSpec { trial: Some(same("1 concurrent")), ..rule("tried", "9/day") };
    let late = RuleSpec { rollout: Rollout::Shadow, ..rule("late", "1/day") };
    let rules = [shadow, rule("exports", "1 concurrent"), tried, late, rule("last", "8/day")];
    let site = Site::of(rules);
    for used in 1..=3 {
        let admission = pass(&site, &by("alice"));
        assert!(admission.is_allowed());
        assert_eq!(told(&admission), [("tried", 9 - used), ("late", 0), ("last", 8 - used)]);
        assert!(admission.permit().is_none());
    }
    let held = block_on(site.limiter.admit(&by("alice"))).unwrap();
    assert!(held.is_allowed() && held.is_holding(), "nobody took the permit");
}

/// Goal: the rates of a rule that also gives permits are the same buckets for whoever asks, also when the
/// rule has changed.
/// Method: a rule of both, asked in either way; then more for the same period.
#[test]
fn rates_beside_permits_are_the_same_buckets() {
    let site = Site::of([both(&["1 concurrent", "3/day"])]);
    let held = block_on(site.limiter.admit(&by("alice"))).unwrap();
    assert!(held.is_allowed());
    assert_eq!(told(&pass(&site, &by("alice"))), [("both", 1)]);
    assert_eq!(told(&pass(&site, &by("alice"))), [("both", 0)]);
    let refused = pass(&site, &by("alice"));
    assert!(refused.is_refused() && refused.retry_after().is_some());
    drop(held);
    assert!(block_on(site.limiter.admit(&by("alice"))).unwrap().is_refused());
    site.limiter.replace(set([both(&["1 concurrent", "50/day"])]));
    assert_eq!(told(&pass(&site, &by("alice"))), [("both", 46)]);
}
