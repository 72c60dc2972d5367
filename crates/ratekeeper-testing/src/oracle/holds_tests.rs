//! Holds settled below and above what was charged, with numbers worked by hand.

use super::{Bucket, FixedWindow, Holding, Oracle, Retry, SlidingCounter, SlidingLog};
use super::{ask, reserve, settle};

/// What is left after a charge at `at` was settled at another time.
fn left(key: &mut dyn Holding, at: u64, cost: u64, settled: u64, actual: u64) -> u64 {
    let hold = reserve(key, at, cost).expect("the cost fits");
    settle(key, settled, hold, actual).remaining
}

/// Goal: a fixed window settles in the window that was charged, or nowhere.
/// Method: ten per hundred ticks, on both sides of the edge at 200.
#[test]
fn a_fixed_window_settles_in_its_own_window() {
    let mut key = FixedWindow::new(10, 100);
    assert_eq!(left(&mut key, 110, 8, 150, 3), 7);
    assert_eq!(left(&mut key, 110, 3, 199, 4), 3);
    let hold = reserve(&mut key, 199, 3).expect("three are left");
    assert_eq!(reserve(&mut key, 199, 1), None);
    assert_eq!(settle(&mut key, 200, hold, 0).remaining, 10);
    assert_eq!(settle(&mut key, 200, hold, 9).remaining, 10);
    assert_eq!(settle(&mut key, 150, hold, 9).remaining, 10, "the window does not move back");
}

/// Goal: excess fills a window up to twice its limit, and no further.
/// Method: an excess of a hundred on a charge of one makes twenty, seen under a limit of twenty. Of
/// those seven are given back; thirteen are above twice five, so nothing is added under five.
#[test]
fn excess_in_a_window_ends_at_twice_the_limit() {
    let mut fixed = FixedWindow::new(10, 100);
    let mut log = SlidingLog::new(10, 100);
    let mut counter = SlidingCounter::new(10, 100);
    let keys: [&mut dyn Holding; 3] = [&mut fixed, &mut log, &mut counter];
    for key in keys {
        assert_eq!(left(key, 110, 1, 120, 101), 0, "{key:?}");
        key.change_limit(20);
        assert!(!key.admits(120, 1), "{key:?}");
        key.refund(120, 7);
        assert!(key.admits(120, 7) && !key.admits(120, 8), "{key:?}");
        key.change_limit(5);
        let zero = reserve(key, 120, 0).expect("zero units are admitted");
        settle(key, 120, zero, 9);
        key.change_limit(20);
        assert!(key.admits(120, 7) && !key.admits(120, 8), "thirteen are above ten: {key:?}");
    }
}

/// Goal: a sliding counter settles in the window before the current one, too.
/// Method: six of ten charged at 150. At 250 half of that window counts, at 300 none of it.
#[test]
fn a_sliding_counter_settles_in_the_previous_window() {
    let charged = || {
        let mut key = SlidingCounter::new(10, 100);
        let hold = reserve(&mut key, 150, 6).expect("ten are left");
        (key, hold)
    };
    for (now, actual, remaining) in
        [(160, 2, 8), (250, 6, 7), (250, 2, 9), (250, 11, 4), (250, 99, 0), (275, 99, 5)]
    {
        let (mut key, hold) = charged();
        assert_eq!(settle(&mut key, now, hold, actual).remaining, remaining, "{now} {actual}");
    }
    let (mut key, hold) = charged();
    assert!(reserve(&mut key, 300, 4).is_some());
    assert_eq!(settle(&mut key, 300, hold, 0).remaining, 6);
    assert_eq!(settle(&mut key, 300, hold, 99).remaining, 6);
}

/// Goal: a sliding log settles at the time of the entry, while that counts.
/// Method: charges at 100 and 150 of ten per hundred ticks; the first is settled at 199 and at 200.
#[test]
fn a_sliding_log_settles_at_the_time_of_the_entry() {
    let charged = || {
        let mut key = SlidingLog::new(10, 100);
        let hold = reserve(&mut key, 100, 4).expect("ten are left");
        assert!(reserve(&mut key, 150, 3).is_some());
        (key, hold)
    };
    let (mut key, hold) = charged();
    assert_eq!(settle(&mut key, 199, hold, 1).remaining, 6);
    assert_eq!(ask(&mut key, 200, 0).remaining, 7, "the entry at 100 has left");
    let (mut key, hold) = charged();
    key.refund(150, 5);
    assert_eq!(settle(&mut key, 199, hold, 0).remaining, 10, "two were left to give back");
    let (mut key, hold) = charged();
    assert_eq!(settle(&mut key, 199, hold, 6).remaining, 1);
    assert_eq!(ask(&mut key, 200, 0).remaining, 7, "the excess was entered at 100, too");
    let (mut key, hold) = charged();
    assert_eq!(settle(&mut key, 200, hold, 0).remaining, 7);
    assert_eq!(settle(&mut key, 200, hold, 9).remaining, 7);
}

/// Goal: a bucket gives back only what has not leaked since the charge.
/// Method: one unit per tick, burst ten. Six charged at 100 are gone at 106; four charged at 101
/// stay, whatever is given back.
#[test]
fn a_bucket_gives_back_what_has_not_leaked() {
    for (now, actual, remaining) in
        [(102, 1, 6), (102, 4, 4), (102, 6, 2), (105, 0, 6), (106, 0, 6)]
    {
        let mut key = Bucket::new(10, 10, 10);
        let hold = reserve(&mut key, 100, 6).expect("ten are left");
        assert!(reserve(&mut key, 101, 4).is_some());
        assert_eq!(settle(&mut key, now, hold, actual).remaining, remaining, "{now} {actual}");
    }
}

/// Goal: a bucket's debt ends at one burst, and a clock that goes back finds no more than that.
/// Method: an excess of 94 on six at 100 makes a level of twenty, which is gone at 120. A rate
/// carried over starts with one burst.
#[test]
fn a_buckets_debt_ends_at_one_burst() {
    let mut key = Bucket::new(10, 10, 10);
    let hold = reserve(&mut key, 100, 6).expect("ten are left");
    let told = settle(&mut key, 100, hold, 100);
    assert_eq!((told.remaining, told.reset_after), (0, 20));
    assert_eq!(ask(&mut key, 100, 1).retry_after, Retry::After(11));
    assert_eq!(ask(&mut key, 105, 0).reset_after, 15);
    assert_eq!(ask(&mut key, 0, 0).reset_after, 20);
    assert_eq!(ask(&mut key.carry(100, 5, 10, 10), 100, 0).reset_after, 20);
    assert_eq!(ask(&mut key, 110, 0).remaining, 0);
    assert_eq!(ask(&mut key, 111, 0).remaining, 1);
}
