//! Histories of the real algorithms: no correct answer is ever called a fault.

use super::{Dice, LIMITS, Made, judged, rules};
use ratekeeper::rule::file::RuleFile;
use ratekeeper::{Decision, Limiter, ManualClock, Rule};
use ratekeeper_server::audit::{Check, History, Outcome, Record, Source};
use std::time::Duration;

/// When the histories begin, in nanoseconds since the epoch; no window begins there.
const EPOCH: u64 = 1_700_000_000_123_456_789;

/// A limiter on a clock of its own, and what became of its decisions.
struct Real {
    clock: ManualClock,
    rule: Rule,
    made: Made,
}

impl Real {
    fn new(text: &str) -> Real {
        let clock = ManualClock::at(Duration::from_nanos(EPOCH));
        let file = RuleFile::parse(text).expect("the rules make sense");
        let limiter = Limiter::from_file(file).expect("in memory").clock(&clock).build();
        let rule = limiter.rule("r").expect("it is there");
        Real { clock, rule, made: Made::default() }
    }

    /// Decides at an instant, in nanoseconds, which lies so far behind the question and before the answer.
    fn decide(
        &mut self,
        at: u64,
        (before, after): (u64, u64),
        key: &'static str,
        cost: u64,
    ) -> Decision {
        self.clock.set(Duration::from_nanos(EPOCH + at));
        let decision = self.rule.check(key).cost(cost).try_now().expect("memory answers at once");
        let outcome = if decision.is_allowed() { Outcome::Allow } else { Outcome::Deny };
        let retry = decision.retry_after().and_then(|wait| u64::try_from(wait.as_nanos()).ok());
        self.made.record(&Record {
            key,
            cost,
            invoke: at - before.min(at),
            complete: at + after,
            outcome,
            source: Source::Store,
            retry,
            remaining: Some(decision.remaining()),
            ..self.made.next()
        });
        decision
    }
}

fn assert_clean(history: &History, text: &str, about: &str) {
    let report = judged(history, text, 1);
    assert!(report.is_kept(), "{about}: {:?}", report.findings);
}

/// Goal: a history of a correct limiter passes, for every algorithm and whatever the latencies.
/// Method: random traffic of three keys with delays around the decision, with and without a clock line.
#[test]
fn what_the_real_algorithms_decide_is_clean() {
    for (algorithm, limit) in LIMITS {
        let text = rules(algorithm, limit);
        let (mut allowed, mut refused) = (0, 0);
        for seed in 0..60 {
            let mut dice = Dice(seed);
            let mut real = Real::new(&text);
            let (gap, slow) = (
                1 + dice.roll(3_000_000),
                1 + dice.roll(if seed % 3 == 0 { 20_000_000 } else { 300 }),
            );
            let mut at = 50_000_000;
            for _ in 0..150 {
                at += dice.roll(gap);
                let around = (dice.roll(slow), dice.roll(slow));
                let key = ["a", "b", "c"][dice.roll(3) as usize];
                let decision = real.decide(at, around, key, 1 + dice.roll(2));
                if decision.is_allowed() { allowed += 1 } else { refused += 1 }
            }
            if seed % 2 == 0 {
                real.made.0.clock = Some((7_000, (EPOCH + 7_000) / 1_000));
            }
            assert_clean(&real.made.0, &text, &format!("{algorithm}, seed {seed}"));
        }
        assert!(allowed > 1_000 && refused > 1_000, "{algorithm}: {allowed} and {refused}");
    }
}

