//! What `r`, `t` and `Retry-After` promise, kept by every algorithm.
//!
//! Invariant: a promise is tried on a key of the same history, so that one trial does not disturb
//! another.

use super::structured::{Item, list};
use super::{IETF, ask_one, fields};
use crate::one_key::{OneKey, TICK, millis, one_key, secs};
use proptest::prelude::*;
use proptest::sample::select;
use ratekeeper::fields::Field;
use ratekeeper::{Algorithm, Decisions, Limit};
use std::time::Duration;

/// Time to pass, then units to ask for.
type Step = (u64, u64);

/// A limit, and what a key under it has been through.
#[derive(Clone, Debug)]
struct Case {
    limit: Limit,
    steps: Vec<Step>,
    /// Units used beyond a reservation before all that.
    debt: u64,
}

/// What was told at the end of a case.
struct Told {
    decisions: Decisions,
    item: Item,
    retry: Option<u64>,
}

impl Case {
    /// A key that went through all of it, and its last answer.
    fn replay(&self) -> (OneKey, Told) {
        let on = one_key(self.limit);
        if self.debt > 0 && !self.limit.is_shaping() {
            let hold = on.rule.reserve("alice", 1).try_now().unwrap();
            hold.settle(1 + self.debt).try_now().unwrap();
        }
        let mut last = None;
        for (time, cost) in &self.steps {
            on.wait(Duration::from_micros(*time));
            last = Some(ask_one(&on, *cost));
        }
        let decisions = last.expect("a case has steps");
        let told = fields(&decisions, IETF, 0);
        let value = |field| told.iter().find(|(own, _)| *own == field).map(|(_, value)| &value[..]);
        let item = list(value(Field::RateLimit).expect("a limit")).remove(0);
        let retry = value(Field::RetryAfter).map(|seconds| seconds.parse().unwrap());
        (on, Told { decisions, item, retry })
    }

    fn last_cost(&self) -> u64 {
        self.steps.last().expect("a case has steps").1
    }

    /// Whether so many units are admitted that long after.
    fn admits_after(&self, time: Duration, cost: u64) -> bool {
        let (on, _) = self.replay();
        on.wait(time);
        ask_one(&on, cost).is_allowed()
    }
}

