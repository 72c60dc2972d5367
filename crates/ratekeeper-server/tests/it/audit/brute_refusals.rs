//! Refusals, judged again in the plainest way: for each, all operations and all instants.

use super::{Dice, LIMITS, Made, rules};
use ratekeeper_server::audit::{Check, LATE, Outcome, Source};

/// What may have been charged, or was refused: first tick, last tick, cost.
type Tick = (i128, i128, i128);

/// The most that may be used when a refusal was decided, in parts of a unit as fine as the window.
fn most(
    algorithm: &str,
    amount: i128,
    charges: &[Tick],
    (first, last, _): Tick,
    clock: bool,
) -> i128 {
    let window = 10_000;
    let begun = || charges.iter().filter(|(asked, _, _)| *asked <= last);
    if algorithm == "token_bucket" || algorithm == "leaky_bucket" {
        let all: i128 = begun().map(|(_, _, cost)| cost * window).sum();
        let ends = begun().map(|(_, end, _)| *end).filter(|end| *end <= last);
        let level = |since: i128| {
            let counted = begun().filter(|(_, end, _)| *end >= since);
            let sum: i128 = counted.map(|(_, _, cost)| cost * window).sum();
            sum - amount * (last - since) + amount * (last - first)
        };
        return ends.chain([last]).map(level).max().unwrap_or(0).min(all);
    }
    let weight = |end: i128| {
        let (age, edge) = (first - end, first - first % window);
        match algorithm {
            "fixed_window" if clock => window * i128::from(end >= edge),
            "sliding_window_counter" if clock && last < edge + window => match end {
                _ if end >= edge => window,
                _ if end >= edge - window => window - (first - edge),
                _ => 0,
            },
            _ if age < window => window,
            "sliding_window_counter" if age < 2 * window => 2 * window - age,
            _ => 0,
        }
    };
    begun().map(|(_, end, cost)| cost * weight(*end)).sum()
}

/// Goal: the fast check calls those refusals needless that an independent one does.
/// Method: 300 random histories of each algorithm, with admissions, refusals, and a few errors; every other
/// one knows the windows of the clock.
#[test]
fn brute_force_agrees_on_refusals() {
    for (algorithm, text) in LIMITS {
        let (amount, burst) = match algorithm {
            "token_bucket" => (4, 3),
            "leaky_bucket" => (7, 5),
            _ => (4, 4),
        };
        let (mut needless, mut rightly) = (0, 0);
        for seed in 0..300 {
            let mut dice = Dice(seed);
            let mut made = Made::default();
            let (mut charges, mut refusals): (Vec<Tick>, Vec<Tick>) = (Vec::new(), Vec::new());
            for _ in 0..6 + dice.roll(24) {
                // On edges, and one tick beside them.
                let asked = 1_000_000 + 2_500 * dice.roll(36) + dice.roll(3);
                let cost = 1 + dice.roll(2);
                let late = if dice.roll(3) == 0 { dice.roll(9_000) } else { dice.roll(3) };
                let (ticks, kind) = ((asked, asked + late), dice.roll(40));
                let (outcome, source) = match kind {
                    0..20 => (Outcome::Allow, Source::Store),
                    20..39 => (Outcome::Deny, Source::Store),
                    _ => (Outcome::Error, Source::FailedClosed),
                };
                made.add(cost, ticks, outcome, source);
                let (first, last, cost) = (ticks.0.into(), i128::from(ticks.1), cost.into());
                match outcome {
                    Outcome::Deny => refusals.push((first, last, cost)),
                    Outcome::Allow => charges.push((first, last, cost)),
                    Outcome::Error => charges.push((first, last + i128::from(LATE), cost)),
                }
            }
            let clock = seed % 2 == 1;
            if clock {
                made.0.clock = Some((0, 0));
            }
            let free = |refusal: &&Tick| {
                most(algorithm, amount, &charges, **refusal, clock) + refusal.2 * 10_000
                    <= burst * 10_000
            };
            let expected = refusals.iter().filter(free).count() as u64;
            let report = made.judge(&rules(algorithm, text), 1);
            let count = report.count(Check::Refusals);
            let found = (count.judged, count.broken);
            assert_eq!(found, (refusals.len() as u64, expected), "{algorithm}, seed {seed}");
            needless += expected;
            rightly += refusals.len() as u64 - expected;
        }
        assert!(needless > 100 && rightly > 100, "{algorithm}: {needless}, {rightly}");
    }
}
