//! The pure concurrency limit, against the oracle that knows every permit.
//!
//! Invariant: time plays no part, so every call is at the same one.

use super::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use ratekeeper::algorithm::concurrency::Concurrency;
use ratekeeper::algorithm::{Retry, UNITS_MAX, UNKNOWN};
use ratekeeper_testing::oracle::Permits;
use std::num::NonZeroU64;

fn limit(amount: u64) -> Concurrency {
    Concurrency::new(NonZeroU64::new(amount).expect("not zero")).expect("within the bounds")
}

proptest! {
    #![proptest_config(cases(8_000))]

    /// Goal: what is held and what is left are as specified, also where the limit was lowered below
    /// what is held: then nobody loses a permit, and nobody gets one until enough came back.
    /// Method: random traces of permits taken and given back, and of limits raised and lowered.
    #[test]
    fn permits_are_counted_as_specified(
        amount in 1..12_u64, steps in vec((0..8_u8, 0..6_u64, any::<u8>()), 1..60),
    ) {
        let (mut algorithm, mut amount, mut held) = (limit(amount), amount, 0);
        let mut oracle = Permits::new(amount);
        let mut permits: Vec<(u64, u64)> = Vec::new();
        for (how, cost, which) in steps {
            match how {
                0 => {
                    amount = 1 + u64::from(which % 12);
                    algorithm = limit(amount);
                    oracle.change_limit(amount);
                }
                1..=3 if !permits.is_empty() => {
                    let (id, cost) = permits.remove(usize::from(which) % permits.len());
                    prop_assert!(oracle.release(0, id));
                    let (told, next) = algorithm.release(held, cost);
                    held = next;
                    prop_assert_eq!(told.remaining, oracle.remaining(0));
                }
                _ => {
                    let (told, next) = algorithm.acquire(held, cost);
                    let id = oracle.acquire(0, cost, None);
                    held = next;
                    let retry_after = match id {
                        Some(_) => Retry::NOW,
                        None if cost > amount => Retry::NEVER,
                        None => Retry::UNKNOWN,
                    };
                    prop_assert_eq!((told.retry_after, told.remaining), (retry_after, oracle.remaining(0)));
                    prop_assert_eq!(told.reset_after, UNKNOWN);
                    permits.extend(id.filter(|_| cost > 0).map(|id| (id, cost)));
                }
            }
            prop_assert_eq!(held, oracle.held(0));
        }
    }
}

/// Goal: a limit that was lowered below what is held takes nothing away, and admits nothing before
/// enough of it was given back.
/// Method: five of five are held; the limit becomes two.
#[test]
fn a_limit_lowered_below_what_is_held_waits_for_its_holders() {
    let (told, held) = limit(5).acquire(0, 5);
    assert_eq!((told.remaining, held), (0, 5));
    let lower = limit(2);
    for held in [5, 4, 3, 2] {
        let (refused, same) = lower.acquire(held, 1);
        assert_eq!((refused.retry_after, refused.remaining, same), (Retry::UNKNOWN, 0, held));
        assert_eq!(lower.acquire(held, 3).0.retry_after, Retry::NEVER);
        assert_eq!(lower.acquire(held, 0).0.retry_after, Retry::NOW);
    }
    assert_eq!(lower.release(2, 1).0.remaining, 1);
    assert_eq!(lower.acquire(1, 1).1, 2);
}

/// Goal: nothing overflows, and more is never given back than is held.
/// Method: the largest amount and costs, and a release of far too much.
#[test]
fn the_largest_numbers_are_counted() {
    let most = limit(UNITS_MAX);
    let (told, held) = most.acquire(1, UNITS_MAX - 1);
    assert_eq!((told.retry_after, held), (Retry::NOW, UNITS_MAX));
    assert_eq!(most.acquire(held, u64::MAX).0.retry_after, Retry::NEVER);
    let (told, held) = most.release(held, u64::MAX);
    assert_eq!((told.remaining, held), (UNITS_MAX, 0));
    assert!(Concurrency::new(NonZeroU64::new(UNITS_MAX + 1).expect("not zero")).is_none());
}