fn limits() -> impl Strategy<Value = Limit> {
    let periods = select(vec![secs(1), secs(7), secs(60), millis(1_500), millis(20)]);
    let kinds = (select(Algorithm::ALL.to_vec()), any::<bool>(), 0..20_u64);
    (1..30_u64, periods, 1..30_u64, kinds).prop_map(|(amount, period, burst, kind)| {
        let (algorithm, shapes, max_wait) = kind;
        let mut limit = Limit::per(amount, period).algorithm(algorithm);
        if algorithm.is_bucket() {
            limit = limit.burst(burst);
        }
        if algorithm == Algorithm::LeakyBucket && shapes {
            limit = limit.shaping().max_wait(millis(500 * max_wait));
        }
        limit.build().expect("small limits make sense")
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let times = prop_oneof![Just(0), 0..3_000_000_u64, 0..120_000_000_u64];
    let steps = prop::collection::vec((times, 0..12_u64), 1..12);
    let debts = prop_oneof![4 => Just(0), 1 => 1..40_u64];
    (limits(), steps, debts).prop_map(|(limit, steps, debt)| Case { limit, steps, debt })
}

/// Whole seconds, rounded up.
fn up(time: Duration) -> u64 {
    u64::try_from(time.as_micros().div_ceil(1_000_000)).unwrap()
}

fn most(limit: &Limit) -> u64 {
    limit.burst().expect("a rate")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// Goal: `r` units are there now, and no more than the decision says.
    /// Method: any history; then ask for all of `r` at once.
    #[test]
    fn what_is_said_to_be_left_is_there(case in cases()) {
        let (_, told) = case.replay();
        let left = told.item.integer("r").expect("always");
        prop_assert!(left <= told.decisions.remaining());
        prop_assert!(left == 0 || case.admits_after(Duration::ZERO, left));
    }

    /// Goal: with nothing left, a unit is there after `t`, and not a second earlier.
    /// Method: any history, and what it left is taken. A sliding window that refused more than a unit
    /// may tell a later time.
    #[test]
    fn with_nothing_left_there_is_a_unit_after_t(mut case in cases()) {
        let left = case.replay().1.decisions.remaining();
        if left > 0 {
            case.steps.push((0, left));
        }
        let (_, told) = case.replay();
        let t = told.item.integer("t").expect("a rate has times");
        prop_assert_eq!(told.item.integer("r"), Some(0));
        prop_assert!(case.admits_after(secs(t), 1));
        let slides = !case.limit.algorithm().is_some_and(Algorithm::is_bucket);
        let later = slides && told.decisions.is_refused() && case.last_cost() > 1;
        if t > 1 && !later {
            prop_assert!(!case.admits_after(secs(t - 1) - TICK, 1));
        }
    }

    /// Goal: with something left, `t` is what the specification says of each algorithm.
    /// Method: any history after which something is left. A window is whole after `t`; a bucket sustains
    /// `r` per `t`, and its rate is the limit's; a sliding window has more after `t` and not earlier.
    #[test]
    fn with_something_left_t_is_the_time_of_the_algorithm(case in cases()) {
        let (on, told) = case.replay();
        let (left, t) = (told.item.integer("r").unwrap(), told.item.integer("t").unwrap());
        prop_assume!(left > 0);
        let (limit, most) = (case.limit, most(&case.limit));
        match limit.algorithm().expect("a rate") {
            Algorithm::FixedWindow => {
                prop_assert_eq!(t, up(told.decisions.reset_after().unwrap()));
                prop_assert!(case.admits_after(secs(t), most));
            }
            Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                if !limit.is_shaping() {
                    prop_assert!(ask_one(&on, left).is_allowed());
                    on.wait(secs(t));
                    prop_assert!(ask_one(&on, left).is_allowed());
                }
                let unit = limit.period().unwrap() / u32::try_from(limit.amount().unwrap()).unwrap();
                let units = u32::try_from(left + 1).unwrap();
                prop_assert!(secs(t - 1) <= (unit + TICK) * units, "the rate is told too low");
            }
            _ if left == most => prop_assert_eq!(t, up(limit.period().unwrap())),
            _ => {
                prop_assert!(case.admits_after(secs(t), left + 1));
                if t > 1 && told.decisions.is_allowed() {
                    prop_assert!(!case.admits_after(secs(t - 1), left + 1));
                }
            }
        }
    }

    /// Goal: who waits for `Retry-After` is admitted, and could not have come a second earlier; it is
    /// never 0, and absent where no wait helps.
    /// Method: any history that ends in a refusal.
    #[test]
    fn waiting_for_retry_after_is_enough(case in cases()) {
        let (_, told) = case.replay();
        let cost = case.last_cost();
        match told.retry {
            None => prop_assert!(told.decisions.is_allowed() || cost > most(&case.limit)),
            Some(seconds) => {
                prop_assert!(told.decisions.is_refused() && seconds > 0);
                prop_assert!(case.admits_after(secs(seconds), cost));
                if seconds > 1 {
                    prop_assert!(!case.admits_after(secs(seconds - 1), cost));
                }
            }
        }
    }

    /// Goal: a lone client that believes the fields is never refused.
    /// Method: it asks while something is left, else waits for `t`; through many requests.
    #[test]
    fn a_lone_client_that_believes_is_never_refused(limit in limits()) {
        let on = one_key(limit);
        for number in 0..100 {
            let decisions = ask_one(&on, 1);
            prop_assert!(decisions.is_allowed(), "request {} of {}", number, limit);
            let told = fields(&decisions, IETF, 0);
            let item = list(&told[1].1).remove(0);
            if item.integer("r") == Some(0) {
                on.wait(secs(item.integer("t").unwrap()));
            }
        }
    }
}
