//! Concurrency limits on the walk: held until the answer, and by name for who is elsewhere.

use super::{Site, by, rule, same};
use crate::limiter::block_on;
use ratekeeper::rule::{Rollout, RuleSpec};
use ratekeeper::{Admission, Request};

fn admit(site: &Site, request: &Request<'_>) -> Admission {
    block_on(site.limiter.admit(request)).unwrap()
}

fn left(site: &Site, user: &str) -> Vec<u64> {
    site.peek(&by(user)).rules().iter().map(|own| own.remaining()).collect()
}

/// Goal: an admission holds its permits while it is there, and gives them back once.
/// Method: two of two, one dropped, and its place taken again.
#[test]
fn an_admission_holds_its_permits() {
    let site = Site::of([rule("exports", "2 concurrent")]);
    let first = admit(&site, &by("alice"));
    let second = admit(&site, &by("alice"));
    assert!(first.is_allowed() && second.is_allowed() && second.is_holding());
    let third = admit(&site, &by("alice"));
    assert!(third.is_refused() && !third.is_never() && third.retry_after().is_none());
    assert!(admit(&site, &by("bob")).is_allowed());
    drop((first, third));
    assert_eq!(left(&site, "alice"), [1]);
    drop(second);
    assert_eq!(left(&site, "alice"), [2]);
}

/// Goal: where another rule refuses, no permit is held, whichever comes first in the file.
/// Method: a concurrency limit before and after a rate of one.
#[test]
fn a_refused_request_holds_nothing() {
    for order in [[0, 1], [1, 0]] {
        let rules = [rule("rate", "1/day"), rule("exports", "5 concurrent")];
        let site = Site::of(order.map(|index| rules[index].clone()));
        let index = if order[0] == 1 { 0 } else { 1 };
        drop(admit(&site, &by("alice")));
        for _ in 0..10 {
            assert!(admit(&site, &by("alice")).is_refused());
            let told = site.ask(&by("alice"));
            assert!(told.is_refused() && told.permit().is_none());
        }
        assert_eq!(left(&site, "alice")[index], 5);
    }
}

/// Goal: a permit in shadow is held and given back like any, and refuses nobody.
/// Method: a shadow of one beside a limit of three.
#[test]
fn permits_in_shadow_are_given_back() {
    let shadow = RuleSpec { rollout: Rollout::Shadow, ..rule("shadow", "1 concurrent") };
    let tried = RuleSpec { trial: Some(same("2 concurrent")), ..rule("live", "3 concurrent") };
    let site = Site::of([shadow, tried]);
    let held: Vec<Admission> = (0..3).map(|_| admit(&site, &by("alice"))).collect();
    let seen: Vec<Vec<bool>> =
        held.iter().map(|own| own.rules().iter().map(|rule| rule.is_allowed()).collect()).collect();
    assert_eq!(seen, [[true, true, true], [false, true, true], [false, true, false]]);
    assert_eq!(left(&site, "alice"), [0, 0, 0]);
    assert!(admit(&site, &by("alice")).is_refused());
    drop(held);
    assert_eq!(left(&site, "alice"), [1, 3, 2]);
}

/// Goal: one name gives back what all enforced rules hold; a look takes none.
/// Method: two concurrency rules by `check`, released by the decision's permit.
#[test]
fn one_name_gives_back_all() {
    let site = Site::of([rule("a", "2 concurrent"), rule("b", "3 concurrent")]);
    let told = site.ask(&by("alice"));
    assert_eq!(left(&site, "alice"), [1, 2]);
    let permit = told.permit().unwrap();
    assert!(site.limiter.release(permit).try_now().unwrap());
    assert!(!site.limiter.release(permit).try_now().unwrap(), "once");
    assert_eq!(left(&site, "alice"), [2, 3]);
    assert_eq!(site.peek(&by("alice")).permit(), None);
}
