//! Faults that were put into a history on purpose: every kind is found.

use super::{Dice, LIMITS, Made, broken, excess, rules};
use ratekeeper_server::audit::{Check, FINDINGS_MAX, Outcome, Record, Source};

/// Where a history of this algorithm has exactly what it may have: instants in ticks after a start, all of
/// one unit; the last of them is the first tick in which it fits.
fn full(algorithm: &str) -> Vec<u64> {
    match algorithm {
        // Twice around an edge, and once more after the next.
        "fixed_window" => [vec![9_999; 4], vec![10_000; 4], vec![20_000; 4]].concat(),
        "sliding_window_log" => [vec![0; 4], vec![10_000; 1]].concat(),
        // Four at the end of a window; of the next, a part that grows.
        "sliding_window_counter" => [vec![9_999; 4], vec![12_500, 15_000, 17_500]].concat(),
        "token_bucket" => [vec![0; 3], vec![2_500, 5_000]].concat(),
        // 7 in 10 ms are not a whole number of ticks each.
        _ => [vec![0; 5], vec![1_429, 2_858, 4_286]].concat(),
    }
}

/// A history that is full, at some time, in windows of the clock.
fn made(algorithm: &str, start: u64, change: impl FnOnce(&mut Vec<u64>)) -> Made {
    let mut instants = full(algorithm);
    change(&mut instants);
    let mut made = Made::default();
    made.0.clock = Some((0, 0));
    instants.iter().for_each(|instant| made.allow(1, start + instant));
    made
}

/// Goal: one unit too many is found, and one tick too early, under every algorithm that can tell.
/// Method: histories that are exactly full, wherever they begin; a unit more at a random one of their
/// instants; the last unit one tick earlier.
#[test]
fn one_unit_too_many_and_one_tick_too_early_are_found() {
    for (algorithm, limit) in LIMITS {
        let text = rules(algorithm, limit);
        for seed in 0..50 {
            let mut dice = Dice(seed);
            let start = 10_000 * (1 + dice.roll(1_000_000));
            let clean = made(algorithm, start, |_| {}).judge(&text, 1);
            assert!(clean.is_kept(), "{algorithm}: {:?}", clean.findings);
            // The counter's bound is not tight: it takes what it never admits.
            let more = if algorithm == "sliding_window_counter" { 2 } else { 1 };
            let crowded = made(algorithm, start, |instants| {
                let first = instants[dice.roll(4) as usize % instants.len()];
                instants.extend(vec![first; more]);
            });
            assert!(excess(&crowded.judge(&text, 1)) >= 1, "{algorithm}, seed {seed}");
            if algorithm == "sliding_window_counter" {
                continue;
            }
            let early = made(algorithm, start, |instants| {
                let last = instants.len() - 1;
                instants[last] -= 1;
            });
            assert_eq!(excess(&early.judge(&text, 1)), 1, "{algorithm}, too early");
        }
    }
}

/// Goal: the finding says where it is: the interval, the units and the operations.
/// Method: a bucket that is overdrawn by two units in the middle of a quiet history.
#[test]
fn a_finding_names_its_interval_and_its_operations() {
    let mut made = Made::default();
    made.allow(1, 0);
    (0..5).for_each(|_| made.allow(1, 100_000));
    made.allow(1, 200_000);
    let report = made.judge(&rules("token_bucket", "4/10ms burst 3"), 1);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((finding.first, finding.last), (Some(2), Some(6)));
    assert_eq!((finding.units, finding.excess), (Some((5, 3)), 2));
    assert_eq!(finding.interval, Some((100_000_000, 100_000_000)));
    assert_eq!((&*finding.rule, &*finding.key), ("r", "k"));
}

