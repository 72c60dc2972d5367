//! What files mean, beyond the sample.
//!
//! Invariant: each bound is tried on both of its sides.

use super::{good, refused, text};
use proptest::prelude::*;
use ratekeeper::Limit;
use ratekeeper::rule::file::{ALTERNATIVES_MAX, LIMITS_MAX, PARTS_MAX, RuleFile};
use ratekeeper::rule::{CostSpec, FieldForms, KeyKind, Limits, Rollout, RuleSpec};
use std::sync::Arc;

/// The one rule of a file: an id, a limit, and these fields.
fn rule(fields: &str) -> RuleSpec {
    good(&format!("region: eu\nrules: [{{id: a, {fields}}}]")).rules.rules.remove(0)
}

fn is_refused(fields: &str, words: &str) {
    let shown = refused(&format!("region: eu\nrules: [{{id: a, {fields}}}]"));
    assert!(shown.contains(words) && shown.lines().count() == 1, "{fields}: {shown}");
}

fn same(limits: &str) -> Limits {
    Limits::Same(limits.split(", ").map(|limit| limit.parse().unwrap()).collect())
}

/// Goal: the files of the folder are read, with the features that they need.
/// Method: read each.
#[test]
fn good_files_are_read() {
    assert_eq!(good(&text("good/aliases.yaml")).rules.rules.len(), 2);
    #[cfg(all(feature = "jwt", feature = "cel"))]
    assert_eq!(good(&text("good/every-field.yaml")).rules.rules.len(), 5);
}

/// Goal: an alias stands for what it repeats.
/// Method: a file with aliases of lists, maps and texts, looked at rule by rule.
#[test]
fn aliases_stand_for_what_they_repeat() {
    let rules = good(&text("good/aliases.yaml")).rules.rules;
    for rule in &rules {
        assert_eq!(rule.matches.methods, [Arc::from("GET"), Arc::from("HEAD")]);
        assert_eq!(rule.matches.tiers, [0, 1]);
    }
    assert_eq!(rules[0].limits, same("10/minute"));
    assert_eq!(rules[1].limits, same("10/minute, 100/hour"));
}

/// Goal: what a rule leaves out is as the documentation says.
/// Method: a rule with nothing but an id and a limit.
#[test]
fn defaults_are_as_documented() {
    let rule = rule("limit: 10/minute");
    assert_eq!(rule.key.parts, [[KeyKind::Ip]]);
    assert_eq!(rule.limits, same("10/minute"));
    assert_eq!((rule.cost, rule.rollout), (CostSpec::Fixed(1), Rollout::Percent(100)));
    assert!(rule.name.is_none() && rule.domain.is_none() && rule.settle.is_none());
    assert!(rule.matches.paths.is_empty() && rule.trial.is_none() && rule.when.is_none());
    assert_eq!(RuleFile::parse("").unwrap().rules.fields, FieldForms::default());
}

/// Goal: shares of rollout and region are whole percents within their bounds.
/// Method: both sides of each.
#[test]
fn percents_are_bounded() {
    for (text, percent) in [("0%", 0), ("1%", 1), ("100%", 100)] {
        let rule = rule(&format!("deny: true, rollout: {text}"));
        assert_eq!(rule.rollout, Rollout::Percent(percent));
    }
    for text in ["101%", "10", "1.5%", "0010%", "1e1%"] {
        is_refused(&format!("deny: true, rollout: {text}"), "`rollout`");
    }
    is_refused("deny: true, regions: {eu: 0%}", "write a whole number from 1 to 100 and `%`");
    is_refused("deny: true, regions: {eu: 60%, us: 41%}", "101%");
}

/// Goal: a region has its part of every limit, rounded down, and at least one.
/// Method: amounts and bursts on both sides of a whole unit.
#[test]
fn regions_have_their_part() {
    let part = |limit: &str| rule(&format!("limit: {limit}, regions: {{eu: 60%, us: 40%}}")).limits;
    assert_eq!(part("100/minute burst 10"), same("60/minute burst 6"));
    assert_eq!(part("[9/minute, 1/second]"), same("5/minute, 1/second"));
    assert_eq!(part("4 concurrent"), same("2 concurrent"));
    assert_eq!(part("unlimited"), same("unlimited"));
    let whole = rule("limit: 7/minute, regions: {eu: 100%}");
    assert_eq!(whole.limits, same("7/minute"));
}

/// Goal: costs are believed up to 2^32-1, and a default is no more than the most.
/// Method: both sides of each.
#[test]
fn costs_are_bounded() {
    for cost in [1, 5, u64::from(u32::MAX)] {
        assert_eq!(rule(&format!("deny: true, cost: {cost}")).cost, CostSpec::Fixed(cost));
    }
    is_refused("deny: true, cost: 0", "from 1 to 4294967295");
    is_refused("deny: true, cost: 4294967296", "from 1 to 4294967295");
    let header = |default| CostSpec::Header { name: "x".into(), default, max: 5 };
    assert_eq!(rule("deny: true, cost: {header: X, default: 5, max: 5}").cost, header(5));
    assert_eq!(rule("deny: true, cost: {header: X, max: 5}").cost, header(1));
    is_refused("deny: true, cost: {header: X, default: 6, max: 5}", "write 5 or less");
}

