//! Switches: what an operator turns, whatever the release and its overrides say.

use super::{Site, by, limits, rule, set};
use crate::one_key::TICK;
use ratekeeper::limiter::Switch;
use ratekeeper::rule::{Override, Rollout, RuleSpec};
use std::time::Duration;

fn to(rollout: Rollout) -> Switch {
    Switch { rollout, until: None, reason: Some("a test".to_owned()) }
}

/// What becomes of a request: the rule's limit if it is enforced, `None` in shadow; and nothing if it is
/// off.
fn seen(site: &Site, id: &str) -> Option<Option<u64>> {
    let decisions = site.peek(&by("alice"));
    let own = decisions.rules().iter().find(|own| own.rule() == id)?;
    Some((!own.is_shadow()).then(|| own.limit()))
}

/// Goal: a switch is stronger than what the release says, in every way.
/// Method: each rollout of a rule under each switch.
#[test]
fn a_switch_is_stronger_than_the_release() {
    let each = [Rollout::Off, Rollout::Shadow, Rollout::Percent(0), Rollout::Percent(100)];
    let expected = |rollout| match rollout {
        Rollout::Off => None,
        Rollout::Percent(100) => Some(Some(5)),
        Rollout::Shadow | Rollout::Percent(_) => Some(None),
    };
    for released in each {
        let site = Site::of([RuleSpec { rollout: released, ..rule("api", "5/day") }]);
        assert_eq!(seen(&site, "api"), expected(released));
        for switched in each {
            site.limiter.switch("api", Some(to(switched)));
            assert_eq!(seen(&site, "api"), expected(switched), "{released:?}, {switched:?}");
        }
        site.limiter.switch("api", None);
        assert_eq!(seen(&site, "api"), expected(released), "turned back");
    }
}

/// Goal: a switch is stronger than an override, and an override than the release's limit.
/// Method: the limit of a key with another limit, before, under and after a switch.
#[test]
fn a_switch_is_stronger_than_an_override() {
    let mut set = set([rule("api", "5/day")]);
    let key = vec![(None, "alice".into())];
    let limits = limits(&["50/day"]);
    set.overrides.push(Override { rule: "api".into(), key, limits, until: None, reason: None });
    let site = Site::new(set);
    assert_eq!(seen(&site, "api"), Some(Some(50)));
    site.limiter.switch("api", Some(to(Rollout::Off)));
    assert_eq!(seen(&site, "api"), None);
    site.limiter.switch("api", Some(to(Rollout::Shadow)));
    assert_eq!(seen(&site, "api"), Some(None));
    site.limiter.switch("api", None);
    assert_eq!(seen(&site, "api"), Some(Some(50)));
}

/// Goal: `*` is for all rules that have no switch of their own.
/// Method: two rules, one of them with its own; then its own ends, and `*` is back.
#[test]
fn the_star_is_for_all_others() {
    let site = Site::of([rule("a", "1/day"), rule("b", "2/day")]);
    site.limiter.switch("*", Some(to(Rollout::Off)));
    assert_eq!((seen(&site, "a"), seen(&site, "b")), (None, None));
    let until = Some(site.clock.now() + TICK);
    site.limiter.switch("b", Some(Switch { until, ..to(Rollout::Percent(100)) }));
    assert_eq!((seen(&site, "a"), seen(&site, "b")), (None, Some(Some(2))));
    site.clock.advance(TICK);
    assert_eq!((seen(&site, "a"), seen(&site, "b")), (None, None), "its own is over");
    site.limiter.switch("*", None);
    assert_eq!((seen(&site, "a"), seen(&site, "b")), (Some(Some(1)), Some(Some(2))));
}

/// Goal: a switch ends at its end, to the tick.
/// Method: a tick before, and then.
#[test]
fn a_switch_ends_to_the_tick() {
    let site = Site::of([rule("api", "5/day")]);
    let until = Some(site.clock.now() + Duration::from_secs(60));
    site.limiter.switch("api", Some(Switch { until, ..to(Rollout::Off) }));
    assert_eq!(site.limiter.switches().len(), 1);
    site.clock.advance(Duration::from_secs(60) - TICK);
    assert_eq!(seen(&site, "api"), None);
    assert_eq!(site.limiter.switches().len(), 1);
    site.clock.advance(TICK);
    assert_eq!(seen(&site, "api"), Some(Some(5)));
    assert_eq!(site.limiter.switches(), []);
}

/// Goal: switches outlive releases, and are for rules that come later, too.
/// Method: replace the rules by ones with another limit, by none, and by both.
#[test]
fn a_switch_outlives_releases() {
    let site = Site::of([rule("api", "5/day")]);
    site.limiter.switch("api", Some(to(Rollout::Shadow)));
    site.limiter.switch("later", Some(to(Rollout::Off)));
    site.limiter.replace(set([rule("api", "6/day")]));
    assert_eq!(seen(&site, "api"), Some(None));
    site.limiter.replace(set([]));
    assert_eq!(seen(&site, "api"), None);
    site.limiter.replace(set([rule("api", "7/day"), rule("later", "1/day")]));
    assert_eq!((seen(&site, "api"), seen(&site, "later")), (Some(None), None));
    let mut left = site.limiter.switches();
    left.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [("api".into(), to(Rollout::Shadow)), ("later".into(), to(Rollout::Off))];
    assert_eq!(left, expected);
}

/// Goal: a rule that is off counts nothing, and one in shadow counts.
/// Method: spend under each, and turn back.
#[test]
fn what_is_off_counts_nothing() {
    let site = Site::of([rule("api", "5/day")]);
    for (rollout, left) in [(Rollout::Off, 5), (Rollout::Shadow, 3)] {
        site.limiter.switch("api", Some(to(rollout)));
        assert!(site.ask(&by("alice")).is_allowed());
        assert!(site.ask(&by("alice")).is_allowed());
        site.limiter.switch("api", None);
        assert_eq!(site.peek(&by("alice")).remaining(), left, "{rollout:?}");
    }
}
