//! Law 4: how much a greedy client can get through in any stretch of time.
//!
//! Invariant: the client takes all that is left at each step, which is the most that any client
//! gets; what it got is then counted over every stretch that can matter.

use super::account::{Account, KINDS, SECOND, Shape, TODAY, shapes};
use super::cases;
use super::trace::{Also, Step, starts, steps};
use proptest::prelude::*;
use ratekeeper::Algorithm;

/// What a client that takes all that it can get has got, and when.
pub(super) fn greedy(account: &mut Account, start: u64, steps: &[Step]) -> Vec<(u64, u64)> {
    let (mut now, mut got) = (start, Vec::new());
    let mut last = account.see(now, 0);
    for step in steps {
        now = step.time(now, account.shape.period, &last);
        let left = account.remaining(now);
        last = account.ask(now, left + 1);
        assert!(!last.allowed(), "more was admitted than remained");
        if left > 0 {
            assert!(account.ask(now, left).allowed(), "what remained was refused");
            got.push((now, left));
        }
    }
    got
}

/// The most that was got in any stretch of `length` ticks, its last tick included.
pub(super) fn most_within(got: &[(u64, u64)], length: u64) -> u64 {
    let sum = |first: u64| {
        let within = |at: u64| first <= at && at - first < length;
        got.iter().filter(|(at, _)| within(*at)).map(|(_, cost)| cost).sum()
    };
    got.iter().map(|(at, _)| sum(*at)).max().unwrap_or(0)
}

fn of_kind(kind: Algorithm) -> impl Strategy<Value = Shape> {
    shapes().prop_map(move |shape| Shape { kind, ..shape })
}

proptest! {
    #![proptest_config(cases(4_000))]

    /// Goal: a fixed window admits its amount in each window, and twice that in any period.
    /// Method: a greedy client on a random trace, counted by window and by stretch.
    #[test]
    fn a_fixed_window_admits_its_amount_in_each_window(
        shape in of_kind(KINDS[0]), start in starts(), steps in steps(60, Also::NOTHING),
    ) {
        let got = greedy(&mut shape.account(), start, &steps);
        for (at, _) in &got {
            let same = |other: &u64| other / shape.period == at / shape.period;
            let sum: u64 = got.iter().filter(|(at, _)| same(at)).map(|(_, cost)| cost).sum();
            prop_assert!(sum <= shape.amount);
        }
        prop_assert!(most_within(&got, shape.period) <= 2 * shape.amount);
    }

    /// Goal: a log never admits more than its amount in any period, wherever it starts.
    /// Method: a greedy client on a random trace, counted by stretch.
    #[test]
    fn a_log_admits_its_amount_in_every_period(
        shape in of_kind(KINDS[1]), start in starts(), steps in steps(60, Also::NOTHING),
    ) {
        let got = greedy(&mut shape.account(), start, &steps);
        prop_assert!(most_within(&got, shape.period) <= shape.amount);
    }

    /// Goal: a sliding counter admits at most one less than twice its amount in any period.
    /// Method: a greedy client on a random trace, counted by stretch.
    #[test]
    fn a_counter_admits_less_than_twice_its_amount_in_every_period(
        shape in of_kind(KINDS[2]), start in starts(), steps in steps(60, Also::NOTHING),
    ) {
        let got = greedy(&mut shape.account(), start, &steps);
        prop_assert!(most_within(&got, shape.period) < 2 * shape.amount);
    }

    /// Goal: a bucket admits its burst and what the rate gives meanwhile, in any stretch.
    /// Method: a greedy client on a random trace; every pair of admissions bounds a stretch.
    #[test]
    fn a_bucket_admits_its_burst_and_its_rate_in_every_stretch(
        shape in of_kind(KINDS[3]), start in starts(), steps in steps(60, Also::NOTHING),
    ) {
        let got = greedy(&mut shape.account(), start, &steps);
        for (first, (from, _)) in got.iter().enumerate() {
            let mut sum = 0;
            for (to, cost) in &got[first..] {
                sum += u128::from(*cost);
                let flow = u128::from(to - from) * u128::from(shape.amount);
                prop_assert!(sum <= u128::from(shape.burst) + flow / u128::from(shape.period));
            }
        }
    }
}

/// Goal: the bound that is published for the counter is not a loose one.
/// Method: the whole amount at the last tick of a window, then a request at every tick: 19 within
/// one period for an amount of 10, 199 for 100.
#[test]
fn the_counters_bound_of_one_less_than_twice_is_reached() {
    for (amount, most) in [(10, 19), (100, 199)] {
        let period = 1_000;
        let mut account = Shape::new(Algorithm::SlidingWindowCounter, amount, period).account();
        let edge = 7 * period;
        assert!(account.ask(edge - 1, amount).allowed());
        let mut got = vec![(edge - 1, amount)];
        for now in edge..edge + period {
            if account.ask(now, 1).allowed() {
                got.push((now, 1));
            }
        }
        assert_eq!(most_within(&got, period), most, "amount {amount}");
    }
}

/// Goal: the bound that is published for the fixed window is reached, in two ticks.
/// Method: the whole amount at the last tick of a window, and again at the edge.
#[test]
fn the_fixed_windows_bound_of_twice_is_reached() {
    let mut account = Shape::new(Algorithm::FixedWindow, 10, SECOND).account();
    assert!(account.ask(TODAY - 1, 10).allowed());
    assert!(!account.ask(TODAY - 1, 1).allowed());
    assert!(account.ask(TODAY, 10).allowed(), "an event on an edge is in the new window");
}

/// Goal: an entry exactly one period old no longer counts, and one a tick younger does.
/// Method: fill a log in one tick; look one tick before a period has passed, and when it has.
#[test]
fn an_entry_counts_while_it_is_less_than_a_period_old() {
    let mut account = Shape::new(Algorithm::SlidingWindowLog, 10, SECOND).account();
    assert!(account.ask(TODAY, 10).allowed());
    assert_eq!(account.remaining(TODAY + SECOND - 1), 0);
    assert_eq!(account.remaining(TODAY + SECOND), 10);
}

/// Goal: a bucket lets its burst and its rate through, so twice the amount in a period.
/// Method: 100 per second with a burst of 100: drain it, then take a unit at each promise.
#[test]
fn a_bucket_of_the_whole_amount_passes_twice_that_in_a_period() {
    let mut account = Shape::new(Algorithm::TokenBucket, 100, SECOND).account();
    assert!(account.ask(TODAY, 100).allowed());
    let later = (1..=SECOND).filter(|tick| account.ask(TODAY + tick, 1).allowed()).count();
    assert_eq!(later, 100);
}
