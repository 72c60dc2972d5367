//! For whom a rule is enforced: shadow, so many of a hundred, and limits on trial.

use super::{Site, by, get, ip, keyed, rule, same};
use ratekeeper::limiter::Switch;
use ratekeeper::rule::{KeyKind, Limits, OnMissing, Rollout, RuleSpec};
use ratekeeper::{Request, RuleResult, RuleSet};

fn rolled(rollout: Rollout, spec: RuleSpec) -> RuleSpec {
    RuleSpec { rollout, ..spec }
}

fn percent(percent: u8) -> Option<Switch> {
    Some(Switch { rollout: Rollout::Percent(percent), until: None, reason: None })
}

/// Whether the only rule is enforced for a request.
fn is_enforced(site: &Site, request: &Request<'_>) -> bool {
    let decisions = site.peek(request);
    let [result] = decisions.rules() else { unreachable!("there is one rule") };
    assert_eq!(decisions.rule().is_some(), !result.is_shadow());
    !result.is_shadow()
}

/// The least number of a hundred at which the rule `id` is enforced for a request; once it is, it stays
/// so, up to a hundred.
fn enforced_from(spec: RuleSpec, request: &Request<'_>) -> u8 {
    let id = spec.id.to_string();
    let site = Site::of([spec]);
    let mut from = None;
    for share in 0..=100 {
        site.limiter.switch(&id, percent(share));
        match is_enforced(&site, request) {
            true => _ = from.get_or_insert(share),
            false => assert_eq!(from, None, "{id} at {share}"),
        }
    }
    from.unwrap()
}

/// Goal: which keys are first is the same in every process, for years.
/// Method: shares that SipHash-2-4, worked out elsewhere, gives for rules and keys. A change of the hash,
/// or of the bytes of a key, is found here.
#[test]
fn shares_are_the_same_for_years() {
    let long = "x".repeat(100);
    let users = [("alice", 70, 35), ("bob", 86, 89), ("carol", 12, 10), ("ünï", 70, 94)];
    for (user, api, login) in users.into_iter().chain([(&*long, 76, 68)]) {
        for (id, hash) in [("api", api), ("login", login)] {
            assert_eq!(enforced_from(rule(id, "9/day"), &by(user)), hash + 1, "{id} {user}");
        }
    }
    let named = |id: &str, kinds: &[&[KeyKind]]| RuleSpec { id: id.into(), ..keyed(kinds) };
    let subnet = Request { peer: Some(ip("2001:db8::7")), ..get("/") };
    let fields = [("X-Org", "acme")];
    let organised = Request { headers: &fields, ..get("/") };
    for (kinds, request, api, login) in [
        (&[&[KeyKind::Ip][..]][..], get("/"), 31, 23),
        (&[&[KeyKind::Ip]], subnet, 76, 51),
        (&[&[KeyKind::Global]], get("/"), 9, 53),
        (&[&[KeyKind::User], &[KeyKind::Method]], by("alice"), 3, 45),
        (&[&[KeyKind::Header("x-org".into())]], organised, 41, 13),
    ] {
        for (id, hash) in [("api", api), ("login", login)] {
            let from = enforced_from(named(id, kinds), &request);
            assert_eq!(from, hash + 1, "{id} {kinds:?}");
        }
    }
}

/// Goal: so many of a hundred keys are enforced, and those that are stay so when it becomes more.
/// Method: ten thousand keys; the count is within four deviations, and each share holds those below it.
#[test]
fn so_many_of_a_hundred_keys_are_enforced() {
    let site = Site::of([rule("api", "9/day")]);
    let users: Vec<String> = (0..10_000).map(|user| format!("user-{user}")).collect();
    let mut before: Vec<bool> = vec![false; users.len()];
    for (share, expected, deviation) in
        [(0, 0, 0), (1, 100, 10), (10, 1_000, 30), (20, 2_000, 40), (50, 5_000, 50)]
            .into_iter()
            .chain([(90, 9_000, 30), (99, 9_900, 10), (100, 10_000, 0)])
    {
        site.limiter.switch("api", percent(share));
        let now: Vec<bool> = users.iter().map(|user| is_enforced(&site, &by(user))).collect();
        let count = now.iter().filter(|enforced| **enforced).count();
        assert!(count.abs_diff(expected) <= 4 * deviation, "{count} of {expected}");
        assert!(before.iter().zip(&now).all(|(before, now)| !before || *now), "at {share}");
        before = now;
    }
}

