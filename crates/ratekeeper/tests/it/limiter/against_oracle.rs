//! Every algorithm through the public interface, against the oracle.
//!
//! Invariant: what a limiter packs into its words and takes out again is what the pure algorithm
//! gave it. The limits here are chosen to fill those words: odd rates, and amounts at their bounds.

use super::same;
use crate::laws::{Also, Call, Shape, Step, cases, steps};
use crate::one_key::{OneKey, one_key};
use proptest::prelude::*;
use proptest::sample::select;
use ratekeeper::algorithm::{PERIOD_MAX, Retry, Verdict};
use ratekeeper::limit::{AMOUNT_MAX, COUNTER_MAX, LOG_MAX, PERIOD_MIN};
use ratekeeper::{Algorithm, Decision, Limit, Limiter, ManualClock};
use ratekeeper_testing::oracle::{self, Oracle};
use std::time::Duration;

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;

pub(crate) fn limit_of(shape: &Shape) -> Limit {
    let mut builder =
        Limit::per(shape.amount, Duration::from_micros(shape.period)).algorithm(shape.kind);
    if shape.kind.is_bucket() {
        builder = builder.burst(shape.burst);
    }
    builder.build().expect("the shape is within the bounds of a limit")
}

/// Limits of every algorithm, small, odd and very large.
pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    let rates = select(vec![
        (3, SECOND),
        (10, SECOND),
        (7, MINUTE),
        // Parts of a tick by the 4096, which just fit one word, and by the 8179, which do not.
        (4_096, SECOND + 1),
        (8_179, SECOND),
        (10_007, MINUTE),
        (5, PERIOD_MIN),
        (1, PERIOD_MAX),
        (COUNTER_MAX, MINUTE),
        (COUNTER_MAX - 1, PERIOD_MIN),
        (AMOUNT_MAX, 3600 * SECOND),
        (AMOUNT_MAX - 1, PERIOD_MIN),
        (AMOUNT_MAX - 1, PERIOD_MAX),
    ]);
    let burst = prop_oneof![Just(None), (1..=20_u64).prop_map(Some), Just(Some(AMOUNT_MAX))];
    (select(Algorithm::ALL.to_vec()), rates, burst).prop_map(|(kind, (amount, period), burst)| {
        let most = match kind {
            Algorithm::SlidingWindowLog => LOG_MAX,
            Algorithm::SlidingWindowCounter => COUNTER_MAX,
            _ => AMOUNT_MAX,
        };
        let amount = amount.min(most);
        // A burst that would take more than ten years to fill is cut to what does not.
        let fills = u128::from(PERIOD_MAX) * u128::from(amount) / u128::from(period);
        let longest = u64::try_from(fills).unwrap_or(u64::MAX);
        Shape { kind, amount, period, burst: burst.unwrap_or(amount).min(longest) }
    })
}

/// The figures of a decision, for the next move of the clock.
pub(crate) fn figures(decision: &Decision) -> Verdict {
    let micros = |time: Duration| u64::try_from(time.as_micros()).expect("waits are short");
    let retry_after = match decision.retry_after() {
        Some(wait) => Retry::after(micros(wait)),
        None if decision.is_never() => Retry::NEVER,
        None => Retry::NOW,
    };
    let reset_after = micros(decision.reset_after().expect("a rate"));
    Verdict { remaining: decision.remaining(), reset_after, retry_after, more_after: 0 }
}

/// One key of a limiter and its oracle, on one clock.
struct Pair {
    shape: Shape,
    key: String,
    oracle: Box<dyn Oracle>,
    /// A key that is not there has nothing to give back, and is not made by a refund.
    present: bool,
}

impl Pair {
    fn new(shape: Shape, key: String) -> Pair {
        Pair { shape, key, oracle: shape.oracle(), present: false }
    }

    /// Makes one call to both and compares. What is a reload elsewhere is a reset here.
    fn call(&mut self, on: &OneKey, now: u64, call: &Call) -> Result<Decision, TestCaseError> {
        let limit = self.oracle.limit();
        let left = on.rule.peek(&self.key).try_now().unwrap().remaining();
        let (decision, expected) = match call {
            Call::Ask(cost) => {
                let cost = cost.units(limit, left);
                let decision = on.rule.check(&self.key).cost(cost).try_now().unwrap();
                self.present |= decision.is_allowed() && cost > 0;
                (decision, oracle::ask(&mut *self.oracle, now, cost))
            }
            Call::Refund(cost) => {
                let units = cost.units(limit, left);
                let decision = on.rule.refund(&self.key, units).try_now().unwrap();
                let expected = match self.present {
                    true => oracle::refund(&mut *self.oracle, now, units),
                    false => oracle::ask(&mut *self.oracle, now, 0),
                };
                (decision, expected)
            }
            Call::Limit(_) => {
                (self.oracle, self.present) = (self.shape.oracle(), false);
                let decision = on.rule.reset(&self.key).try_now().unwrap();
                (decision, oracle::ask(&mut *self.oracle, now, 0))
            }
        };
        same(&decision, expected)?;
        Ok(decision)
    }
}

fn run(on: &OneKey, pairs: &mut [Pair], steps: &[(usize, Step)]) -> Result<(), TestCaseError> {
    let mut now = u64::try_from(on.clock.now().as_micros()).expect("it is not that late");
    let mut last = figures(&on.peek());
    for (which, step) in steps {
        let pair = &mut pairs[*which];
        now = step.time(now, pair.shape.period, &last);
        on.clock.set(Duration::from_micros(now));
        last = figures(&pair.call(on, now, &step.call)?);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(12_000))]

    /// Goal: a key of a limiter is answered as specified, whatever happens.
    /// Method: every algorithm with ordinary, odd and very large limits, on random traces with
    /// refunds, resets and a clock that goes back, against the oracle.
    #[test]
    fn a_key_of_a_limiter_is_answered_as_specified(
        shape in shapes(), steps in steps(40, Also::EVERYTHING),
    ) {
        let steps: Vec<(usize, Step)> = steps.into_iter().map(|step| (0, step)).collect();
        run(&one_key(limit_of(&shape)), &mut [Pair::new(shape, "alice".into())], &steps)?;
    }
}

proptest! {
    #![proptest_config(cases(200))]

    /// Goal: many keys in one small table do not disturb each other.
    /// Method: fifty keys of every algorithm, with refunds and resets, on random traces against an
    /// oracle for each; the clock goes forward, so that a key that is forgotten was whole.
    #[test]
    fn many_keys_of_a_limiter_do_not_disturb_each_other(
        which in 0..5_usize, amount in 1..6_u64,
        steps in steps(600, Also::FORWARD), keys in proptest::collection::vec(0..50_usize, 600),
    ) {
        let shape = Shape::new(Algorithm::ALL[which], amount, SECOND);
        let clock = ManualClock::new();
        let builder = Limiter::memory().keys(511).clock(&clock);
        let limiter = builder.rule("rule", limit_of(&shape)).unwrap().build();
        let rule = limiter.rule("rule").unwrap();
        let on = OneKey { limiter, rule, clock };
        let mut pairs: Vec<Pair> =
            (0..50).map(|number| Pair::new(shape, format!("key {number}"))).collect();
        let steps: Vec<(usize, Step)> = keys.into_iter().zip(steps).collect();
        run(&on, &mut pairs, &steps)?;
        let stats = on.limiter.stats();
        prop_assert_eq!((stats.evicted, stats.overflowed), (0, 0));
    }
}
