//! Tiers: which one a caller has, what it is limited by, and rules for some of them.

use super::{Site, by, keyed, limits, rule, set};
use ratekeeper::rule::{KeyKind, Limits, Match, RuleSpec};
use ratekeeper::{Request, RuleSet};

fn with_tiers(rules: impl IntoIterator<Item = RuleSpec>) -> Site {
    let tiers = ["free", "pro", "enterprise"].map(Into::into).to_vec();
    Site::new(RuleSet { tiers, ..set(rules) })
}

fn of(tier: &str) -> Request<'_> {
    Request { tier: Some(tier), ..by("alice") }
}

/// Goal: each tier has its limits; who has none, or an unknown one, has the first's.
/// Method: every tier, none, an empty one, one in other case, and one that is not there.
#[test]
fn who_has_no_tier_has_the_first() {
    let each = ["60/minute", "600/minute", "unlimited"].map(|limit| limits(&[limit])).to_vec();
    let site = with_tiers([RuleSpec { limits: Limits::ByTier(each), ..rule("api", "1/day") }]);
    for (tier, limit) in [
        ("free", 60),
        ("pro", 600),
        ("enterprise", u64::MAX),
        ("", 60),
        ("Pro", 60),
        ("gold", 60),
        ("pro ", 60),
    ] {
        assert_eq!(site.peek(&of(tier)).limit(), limit, "{tier:?}");
    }
    assert_eq!(site.peek(&by("alice")).limit(), 60);
}

/// Goal: all limits of a tier apply, and only those.
/// Method: two for the first tier, of which either can be the stricter.
#[test]
fn all_limits_of_a_tier_apply() {
    let each = vec![limits(&["2/second", "3/day"]), limits(&["9/day"]), limits(&["9/day"])];
    let site = with_tiers([RuleSpec { limits: Limits::ByTier(each), ..rule("api", "1/day") }]);
    assert!(site.ask(&of("free")).is_allowed());
    assert_eq!(site.ask(&of("free")).limit(), 2);
    assert!(site.ask(&of("free")).is_refused());
    site.clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(site.ask(&of("free")).limit(), 3);
    assert!(site.ask(&of("free")).is_refused());
    assert!(site.ask(&Request { user: Some("bob"), ..of("pro") }).is_allowed());
}

/// Goal: a rule can be for some tiers only, and a key can be the tier.
/// Method: rules for the first, for two, and for all; who has none is in the first.
#[test]
fn rules_can_be_for_some_tiers() {
    let tiers = |id: &str, tiers: &[usize]| RuleSpec {
        matches: Match { tiers: tiers.to_vec(), ..Match::default() },
        ..rule(id, "9/day")
    };
    let site = with_tiers([tiers("free", &[0]), tiers("paid", &[1, 2]), tiers("all", &[])]);
    for (tier, expected) in
        [("free", "free"), ("pro", "paid"), ("enterprise", "paid"), ("gold", "free"), ("", "free")]
    {
        assert_eq!(site.applied(&of(tier)), [expected, "all"], "{tier}");
    }
    let site = with_tiers([keyed(&[&[KeyKind::Tier]])]);
    let bob = |tier| Request { user: Some("bob"), ..of(tier) };
    assert!(site.together(&of("pro"), &bob("pro")));
    assert!(site.together(&of("gold"), &bob("free")), "who has an unknown one has the first");
    assert!(!site.together(&of("pro"), &bob("free")));
}

/// Goal: who changes its tier keeps what it has used in windows of the same length.
/// Method: two of ten used, then a hundred.
#[test]
fn another_tier_keeps_what_was_used() {
    let window = |amount| {
        let limit = ratekeeper::Limit::per_day(amount);
        vec![limit.algorithm(ratekeeper::Algorithm::FixedWindow).build().unwrap()]
    };
    let each = vec![window(10), window(100), window(100)];
    let site = with_tiers([RuleSpec { limits: Limits::ByTier(each), ..rule("api", "1/day") }]);
    assert_eq!(site.ask(&Request { cost: Some(2), ..of("free") }).remaining(), 8);
    assert_eq!(site.peek(&of("pro")).remaining(), 98);
}
