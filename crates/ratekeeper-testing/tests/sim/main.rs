//! Simulated fleets: hundreds of seeds, each a few seconds of nodes over one server, with faults of all kinds.
//!
//! Invariant: a seed that fails here fails everywhere, every time.

mod judged;

use ratekeeper_testing::sim::{Planned, Scenario, judge, run};
use std::collections::{BTreeSet, HashSet};
use std::mem::discriminant;
use std::ops::Range;

/// How a scenario is chosen by a seed.
type Chosen = fn(u64) -> Scenario;

/// Seeds that have found something, each with what it was. What a seed stands for changes with how scenarios are
/// chosen: who changes that looks for others, with the mistake put back.
const FOUND: [(Chosen, u64, &str); 9] = [
    (
        Scenario::slow_releases,
        4,
        "a key brought over from a former rate had a deadline for each of three calls",
    ),
    (Scenario::slow_releases, 5, "the same, twice as late as may be"),
    (Scenario::slow_releases, 7, "the same, for several units"),
    (Scenario::slow_releases, 12, "the same, five times in a run"),
    (
        Scenario::stormy,
        162,
        "callers who missed a script asked again one after the other, and the last came too late",
    ),
    (Scenario::forgotten_scripts, 0, "the same, on every node"),
    (Scenario::stormy, 97, "a script that was found missing was asked for by its hash once more"),
    (Scenario::stormy, 212, "the same"),
    (Scenario::leased, 59, "calls that missed their scripts were made again one after the other"),
];

/// Runs a scenario, and stops if it is not as it may be.
fn is_well(scenario: &Scenario) {
    let faults = judge(scenario, &run(scenario));
    let shown = &faults[..faults.len().min(8)];
    assert!(faults.is_empty(), "seed {}: {shown:#?}\n{:#?}", scenario.seed, scenario.faults);
}

fn all_are_well(scenario: impl Fn(u64) -> Scenario, seeds: Range<u64>) {
    seeds.for_each(|seed| is_well(&scenario(seed)));
}

/// Goal: what was found once is not lost again.
/// Method: the seeds that found it.
#[test]
fn what_was_found_before_is_not_there_again() {
    for (chosen, seed, found) in FOUND {
        let scenario = chosen(seed);
        let faults = judge(&scenario, &run(&scenario));
        assert!(faults.is_empty(), "seed {seed}, which had found: {found}: {faults:#?}");
    }
}

/// Goal: storms are storms: nothing that is meant to happen never does.
/// Method: every kind of fault is in the first 100, and every source of a decision in the first 12.
#[test]
fn everything_happens_in_storms() {
    let faults: Vec<Planned> = (0..100).flat_map(|seed| Scenario::stormy(seed).faults).collect();
    let kinds: HashSet<_> = faults.iter().map(|planned| discriminant(&planned.fault)).collect();
    assert_eq!(kinds.len(), 11, "{kinds:?}");
    let asked = (0..12).flat_map(|seed| run(&Scenario::stormy(seed)).history.asked);
    let sources: BTreeSet<_> = asked.filter_map(|asked| Some(asked.answer?.source)).collect();
    let all = ["failed_closed", "failed_open", "local", "store"];
    assert!(all.iter().all(|source| sources.contains(source)), "{sources:?}");
}

/// Goal: a seed that fails can be looked at as often as one likes.
/// Method: storms run twice give the same bytes, which are those of a real run, and another seed gives others.
#[test]
fn the_same_seed_gives_the_same_history() {
    let history = |seed| run(&Scenario::stormy(seed)).history.to_string();
    for seed in 0..10 {
        let first = history(seed);
        assert!(first.lines().count() > 300 && first.contains(" allow store\n"), "seed {seed}");
        assert!(first == history(seed), "seed {seed} has two histories");
        assert!(first != history(seed + 1), "seeds {seed} and {} have one", seed + 1);
    }
}