/// Goal: a refusal of a key that has enough left is found, one that is right is not.
/// Method: a quarter of the limit used, then a refusal; the same with all of it used; a cost above it.
#[test]
fn a_needless_refusal_is_found() {
    for (algorithm, limit) in LIMITS {
        let burst = match algorithm {
            "token_bucket" => 3,
            "leaky_bucket" => 5,
            _ => 4,
        };
        let refused = |used: u64, cost: u64| {
            let mut made = Made::default();
            (0..used).for_each(|_| made.allow(1, 7_000));
            made.deny(cost, 7_001);
            broken(&made.judge(&rules(algorithm, limit), 1))
        };
        assert_eq!(refused(burst - 1, 1), [Check::Refusals], "{algorithm}");
        assert_eq!(refused(0, burst), [Check::Refusals], "{algorithm}");
        assert_eq!(refused(burst, 1), [], "{algorithm}");
        assert_eq!(refused(0, burst + 1), [], "{algorithm}: more than it ever has");
    }
    let mut unlimited = Made::default();
    unlimited.deny(1, 5);
    assert_eq!(
        broken(&unlimited.judge("rules: [{id: r, limit: unlimited}]", 1)),
        [Check::Refusals]
    );
}

/// Goal: what another key used does not excuse a refusal.
/// Method: one key uses all of the limit, another is refused.
#[test]
fn another_key_excuses_nothing() {
    let mut made = Made::default();
    (0..3).for_each(|_| made.allow(1, 7_000));
    made.record(&Record {
        key: "other",
        outcome: Outcome::Deny,
        invoke: 9_000_000,
        complete: 9_000_000,
        ..made.next()
    });
    let report = made.judge(&rules("token_bucket", "4/10ms burst 3"), 1);
    assert_eq!(broken(&report), [Check::Refusals]);
    assert_eq!(report.findings[0].key, "other");
}

/// Goal: a wait that was too short is found, unless it is one in a thousand, or others came between.
/// Method: a refusal that names 2 ms, and the same cost refused after 2 ms.
#[test]
fn a_false_wait_is_found() {
    let waited = |between: bool, truths: u64| {
        let mut made = Made::default();
        let mut refuse = |at: u64, retry: Option<u64>| {
            let (invoke, complete) = (at * 1_000, at * 1_000);
            made.record(&Record { invoke, complete, outcome: Outcome::Deny, retry, ..made.next() });
        };
        refuse(1_000, Some(2_000_000));
        if between {
            refuse(2_000, None);
        }
        refuse(3_000, None);
        for number in 0..truths {
            let at = 1_000_000 * (number + 1);
            (0..3).for_each(|_| made.allow(1, at));
            let (invoke, retry) = (at * 1_000, Some(2_500_000));
            let deny =
                Record { invoke, complete: invoke, outcome: Outcome::Deny, retry, ..made.next() };
            made.record(&Record { invoke: invoke + 1_000, complete: invoke + 1_000, ..deny });
            made.allow(1, at + 2_501);
        }
        let report = made.judge(&rules("token_bucket", "4/10ms burst 3"), 1);
        (broken(&report).contains(&Check::RetryAfter), report.count(Check::RetryAfter))
    };
    let (found, count) = waited(false, 0);
    assert_eq!((found, count.judged, count.broken), (true, 1, 1));
    let (found, count) = waited(true, 0);
    assert_eq!((found, count.judged), (false, 0), "somebody came between");
    assert!(waited(false, 998).0 && !waited(false, 999).0, "one in a thousand");
}

/// Goal: more left than the limit has is found.
/// Method: 3 and 4 left of 3.
#[test]
fn more_left_than_the_limit_has_is_found() {
    for (remaining, found) in [(3, false), (4, true)] {
        let mut made = Made::default();
        made.record(&Record { remaining: Some(remaining), ..made.next() });
        let report = made.judge(&rules("token_bucket", "4/10ms burst 3"), 1);
        assert_eq!(broken(&report).contains(&Check::Remaining), found);
    }
}

/// Goal: what was lost, doubled, contradicts itself or goes back in time is found.
/// Method: one history for each.
#[test]
fn a_history_that_is_not_whole_is_found() {
    let text = rules("token_bucket", "4/10ms burst 3");
    let mut lost = Made::default();
    lost.allow(1, 5);
    lost.0.sent = Some(1);
    assert_eq!(broken(&lost.judge(&text, 1)), []);
    lost.0.sent = Some(2);
    assert_eq!(broken(&lost.judge(&text, 1)), [Check::Lost]);

    let mut doubled = Made::default();
    doubled.allow(1, 5);
    doubled.record(&Record { id: 1, ..doubled.next() });
    assert_eq!(broken(&doubled.judge(&text, 1)), [Check::Lost]);

    let mut errors = Made::default();
    errors.add(1, (5, 5), Outcome::Error, Source::FailedClosed);
    assert_eq!(broken(&errors.judge(&text, 1)), []);
    errors.add(1, (5, 5), Outcome::Error, Source::Store);
    assert_eq!(broken(&errors.judge(&text, 1)), [Check::Sources]);

    let mut back = Made::default();
    back.add(1, (5, 4), Outcome::Allow, Source::Store);
    assert_eq!(broken(&back.judge(&text, 1)), [Check::Times]);
}

