//! Isolation: whatever else the store holds, a key is answered as if it were alone.

use super::{kinds, one_rule};
use proptest::prelude::*;
use ratekeeper::{Limiter, ManualClock, Rule};
use std::time::Duration;

#[derive(Clone, Debug)]
enum Step {
    Check { key: u8, cost: u64 },
    Joint { keys: [u8; 3], cost: u64 },
    Refund { key: u8, units: u64 },
    Reset { key: u8 },
    Advance { seconds: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..120_u8;
    let step = prop_oneof![
        8 => (key.clone(), 0..5_u64).prop_map(|(key, cost)| Step::Check { key, cost }),
        2 => (prop::array::uniform3(key.clone()), 0..4_u64).prop_map(|(keys, cost)| Step::Joint { keys, cost }),
        1 => (key.clone(), 1..5_u64).prop_map(|(key, units)| Step::Refund { key, units }),
        1 => key.prop_map(|key| Step::Reset { key }),
        1 => (0..4_000_u64).prop_map(|seconds| Step::Advance { seconds }),
    ];
    prop::collection::vec(step, 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Goal: a key's answers do not depend on which other keys the store holds, where it put them,
    /// or how often the table was rebuilt, cleared or shifted.
    /// Method: the same steps on one shared store and on a store for each key; every answer is equal.
    #[test]
    fn every_key_is_answered_as_if_it_were_alone(steps in steps(), kind in 0..6_usize) {
        let clock = ManualClock::new();
        let (limiter, shared) = one_rule(kinds(7)[kind].1, 100_000, &clock);
        let alone: Vec<(Limiter, Rule)> = (0..120).map(|_| one_rule(kinds(7)[kind].1, 1_000, &clock)).collect();
        for step in steps {
            match step {
                Step::Check { key, cost } => {
                    let name = format!("key {key}");
                    let expected = alone[key as usize].1.check("only").cost(cost).try_now().unwrap();
                    prop_assert_eq!(shared.check(name).cost(cost).try_now().unwrap(), expected);
                }
                Step::Joint { keys, cost } => {
                    let mut distinct = keys.to_vec();
                    distinct.sort_unstable();
                    distinct.dedup();
                    let left = |key: &u8| alone[*key as usize].1.peek("only").try_now().unwrap().remaining();
                    let fits = distinct.iter().all(|key| cost <= left(key));
                    let names: Vec<String> = distinct.iter().map(|key| format!("key {key}")).collect();
                    let joint = limiter.check_all(names.iter().map(|name| ("api", name))).unwrap();
                    let joint = joint.cost(cost).try_now().unwrap();
                    prop_assert_eq!(joint.is_allowed(), fits);
                    for (key, (_, decision)) in distinct.iter().zip(joint.results()) {
                        let own = &alone[*key as usize].1;
                        let cost = if fits { cost } else { 0 };
                        let expected = own.check("only").cost(cost).try_now().unwrap();
                        prop_assert_eq!(decision.remaining(), expected.remaining());
                    }
                }
                Step::Refund { key, units } => {
                    let expected = alone[key as usize].1.refund("only", units).try_now().unwrap();
                    prop_assert_eq!(shared.refund(format!("key {key}"), units).try_now().unwrap(), expected);
                }
                Step::Reset { key } => {
                    let expected = alone[key as usize].1.reset("only").try_now().unwrap();
                    prop_assert_eq!(shared.reset(format!("key {key}")).try_now().unwrap(), expected);
                }
                Step::Advance { seconds } => clock.advance(Duration::from_secs(seconds)),
            }
        }
    }
}