/// Goal: without faults the store decides everything, nothing is refused without need, and no limit is passed.
/// Method: 40 fleets to which nothing happens.
#[test]
fn calm_fleets_decide_exactly() {
    all_are_well(Scenario::calm, 0..40);
}

/// Goal: a replica that is promoted lets nobody have more than what it had not heard of.
/// Method: 40 fleets whose server fails over up to four times, each time with up to a second lost.
#[test]
fn failovers_cost_what_was_lost_at_most() {
    all_are_well(Scenario::failovers, 0..40);
}

/// Goal: a release on slow lines costs nobody more than one deadline, and no limit is passed.
/// Method: 20 fleets that take two releases while all lines are slow.
#[test]
fn releases_on_slow_lines_are_taken_in_time() {
    all_are_well(Scenario::slow_releases, 0..20);
}

/// Goal: a server that forgot its scripts is not taken for one that is away, however many callers find out at once.
/// Method: 20 fleets whose nodes stand still meanwhile, and then make all calls that they missed.
#[test]
fn forgotten_scripts_are_brought_in_time() {
    all_are_well(Scenario::forgotten_scripts, 0..20);
}

/// Goal: rules whose units are taken in shares admit no more than a share for each node beyond their limit.
/// Method: 60 storms with all rules leased, in which much is admitted from shares.
#[test]
fn leased_rules_stay_within_their_shares() {
    let mut by_leases = 0;
    for seed in 0..60 {
        let scenario = Scenario::leased(seed);
        let ran = run(&scenario);
        let faults = judge(&scenario, &ran);
        let shown = &faults[..faults.len().min(8)];
        assert!(faults.is_empty(), "seed {seed}: {shown:#?}\n{:#?}", scenario.faults);
        let answers = ran.history.asked.iter().filter_map(|asked| asked.answer);
        by_leases += answers.filter(|answer| answer.source == "lease").count();
    }
    assert!(by_leases > 20_000, "{by_leases} by leases");
}

/// Goal: nobody waits for a timer while the server is idle: an answer takes as long as the way there and back.
/// Method: fleets to which nothing happens, asked seldom: of those whose way takes half a millisecond at most, nearly
/// all answers of the store come within the way, what a step of time may add, and what others have to do before.
#[test]
fn nobody_waits_for_a_timer() {
    let (mut quick, mut slow) = (0, 0);
    for seed in 0..20 {
        let scenario = Scenario::calm(seed);
        let ran = run(&scenario);
        let most = 2 * scenario.latency.end + 2_000_000;
        for asked in &ran.history.asked {
            let Some(answer) = asked.answer.filter(|answer| answer.source == "store") else {
                continue;
            };
            match answer.at - asked.at <= most {
                true => quick += 1,
                false => slow += 1,
            }
        }
    }
    assert!(quick > 10_000 && slow * 100 < quick, "{slow} of {quick} took longer than the way");
}

/// Goal: whatever happens, limits hold, everybody is answered in time, and the store is in use again soon.
/// Method: 300 storms, in four parts, so that they run beside each other: cuts in both directions or one, loss, delay,
/// resets; pauses and crashes of nodes; hangs, crashes and failovers of the server; forgotten scripts and keys;
/// releases.
#[test]
fn storms_are_weathered() {
    all_are_well(Scenario::stormy, 0..75);
}

/// Goal: see [`storms_are_weathered`].
/// Method: the second part.
#[test]
fn more_storms_are_weathered() {
    all_are_well(Scenario::stormy, 75..150);
}

/// Goal: see [`storms_are_weathered`].
/// Method: the third part.
#[test]
fn still_more_storms_are_weathered() {
    all_are_well(Scenario::stormy, 150..225);
}

/// Goal: see [`storms_are_weathered`].
/// Method: the last part.
#[test]
fn the_last_storms_are_weathered() {
    all_are_well(Scenario::stormy, 225..300);
}
