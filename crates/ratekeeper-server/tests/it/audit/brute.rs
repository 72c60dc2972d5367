//! What was admitted, judged again in the plainest way: every pair of a question and an answer.

use super::{Dice, LIMITS, Made, excess, rules};
use ratekeeper_server::audit::{Episode, Outcome, Source};

/// One operation: the first and the last tick, and the cost.
type Tick = (i128, i128, i128);

/// A limit: algorithm, amount, burst, and the window in ticks.
#[derive(Clone, Copy)]
struct Limit<'a> {
    algorithm: &'a str,
    amount: i128,
    burst: i128,
    window: i128,
}

/// A fault: its name, its first and its last tick.
type Fault = (&'static str, i128, i128);

/// What is said about a time of this length: units at once, and units for each window.
fn allowed(limit: Limit<'_>, length: i128) -> Vec<(i128, i128)> {
    let Limit { amount, burst, window, .. } = limit;
    match limit.algorithm {
        "token_bucket" | "leaky_bucket" => vec![(burst, amount)],
        "sliding_window_log" if length < window => vec![(amount, 0)],
        "sliding_window_counter" if length <= window => vec![(amount, amount)],
        "fixed_window" if length <= window => vec![(2 * amount, 0), (2 * amount, amount)],
        "fixed_window" => vec![(2 * amount, amount)],
        _ => vec![],
    }
}

/// The most units beyond what may be, over all pairs.
fn brute(ticks: &[Tick], limit: Limit<'_>, faults: &[Fault], nodes: i128) -> i128 {
    let mut worst = 0;
    for (from, _, _) in ticks {
        for (_, to, _) in ticks.iter().filter(|(_, to, _)| to >= from) {
            let inside =
                ticks.iter().filter(|(asked, answered, _)| asked >= from && answered <= to);
            let sum: i128 = inside.map(|(_, _, cost)| cost).sum();
            for said in allowed(limit, to - from) {
                let mut may = said.0 * limit.window + said.1 * (to - from);
                for (name, start, end) in faults.iter().filter(|(_, s, e)| s <= to && e >= from) {
                    let common = end.min(to) - start.max(from);
                    may += extra(ticks, limit, (name, *start), nodes, common, said);
                }
                let beyond = sum * limit.window - may;
                worst = worst.max((beyond + limit.window - 1).div_euclid(limit.window));
            }
        }
    }
    worst
}

/// What a fault adds, in parts of a unit as fine as the window.
fn extra(
    ticks: &[Tick],
    Limit { burst, window, .. }: Limit<'_>,
    (name, start): (&str, i128),
    nodes: i128,
    common: i128,
    (once, grows): (i128, i128),
) -> i128 {
    let near = |(asked, answered, _): &&Tick| *asked <= start && *answered >= start - 1_000_000;
    let lost: i128 = ticks.iter().filter(near).map(|(_, _, cost)| cost).sum();
    let part = |units: i128| nodes * ((units + nodes - 1) / nodes);
    match name {
        "state_lost" => burst * window,
        "failover" => lost.min(burst) * window,
        "split_brain" => once * window + grows * common,
        "local" => part(once) * window + part(grows) * common,
        _ => 0,
    }
}

/// Random spends, some of them at once, some slowly answered.
fn random(dice: &mut Dice, made: &mut Made) -> Vec<Tick> {
    let count = 4 + dice.roll(24);
    let span = 8_000 + dice.roll(120_000);
    let mut ticks = Vec::new();
    for _ in 0..count {
        // On edges, and one tick beside them.
        let asked = 1_000_000 + dice.roll(span) / 2_500 * 2_500 + dice.roll(3);
        let cost = 1 + dice.roll(2);
        let late = if dice.roll(3) == 0 { dice.roll(9_000) } else { dice.roll(3) };
        let answered = asked + late;
        let (invoke, complete) = (asked * 1_000 + dice.roll(1_000), answered * 1_000);
        let complete = complete.max(invoke) + dice.roll(1_000);
        made.record(&ratekeeper_server::audit::Record { cost, invoke, complete, ..made.next() });
        ticks.push((
            i128::from(invoke / 1_000),
            i128::from(complete.div_ceil(1_000)),
            i128::from(cost),
        ));
    }
    ticks
}

/// Goal: the fast check finds what an independent check over all pairs finds, to the unit.
/// Method: 300 random histories of each algorithm, half of them with faults of every kind.
#[test]
fn brute_force_agrees_on_what_was_admitted() {
    let names = ["state_lost", "failover", "split_brain", "local", "slow_store"];
    for (algorithm, text) in LIMITS {
        let (amount, burst) = match algorithm {
            "token_bucket" => (4, 3),
            "leaky_bucket" => (7, 5),
            _ => (4, 4),
        };
        let limit = Limit { algorithm, amount, burst, window: 10_000 };
        let mut broken = 0;
        for seed in 0..300 {
            let mut dice = Dice(seed);
            let mut made = Made::default();
            let ticks = random(&mut dice, &mut made);
            let mut faults: Vec<Fault> = Vec::new();
            for _ in 0..if seed % 2 == 0 { 0 } else { 1 + dice.roll(3) } {
                let name = names[dice.roll(5) as usize];
                let start = 1_000_000 + dice.roll(30_000);
                let end = start + 1 + dice.roll(15_000);
                faults.push((name, start.into(), end.into()));
                let start = start * 1_000 + dice.roll(1_000);
                let end = (end * 1_000 - dice.roll(1_000)).max(start);
                made.0.episodes.push(Episode { name: name.into(), start, end });
            }
            let nodes = 1 + (seed % 3) as u32;
            let expected = brute(&ticks, limit, &faults, nodes.into());
            let report = made.judge(&rules(algorithm, text), nodes);
            assert_eq!(excess(&report) as i128, expected, "{algorithm}, seed {seed}");
            broken += u32::from(expected > 0);
        }
        assert!((30..=270).contains(&broken), "{algorithm}: {broken} of 300 are broken");
    }
}

/// Goal: with a clock, what lies in one window of the clock is held against one amount.
/// Method: random histories; every window is summed up by itself.
#[test]
fn brute_force_agrees_on_windows_of_the_clock() {
    let mut broken = 0;
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut made = Made::default();
        let ticks = random(&mut dice, &mut made);
        let offset = 5_000_000 + dice.roll(100_000);
        made.0.clock = Some((1_000_000_000, offset));
        let wall = |tick: i128| tick - 1_000_000 + i128::from(offset);
        let limit = Limit { algorithm: "fixed_window", amount: 4, burst: 4, window: 10_000 };
        let mut expected = brute(&ticks, limit, &[], 1);
        for window in 0..600 {
            let sure = |(asked, answered, _): &&Tick| {
                wall(*asked) / 10_000 == window && wall(*answered) / 10_000 == window
            };
            let sum: i128 = ticks.iter().filter(sure).map(|(_, _, cost)| cost).sum();
            expected = expected.max(sum - 4);
        }
        let report = made.judge(&rules("fixed_window", "4/10ms"), 1);
        assert_eq!(excess(&report) as i128, expected, "seed {seed}");
        broken += u32::from(expected > 0);
    }
    assert!((30..=290).contains(&broken), "{broken} of 300 are broken");
}

/// Goal: what passes because the store is away, and what newcomers share, is not counted in the envelope.
/// Method: a hundred of each in one instant.
#[test]
fn what_is_counted_apart_is_not_in_the_envelope() {
    let mut made = Made::default();
    for _ in 0..100 {
        made.add(1, (5, 5), Outcome::Allow, Source::FailedOpen);
        made.add(1, (5, 5), Outcome::Allow, Source::Overflow);
    }
    let report = made.judge(&rules("token_bucket", "4/10ms burst 3"), 1);
    assert!(report.is_kept(), "{:?}", report.findings);
    assert_eq!(report.ended(Outcome::Allow, Some(Source::FailedOpen)), 100);
}