/// Goal: waits that a correct limiter names come true, and are judged.
/// Method: a lone caller that asks, waits as told and asks again, for every algorithm.
#[test]
fn waits_of_the_real_algorithms_come_true() {
    for (algorithm, limit) in LIMITS {
        let text = rules(algorithm, limit);
        let mut real = Real::new(&text);
        let mut dice = Dice(1);
        let (mut at, mut refused) = (1_000_000, 0);
        for _ in 0..400 {
            let around = (dice.roll(5_000), dice.roll(5_000));
            at += around.0;
            let decision = real.decide(at, around, "a", 1);
            at += around.1 + 1;
            if let Some(wait) = decision.retry_after() {
                refused += 1;
                at += u64::try_from(wait.as_nanos()).expect("a short wait");
            }
        }
        let report = judged(&real.made.0, &text, 1);
        assert!(report.is_kept(), "{algorithm}: {:?}", report.findings);
        assert!(report.count(Check::RetryAfter).judged >= refused - 1 && refused > 30, "{refused}");
    }
}

/// Goal: nobody is accused for the part of a microsecond in which the store's ticks begin.
/// Method: a caller without delays that asks in the last nanosecond of a tick and in the first of the tick in
/// which it is admitted again; the ticks of the history begin elsewhere.
#[test]
fn ticks_may_begin_anywhere_in_a_microsecond() {
    for (algorithm, limit) in LIMITS {
        let text = rules(algorithm, limit);
        for seed in 0..20 {
            let (mut dice, mut real) = (Dice(seed), Real::new(&text));
            // A tick of the store, and the nanosecond of the history in which it begins.
            let mut tick = EPOCH / 1_000 + 2 + dice.roll(30_000);
            let begin = |tick: u64| tick * 1_000 - EPOCH;
            let (mut allowed, mut refused) = (0, 0);
            for _ in 0..120 {
                let decision = real.decide(begin(tick) + 999, (0, 0), "a", 1);
                let Some(wait) = decision.retry_after() else {
                    allowed += 1;
                    continue;
                };
                refused += 1;
                let ticks = u64::try_from(wait.as_micros()).expect("a short wait");
                assert!(real.decide(begin(tick + ticks - 1) + 999, (0, 0), "a", 1).is_refused());
                assert!(real.decide(begin(tick + ticks), (0, 0), "a", 1).is_allowed());
                // Some time later, idle or not.
                tick += ticks + dice.roll(2) * dice.roll(25_000);
            }
            assert!(allowed > 5 && refused > 5, "{algorithm}: {allowed} and {refused}");
            assert_clean(&real.made.0, &text, &format!("{algorithm}, seed {seed}"));
            real.made.0.clock = Some((7_211, (EPOCH + 7_211) / 1_000));
            assert_clean(&real.made.0, &text, &format!("{algorithm}, seed {seed}, with a clock"));
        }
    }
}

/// Goal: several limits of one rule are judged each, and a refusal is right if one of them is full.
/// Method: random traffic under a bucket of two rates.
#[test]
fn a_rule_with_several_limits_is_clean() {
    let text = "rules: [{id: r, limit: [4/10ms burst 3, 9/50ms]}]";
    for seed in 0..40 {
        let (mut dice, mut real, mut at) = (Dice(seed), Real::new(text), 1_000_000);
        for _ in 0..200 {
            at += dice.roll(3_000_000);
            let _ = real.decide(at, (dice.roll(900), dice.roll(90_000)), "a", 1);
        }
        assert_clean(&real.made.0, text, &format!("seed {seed}"));
    }
}

/// Goal: the work is n log n, not n².
/// Method: count the steps of histories of 100 000 and of 200 000 operations on one key.
#[test]
fn two_hundred_thousand_operations_take_few_steps() {
    let text = rules("token_bucket", "4/10ms burst 3");
    let steps = |count: u64| {
        let (mut dice, mut real, mut at) = (Dice(3), Real::new(&text), 1_000_000);
        for _ in 0..count {
            at += dice.roll(4_000_000);
            let _ = real.decide(at, (dice.roll(9_000), dice.roll(9_000_000)), "a", 1);
        }
        let report = judged(&real.made.0, &text, 1);
        assert!(report.is_kept(), "{:?}", report.findings);
        report.steps
    };
    let (half, whole) = (steps(100_000), steps(200_000));
    assert!(whole < 200_000 * 18 * 8, "{whole} steps");
    assert!(whole * 10 < half * 23, "{half} steps became {whole}");
}
