//! What faults and leases may add: exactly so much passes, and one unit more does not.

use super::{Made, broken, excess};
use ratekeeper_server::audit::{Check, Episode, Outcome, Source};

const RULES: &str = "rules: [{id: r, limit: 10/second}]";

/// Units of the store before and after a fault, and by shares, with a fault around 1 ms.
fn with(name: &str, (before, after, local): (u64, u64, u64), nodes: u32, rules: &str) -> u128 {
    let mut made = Made::default();
    for _ in 0..before {
        made.allow(1, 500);
    }
    for _ in 0..after {
        made.allow(1, 1_500);
    }
    for _ in 0..local {
        made.add(1, (1_000, 1_000), Outcome::Allow, Source::Local);
    }
    made.0.episodes.push(Episode { name: name.into(), start: 900_000, end: 1_000_000 });
    excess(&made.judge(rules, nodes))
}

/// Goal: every fault has its allowance, to the unit.
/// Method: a table of what passes; one more unit after the fault is one too many.
#[test]
fn each_fault_has_its_allowance_and_not_more() {
    let window = "rules: [{id: r, limit: 10/second, algorithm: sliding_window_log}]";
    let table = [
        ("state_lost", (10, 10, 0), 1, RULES),
        ("state_lost", (10, 10, 0), 1, window),
        ("failover", (4, 10, 0), 1, RULES),
        ("failover", (10, 10, 0), 1, RULES),
        ("failover", (4, 10, 0), 1, window),
        ("split_brain", (10, 10, 0), 1, RULES),
        ("split_brain", (10, 10, 0), 1, window),
        ("local", (4, 6, 12), 3, RULES),
        ("local", (4, 6, 12), 3, window),
        ("slow_store", (4, 6, 0), 3, RULES),
    ];
    for (name, (before, after, local), nodes, rules) in table {
        assert_eq!(with(name, (before, after, local), nodes, rules), 0, "{name}");
        assert_eq!(with(name, (before, after + 1, local), nodes, rules), 1, "{name}, one more");
    }
}

/// Goal: what servers admit by their shares is within the shares, however much the store left over.
/// Method: three servers share 10 as 4 each; 13 of them, and nothing of the store.
#[test]
fn shares_are_judged_by_themselves() {
    assert_eq!(with("local", (0, 0, 12), 3, RULES), 0);
    assert_eq!(with("local", (0, 0, 13), 3, RULES), 1);
}

/// Goal: a failover can lose what was admitted in the second before it, and nothing older.
/// Method: ten units of ten, ten more after a failover; it begins a second after the first, or a tick later.
#[test]
fn a_failover_loses_one_second() {
    let failed_at = |start: u64| {
        let mut made = Made::default();
        (0..10).for_each(|_| made.allow(1, 500));
        (0..10).for_each(|_| made.allow(1, 1_100_000));
        let end = 1_050_000_000;
        made.0.episodes.push(Episode { name: "failover".into(), start: start * 1_000, end });
        excess(&made.judge("rules: [{id: r, limit: 10/day}]", 1))
    };
    assert_eq!((failed_at(1_000_500), failed_at(1_000_501)), (0, 10));
}

/// Goal: a fault excuses only what meets it.
/// Method: eleven at once, long after all was forgotten.
#[test]
fn a_fault_elsewhere_excuses_nothing() {
    let mut made = Made::default();
    for _ in 0..11 {
        made.allow(1, 9_000_000);
    }
    made.0.episodes.push(Episode { name: "state_lost".into(), start: 0, end: 5_000_000_000 });
    assert_eq!(excess(&made.judge(RULES, 1)), 1);
}

/// Goal: a leased rule may admit what all servers took ahead, and not one unit more; the measure is told.
/// Method: 100 at once for two servers, who may have 2 each ahead.
#[test]
fn a_leased_rule_is_held_to_its_bound() {
    for consistency in ["leased", "auto"] {
        let rules = format!("rules: [{{id: r, limit: 100/minute, consistency: {consistency}}}]");
        let mut made = Made::default();
        for number in 0..104 {
            let source = if number < 90 { Source::Lease } else { Source::Store };
            made.add(1, (7, 9), Outcome::Allow, source);
        }
        let report = made.judge(&rules, 2);
        assert!(report.is_kept(), "{:?}", report.findings);
        let [over] = &report.over_admission[..] else { panic!("{:?}", report.over_admission) };
        assert_eq!((over.measured, over.bound), (4, 4));
        made.allow(1, 9);
        let report = made.judge(&rules, 2);
        assert_eq!((excess(&report), report.over_admission[0].measured), (1, 5));
    }
    let exact = "rules: [{id: r, limit: 100/minute, consistency: exact}]";
    let mut made = Made::default();
    (0..101).for_each(|_| made.allow(1, 5));
    assert_eq!(excess(&made.judge(exact, 2)), 1);
}

/// Goal: a call that was given up in a fault can fill the limit after it, but not for ever.
/// Method: ten errors in a fault of a minute; a refusal 9 s after its end, and one 12 s after it.
#[test]
fn what_was_given_up_may_still_arrive() {
    let refused_at = |at: u64| {
        let mut made = Made::default();
        for _ in 0..10 {
            made.add(1, (2_000_000, 2_000_015), Outcome::Error, Source::FailedOpen);
        }
        made.0.episodes.push(Episode { name: "stopped".into(), start: 0, end: 60_000_000_000 });
        made.deny(1, at * 1_000_000);
        broken(&made.judge(RULES, 1))
    };
    assert_eq!(refused_at(69), []);
    assert_eq!(refused_at(72), [Check::Refusals]);
}

/// Goal: what servers took ahead, and lost, may have filled the limit.
/// Method: 95 and 96 of 100 used at once for two servers with 2 each ahead; one unit used, and a refusal a
/// second and a minute later, while 4 units may be lost each second.
#[test]
fn what_was_taken_ahead_may_have_filled_the_limit() {
    let refused = |consistency: &str, used: u64, after: u64| {
        let rules = format!("rules: [{{id: r, limit: 100/minute, consistency: {consistency}}}]");
        let mut made = Made::default();
        (0..used).for_each(|_| made.allow(1, 5));
        made.deny(1, 5 + after);
        broken(&made.judge(&rules, 2)) == [Check::Refusals]
    };
    assert!(refused("leased", 95, 0) && !refused("leased", 96, 0));
    assert!(refused("exact", 99, 0) && !refused("exact", 100, 0));
    assert!(refused("exact", 1, 25_000_000) && !refused("leased", 1, 60_000_000));
    assert!(refused("leased", 1, 1_000_000));
}
