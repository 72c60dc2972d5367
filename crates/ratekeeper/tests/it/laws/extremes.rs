//! Law 11: the smallest and the largest numbers. Overflow checks are on in tests.
//!
//! Invariant: up to `UNITS_MAX`, `PERIOD_MAX` and `NOW_MAX` nothing overflows or is rounded; beyond
//! them there is no algorithm to ask.

use super::account::{Account, DAY, KINDS, SECOND, Shape, TODAY, verdict};
use ratekeeper::Algorithm;
use ratekeeper::algorithm::{NOW_MAX, PERIOD_MAX, Retry, UNITS_MAX};
use ratekeeper_testing::oracle::{self, Oracle};

const UNITS: [u64; 6] = [1, 2, (1 << 32) - 1, 1 << 32, UNITS_MAX - 1, UNITS_MAX];
const PERIODS: [u64; 5] = [1, 2, SECOND, 365 * DAY, PERIOD_MAX];
const TIMES: [u64; 5] = [0, 1, TODAY, NOW_MAX - 1, NOW_MAX];

/// Most units that a test enters into a log, which takes memory by the unit.
const LOGGED_MAX: u64 = 1 << 20;

/// The extreme shapes of one algorithm that the library takes.
fn shapes(kind: Algorithm) -> impl Iterator<Item = Shape> {
    let bursts = if kind.is_bucket() { &UNITS[..] } else { &UNITS[..1] };
    UNITS
        .into_iter()
        .flat_map(move |amount| PERIODS.map(|period| Shape::new(kind, amount, period)))
        .flat_map(|shape| bursts.iter().map(move |burst| Shape { burst: *burst, ..shape }))
        .filter(|shape| shape.try_account().is_some())
}

/// The costs worth asking a limit for.
fn costs(limit: u64) -> [u64; 8] {
    [0, 1, (1 << 32) - 1, limit / 2, limit - 1, limit, limit + 1, u64::MAX]
}

fn compare(account: &mut Account, oracle: &mut dyn Oracle, now: u64, cost: u64) {
    let logged = account.shape.kind == Algorithm::SlidingWindowLog && cost > LOGGED_MAX;
    if logged && account.admits(now, cost) {
        return;
    }
    let told = account.ask(now, cost);
    assert_eq!(told, verdict(oracle::ask(oracle, now, cost)), "{cost} at {now}: {account:?}");
}

/// Goal: the extremes are exact, too.
/// Method: every extreme amount, burst and period, at every extreme time and half a period and a
/// whole one later, for every extreme cost, against the oracle.
#[test]
fn extreme_numbers_are_answered_as_specified() {
    for kind in KINDS {
        for shape in shapes(kind) {
            for start in TIMES {
                let (mut account, mut oracle) = (shape.account(), shape.oracle());
                for wait in [0, 1, shape.period / 2, shape.period, 2 * shape.period] {
                    let now = (start + wait).min(NOW_MAX);
                    for cost in costs(shape.limit()) {
                        compare(&mut account, &mut *oracle, now, cost);
                    }
                }
            }
        }
    }
}

/// Goal: refunds and clock steps at the extremes do not overflow, and are exact.
/// Method: fill each key as far as it goes, step the clock to both ends, give back one unit, half
/// and the largest number.
#[test]
fn extreme_refunds_are_answered_as_specified() {
    for kind in KINDS {
        for shape in shapes(kind) {
            for (from, to) in [(TODAY, 0), (TODAY, NOW_MAX), (NOW_MAX, 0)] {
                let (mut account, mut oracle) = (shape.account(), shape.oracle());
                for cost in [shape.limit() / 2, 1] {
                    compare(&mut account, &mut *oracle, from, cost);
                }
                for units in [1, shape.limit() / 3, u64::MAX] {
                    let told = account.refund(to, units);
                    let expected = verdict(oracle::refund(&mut *oracle, to, units));
                    assert_eq!(told, expected, "{units} at {to}: {account:?}");
                    assert_eq!(told.retry_after, Retry::NOW);
                }
            }
        }
    }
}

/// Goal: beyond the bounds there is no algorithm.
/// Method: one unit and one tick too many, and a bucket that takes a tick more than `PERIOD_MAX` to
/// fill, each beside the largest that is taken.
#[test]
fn beyond_the_bounds_nothing_is_made() {
    for kind in KINDS {
        let made = |amount, period| Shape::new(kind, amount, period).try_account().is_some();
        assert!(made(UNITS_MAX, PERIOD_MAX), "{kind}");
        assert!(!made(UNITS_MAX + 1, PERIOD_MAX), "{kind}");
        assert!(!made(UNITS_MAX, PERIOD_MAX + 1), "{kind}");
        assert!(!made(u64::MAX, u64::MAX), "{kind}");
    }
    let bucket = |amount, period, burst| {
        Shape { kind: Algorithm::TokenBucket, amount, period, burst }.try_account().is_some()
    };
    assert!(bucket(1, 1, PERIOD_MAX));
    assert!(!bucket(1, 1, PERIOD_MAX + 1));
    assert!(bucket(3, 3 * DAY, PERIOD_MAX / DAY), "ten years of one a day");
    assert!(!bucket(3, 3 * DAY, PERIOD_MAX / DAY + 1), "a day more");
    assert!(!bucket(1, 1, UNITS_MAX + 1));
}

/// Goal: a log takes a cost of the largest 32-bit number, unit for unit.
/// Method: enter it into a log that holds one unit more, and look.
#[test]
fn a_log_takes_a_very_large_cost() {
    let most = (1 << 32) - 1;
    let mut account = Shape::new(Algorithm::SlidingWindowLog, most + 1, SECOND).account();
    assert_eq!(account.ask(TODAY, most).remaining, 1);
    assert_eq!(account.ask(TODAY + 1, 2).retry_after, Retry::after(SECOND - 1));
    assert_eq!(account.ask(TODAY + 1, 1).remaining, 0);
    assert_eq!(account.refund(TODAY + 2, most).remaining, most);
}
