//! The judge finds what is wrong: histories of real runs, each bent in one place.
//!
//! Invariant: each is well before it is bent.

use ratekeeper_testing::sim::{Asked, Counts, Run, Scenario, judge, run};
use std::collections::BTreeSet;

/// A calm run that is well, bent; what the judge says.
fn bent(bend: impl FnOnce(&Scenario, &mut Run)) -> String {
    let scenario = Scenario::calm(7);
    let mut ran = run(&scenario);
    assert_eq!(judge(&scenario, &ran), Vec::<String>::new());
    bend(&scenario, &mut ran);
    judge(&scenario, &ran).join("\n")
}

/// The first request for which something holds.
fn first(ran: &mut Run, holds: impl Fn(&Asked) -> bool) -> &mut Asked {
    ran.history.asked.iter_mut().find(|asked| holds(asked)).expect("there is one")
}

fn is_refused(asked: &Asked) -> bool {
    asked.answer.is_some_and(|answer| !answer.allowed)
}

/// Goal: one unit beyond a limit is found, of every way of counting.
/// Method: of each rule of some calm runs every refusal becomes an admission, and has to be found.
#[test]
fn what_is_admitted_beyond_the_limit_is_found() {
    let mut seen = BTreeSet::new();
    for seed in 0..8 {
        let scenario = Scenario::calm(seed);
        for rule in 0..scenario.rules.len() {
            let mut ran = run(&scenario);
            for asked in ran.history.asked.iter_mut().filter(|asked| asked.rule == rule) {
                asked
                    .answer
                    .iter_mut()
                    .for_each(|answer| (answer.allowed, answer.passes) = (true, true));
            }
            let found = judge(&scenario, &ran).join("\n");
            let counts = scenario.rules[rule].counts;
            let of_permits = counts == Counts::Permits;
            let words = if of_permits { "permits are held" } else { "in the store: " };
            assert!(found.contains(words), "seed {seed}, {counts:?}: {found}");
            seen.insert(format!("{counts:?}"));
        }
    }
    assert_eq!(seen.len(), Counts::ALL.len(), "{seen:?}");
}

/// Goal: a refusal that nothing explains is found.
/// Method: the very first admission becomes a refusal.
#[test]
fn a_needless_refusal_is_found() {
    let found = bent(|scenario, ran| {
        let rate = |asked: &Asked| scenario.rules[asked.rule].counts != Counts::Permits;
        let asked = first(ran, |asked| rate(asked) && !is_refused(asked));
        asked.answer.iter_mut().for_each(|answer| (answer.allowed, answer.passes) = (false, false));
    });
    assert!(found.contains("refused, though it fits"), "{found}");
}

/// Goal: answers that are late, missing, or another rule's are found, and so are degraded ones without a fault.
/// Method: one answer bent in each way.
#[test]
fn answers_that_may_not_be_are_found() {
    let found = bent(|_, ran| {
        first(ran, |_| true).answer.iter_mut().for_each(|answer| answer.at += 20_000_000);
    });
    assert!(found.contains("answered after "), "{found}");
    let found = bent(|_, ran| first(ran, |_| true).answer = None);
    assert!(found.contains("never answered"), "{found}");
    let found = bent(|_, ran| {
        first(ran, |_| true).answer.iter_mut().for_each(|answer| answer.limit += 1);
    });
    assert!(found.contains("not an answer of its rule"), "{found}");
    let found = bent(|_, ran| {
        first(ran, |_| true).answer.iter_mut().for_each(|answer| answer.source = "failed_open");
    });
    assert!(found.contains("without a reason"), "{found}");
}

/// Goal: a key without an end, a release that goes back, and a key that stays spent are found.
/// Method: one of each.
#[test]
fn what_stays_wrong_is_found() {
    let found = bent(|_, ran| ran.immortal.push("rk:key".into()));
    assert!(found.contains("`rk:key` is kept for ever"), "{found}");
    let found = bent(|_, ran| {
        let asked = first(ran, |_| true);
        (asked.version, asked.answer) = (2, None);
    });
    assert!(found.contains("release 1 after 2"), "{found}");
    let found = bent(|scenario, ran| {
        let asked = first(ran, |asked| asked.at >= scenario.last);
        asked.answer.iter_mut().for_each(|answer| (answer.allowed, answer.passes) = (false, false));
    });
    assert!(found.contains("not whole again"), "{found}");
}