/// Goal: ids, keys and limits are bounded in length and number.
/// Method: as many as there may be, and one more.
#[test]
fn names_and_lists_are_bounded() {
    let named = |length: usize| format!("rules: [{{id: {}, deny: true}}]", "x".repeat(length));
    assert_eq!(good(&named(64)).rules.rules[0].id.len(), 64);
    assert!(refused(&named(65)).contains("write 1 to 64 letters"));
    let key =
        |count: usize| (0..count).map(|n| format!("'header:h{n}'")).collect::<Vec<_>>().join(", ");
    let parts = |count| format!("deny: true, key: [{}]", key(count));
    assert_eq!(rule(&parts(PARTS_MAX)).key.parts.len(), PARTS_MAX);
    is_refused(&parts(PARTS_MAX + 1), "more than 8 parts");
    let first = |count| format!("deny: true, key: {{first: [{}]}}", key(count));
    assert_eq!(rule(&first(ALTERNATIVES_MAX)).key.parts[0].len(), ALTERNATIVES_MAX);
    is_refused(&first(ALTERNATIVES_MAX + 1), "9 alternatives");
    let limits = |count: u32| {
        let limits: Vec<String> = (1..=count).map(|n| format!("{n}/minute")).collect();
        format!("limit: [{}]", limits.join(", "))
    };
    let Limits::Same(most) = rule(&limits(LIMITS_MAX as u32)).limits else { panic!() };
    assert_eq!(most.len(), LIMITS_MAX);
    is_refused(&limits(LIMITS_MAX as u32 + 1), "more than 16 limits");
}

/// Goal: which header fields answers carry is as said.
/// Method: each word alone, and some together.
#[test]
fn header_forms_are_read() {
    let forms = |text: &str| {
        let forms = good(&format!("headers: {text}")).rules.fields;
        [forms.ietf, forms.x_ratelimit, forms.draft_07, forms.draft_06]
    };
    assert_eq!(forms("ietf"), [true, false, false, false]);
    assert_eq!(forms("[x-ratelimit]"), [false, true, false, false]);
    assert_eq!(forms("[draft-07, draft-06]"), [false, false, true, true]);
    assert_eq!(forms("none"), [false, false, false, false]);
}

/// Goal: overrides are read with the way in which their rule counts, and fit its key.
/// Method: a window and a queue, keys with and without a named alternative, and an address.
#[test]
fn overrides_count_as_their_rule_does() {
    let file = good(
        "rules:\n- {id: w, key: ip, limit: 5/minute, algorithm: fixed_window}\n\
         - {id: q, key: {first: [user, 'header:X-Team']}, limit: 5/minute, algorithm: leaky_bucket, mode: shaping}\n\
         overrides:\n- {rule: w, key: '2001:db8::1', limit: 9/minute}\n\
         - {rule: q, key: {'header:x-team': red}, limit: 9/minute}\n- {rule: q, key: red, limit: unlimited}",
    );
    let [address, named, any] = file.rules.overrides.as_slice() else { panic!() };
    let window = Limit::per_minute(9).algorithm(ratekeeper::Algorithm::FixedWindow);
    assert_eq!(address.limits, [window.build().unwrap()]);
    assert_eq!(address.key, [(None, "2001:db8::1".into())]);
    assert_eq!(named.limits, [Limit::per_minute(9).shaping().build().unwrap()]);
    assert_eq!(named.key, [(Some(KeyKind::Header("x-team".into())), "red".into())]);
    assert_eq!((any.limits.as_slice(), any.until), (&[Limit::unlimited()][..], None));
}

fn until(text: &str) -> Option<u64> {
    let file = format!(
        "rules: [{{id: a, key: user, deny: true}}]\n\
         overrides: [{{rule: a, key: k, limit: 1/second, until: {text:?}}}]"
    );
    RuleFile::parse(&file).ok().map(|file| file.rules.overrides[0].until.unwrap())
}

/// Goal: dates and times are read as the calendar has them, and nothing else is.
/// Method: known seconds, leap days, zones, and slips.
#[test]
fn dates_and_times_are_read() {
    let table = [
        ("1970-01-01", 0),
        ("2000-02-29", 951_782_400),
        ("2027-01-01", 1_798_761_600),
        ("2027-01-01T00:00:00Z", 1_798_761_600),
        ("2027-01-01t02:00:00.25+02:00", 1_798_761_600),
        ("2026-12-31 22:30:00-01:30", 1_798_761_600),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ];
    for (text, seconds) in table {
        assert_eq!(until(text), Some(seconds), "{text}");
    }
    let slips = [
        "2027-02-29",
        "1900-02-29",
        "2027-13-01",
        "2027-00-01",
        "2027-01-00",
        "2027-04-31",
        "27-01-01",
        "2027-1-1",
        "2027-01-01T",
        "2027-01-01T24:00:00Z",
        "2027-01-01T00:00:00",
        "2027-01-01T00:00Z",
        "2027-01-01T00:00:00.Z",
        "2027-01-01T00:00:00+1",
        "2027-01-01T00:00:00+24:00",
        "1969-12-31",
        "2027-01-01x",
        "+027-01-01",
        "2027-01-0é",
    ];
    for text in slips {
        assert_eq!(until(text), None, "{text}");
    }
}

proptest! {
    #![proptest_config(crate::laws::cases(500))]

    /// Goal: a day after any day is 86 400 seconds later, and a zone moves a time by itself.
    /// Method: days counted here month by month.
    #[test]
    fn days_follow_each_other(year in 1970_u32..2200, ordinal in 0_u32..365, zone in 0_u64..24) {
        let leap = |year: u32| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let months = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let (mut month, mut day) = (0, ordinal);
        while day >= months[month] {
            day -= months[month];
            month += 1;
        }
        let before: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
        let seconds = (before + u64::from(ordinal)) * 86_400;
        let date = format!("{year}-{:02}-{:02}", month + 1, day + 1);
        prop_assert_eq!(until(&date), Some(seconds));
        let zoned = until(&format!("{date}T23:00:00+{zone:02}:00"));
        prop_assert_eq!(zoned, Some(seconds + (23 * 3_600) - zone * 3_600));
    }
}