/// Goal: a version that goes back on one node is found; on another node, or at the same time, it is not.
/// Method: version 2, then version 1: after it, while it was being asked, and elsewhere.
#[test]
fn a_version_that_went_back_is_found() {
    for (node, invoke, found) in [("n", 2_001, true), ("n", 2_000, false), ("m", 2_001, false)] {
        let mut made = Made::default();
        made.record(&Record { version: 2, invoke: 1_000, complete: 2_000, ..made.next() });
        made.record(&Record { node, version: 1, invoke, complete: 3_000, ..made.next() });
        let report = made.judge(&rules("token_bucket", "4/10ms burst 3"), 2);
        assert_eq!(broken(&report) == [Check::Versions], found, "{node} {invoke}");
        assert_eq!(report.is_kept(), !found);
    }
}

/// Goal: two histories differ where a key was decided in another way, and only there.
/// Method: the same operations of one key, with another key among them; then one of them refused.
#[test]
fn a_key_that_others_changed_is_found() {
    let text = rules("token_bucket", "4/10ms burst 3");
    let (mut alone, mut crowd, mut changed) = (Made::default(), Made::default(), Made::default());
    for at in 0..3 {
        alone.allow(1, at * 10_000);
        crowd.record(&Record { key: "x", ..crowd.next() });
        crowd.allow(1, at * 10_000 + 3);
    }
    changed.allow(1, 0);
    changed.deny(1, 10_000);
    changed.allow(1, 20_000);
    for (other, found) in [(&crowd, false), (&changed, true)] {
        let mut report = alone.judge(&text, 1);
        report.compare(&alone.0, &other.0);
        assert_eq!(broken(&report).contains(&Check::Isolation), found);
        assert_eq!(report.count(Check::Isolation).judged, 1);
    }
    let mut report = alone.judge(&text, 1);
    report.compare(&alone.0, &changed.0);
    assert_eq!((report.findings[0].first, report.findings[0].last), (Some(2), Some(2)));
}

/// Goal: a report stays short, and begins with the worst.
/// Method: 50 keys, each overdrawn by one unit more than the one before.
#[test]
fn a_report_has_the_worst_findings_and_the_number_of_others() {
    let mut made = Made::default();
    for key in 0..50_u64 {
        let name = format!("key-{key}");
        for _ in 0..4 + key {
            made.record(&Record { key: &name, ..made.next() });
        }
    }
    let report = made.judge(&rules("token_bucket", "4/10ms burst 3"), 1);
    assert_eq!((report.findings.len(), report.more), (FINDINGS_MAX, 50 - FINDINGS_MAX));
    assert_eq!((report.findings[0].excess, &*report.findings[0].key), (50, "key-49"));
    assert!(report.findings.is_sorted_by_key(|finding| u128::MAX - finding.excess));
}

/// Goal: tiers and what cannot be judged are judged generously, and said.
/// Method: what fits the larger tier passes, what fits none does not; rules that are not judged have a note.
#[test]
fn tiers_are_judged_generously_and_the_rest_is_named() {
    let text = "tiers: [free, pro]\nrules: [{id: r, limit: {free: 2/minute, pro: 5/minute}}]";
    for (units, found) in [(5, 0), (6, 1)] {
        let mut made = Made::default();
        (0..units).for_each(|_| made.allow(1, 5));
        made.deny(1, 6);
        let report = made.judge(text, 1);
        assert_eq!(excess(&report), found);
        assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    }
    for rule in ["limit: 4 concurrent", "limit: 5/minute, rollout: shadow", "deny: true"] {
        let mut made = Made::default();
        (0..9).for_each(|_| made.allow(1, 5));
        made.deny(1, 6);
        let report = made.judge(&format!("rules: [{{id: r, {rule}}}]"), 1);
        assert!(report.is_kept() && report.notes[0].contains("not judged"), "{:?}", report.notes);
    }
}