/// Goal: a key is in the same share on every server and after every restart, and another for another rule.
/// Method: limiters with other secrets agree on a hundred keys; two rules do not.
#[test]
fn a_share_does_not_depend_on_the_process() {
    let half = || Site::of([rolled(Rollout::Percent(50), rule("api", "9/day"))]);
    let (one, other) = (half(), half());
    let third = Site::of([rolled(Rollout::Percent(50), rule("apj", "9/day"))]);
    let users: Vec<String> = (0..100).map(|user| format!("user-{user}")).collect();
    let seen = |site: &Site| users.iter().map(|user| is_enforced(site, &by(user))).collect();
    let first: Vec<bool> = seen(&one);
    assert_eq!(first, seen(&other));
    let differs = first.iter().zip(seen(&third)).filter(|(one, third)| *one != third).count();
    assert!((25..=75).contains(&differs), "{differs}");
}

/// Goal: within its share a rule refuses; beyond it, it says that it would, and the request passes.
/// Method: a limit of one at 50 of 100, asked twice for keys of either side (12 and 70 for `api`).
#[test]
fn a_share_refuses_and_the_rest_is_told() {
    let site = Site::of([rolled(Rollout::Percent(50), rule("api", "1/day"))]);
    for (user, enforced) in [("carol", true), ("alice", false)] {
        assert!(site.ask(&by(user)).is_allowed());
        let second = site.ask(&by(user));
        assert_eq!(second.is_refused(), enforced);
        assert!(second.rules()[0].is_refused(), "it would have refused, or did");
        assert_eq!(second.rules()[0].is_shadow(), !enforced);
    }
}

/// Goal: a rule that refuses who lacks its key does so for nobody while it is rolled out to nobody.
/// Method: 0 of 100, shadow and 100 of 100, for a request without the header field.
#[test]
fn who_lacks_the_key_is_refused_only_where_the_rule_is_enforced() {
    let spec =
        RuleSpec { on_missing: OnMissing::Deny, ..keyed(&[&[KeyKind::Header("x-org".into())]]) };
    for (rollout, refused) in
        [(Rollout::Percent(0), false), (Rollout::Shadow, false), (Rollout::Percent(100), true)]
    {
        let decisions = Site::of([rolled(rollout, spec.clone())]).ask(&get("/"));
        assert_eq!(decisions.is_refused(), refused, "{rollout:?}");
        assert_eq!(decisions.rules()[0].is_shadow(), !refused, "{rollout:?}");
        assert!(decisions.rules()[0].is_never());
    }
}

/// Goal: a closed rule in shadow closes nothing, and says that it would.
/// Method: beside a rule that is enforced; its place is the file's.
#[test]
fn a_closed_rule_in_shadow_closes_nothing() {
    let closed = RuleSpec { limits: Limits::Closed, ..rule("closed", "1/day") };
    let site = Site::of([rolled(Rollout::Shadow, closed), rule("live", "1/day")]);
    for allowed in [true, false] {
        let decisions = site.ask(&by("alice"));
        assert_eq!((decisions.rule(), decisions.is_allowed()), (Some("live"), allowed));
        let shadows: Vec<_> = decisions.rules().iter().map(RuleResult::is_shadow).collect();
        assert_eq!(shadows, [true, false]);
        assert!(decisions.rules()[0].is_never());
    }
}

/// Goal: a trial is told beside the live limit of the same key, and decides nothing.
/// Method: a trial of one beside a limit of three; off takes both away.
#[test]
fn a_trial_is_told_and_decides_nothing() {
    let tried = RuleSpec { trial: Some(same("1/day")), ..rule("org", "3/day") };
    let site = Site::new(RuleSet { rules: vec![tried.clone()], ..RuleSet::default() });
    for (passes, tried) in [(true, true), (true, false), (true, false)] {
        let decisions = site.ask(&by("acme"));
        let [live, trial] = decisions.rules() else { unreachable!("a rule and its trial") };
        assert_eq!((decisions.is_allowed(), decisions.rule()), (passes, Some("org")));
        assert_eq!((live.is_shadow(), trial.is_shadow()), (false, true));
        assert_eq!((trial.is_allowed(), trial.limit()), (tried, 1));
        assert!(trial.rule().starts_with("org"), "{}", trial.rule());
    }
    let refused = site.ask(&by("acme"));
    assert!(refused.is_refused());
    assert_eq!(refused.rules().len(), 1, "no trial where the live limit refuses");
    assert!(site.ask(&by("other")).rules()[1].is_allowed(), "each key has its own");
    let off = Site::of([rolled(Rollout::Off, tried)]).ask(&by("acme"));
    assert!(off.rules().is_empty());
}
