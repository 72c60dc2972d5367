//! Mistakes made with fixed windows, logs and sliding counters.
//!
//! Invariant: a window's answers are exact to the tick, and a refusal leaves no mark in it.

use crate::one_key::{TICK, counter, fixed, log, micros, millis, one_key, secs};
use ratekeeper::Limit;

/// Goal: B2, a counter's wait is not the end of the window, which is mostly too long.
/// Method: 10 in one minute; in the next a tenth of them has slid out after 6 s, not after 60 s.
#[test]
fn a_counters_wait_is_shorter_than_the_rest_of_the_window() {
    let alice = one_key(counter(Limit::per_minute(10)));
    assert!(alice.ask(10).is_allowed());
    alice.wait(secs(60));
    assert_eq!(alice.ask(1).retry_after(), Some(secs(6)));
    alice.wait(secs(6) - TICK);
    assert!(alice.ask(1).is_refused());
    alice.wait(TICK);
    assert!(alice.ask(1).is_allowed());
}

/// Goal: B2, nor is the end of the window long enough when the current window is full by itself.
/// Method: 10 in the middle of a minute; at its end they all still weigh, and 6 s later nine do.
#[test]
fn a_counters_wait_is_longer_than_the_rest_of_a_full_window() {
    let alice = one_key(counter(Limit::per_minute(10)));
    alice.wait(secs(30));
    assert!(alice.ask(10).is_allowed());
    assert_eq!(alice.ask(1).retry_after(), Some(secs(36)));
    alice.wait(secs(30));
    assert!(alice.ask(1).is_refused(), "at the end of the window");
    alice.wait(secs(6));
    assert!(alice.ask(1).is_allowed());
}

/// Goal: B3, the weight moves with the ticks and not with whole seconds.
/// Method: after a full second at 10/s, one more is free at each tenth of the next; a client that
/// asks every millisecond gets ten, and then nine in each second, not five: the tenth would fit at
/// the edge, where the next second begins.
#[test]
fn a_counter_of_one_second_admits_more_than_half_its_limit() {
    let alice = one_key(counter(Limit::per_second(10)));
    assert!(alice.ask(10).is_allowed());
    alice.wait(secs(1));
    for tenth in 0..10 {
        assert_eq!(alice.peek().remaining(), tenth, "after {tenth} tenths");
        alice.wait(millis(100));
    }

    let steady = one_key(counter(Limit::per_second(10)));
    let mut admitted = 0;
    for _ in 0..10_000 {
        admitted += steady.admitted(1);
        steady.wait(millis(1));
    }
    assert_eq!(admitted, 10 + 9 * 9);
}

/// Goal: B4, `remaining` is what is then admitted, not a figure beside it.
/// Method: at odd moments of three windows, ask one by one until refused.
#[test]
fn a_counter_admits_just_what_it_says_remains() {
    let alice = one_key(counter(Limit::per_second(10)));
    for step in 0..100 {
        alice.wait(millis(31));
        let remaining = alice.peek().remaining();
        assert_eq!(alice.admitted(20), remaining, "step {step}");
    }
}

/// Goal: B5, a counter admits a unit if all of it fits, not if there is any room.
/// Method: an estimate of 9.5 of 10 is below the limit, and still refuses.
#[test]
fn an_estimate_below_the_limit_is_not_enough() {
    let alice = one_key(counter(Limit::per_second(10)));
    assert!(alice.ask(10).is_allowed());
    alice.wait(millis(1_050));
    assert!(alice.ask(1).is_refused(), "9.5 and one more is above 10");
    alice.wait(millis(50));
    assert!(alice.ask(1).is_allowed(), "9 and one more is 10");
}

/// Goal: B11, requests in the same tick are so many requests.
/// Method: six requests at 5/s without moving the clock.
#[test]
fn requests_in_the_same_tick_do_not_collapse_into_one() {
    let alice = one_key(log(Limit::per_second(5)));
    assert_eq!(alice.admitted(6), 5);
    assert_eq!(alice.peek().remaining(), 0);
}

/// Goal: B12, refused requests are not entered, so a client that hammers recovers, and takes no
/// more memory.
/// Method: fill a log, ask at every millisecond of its period; the first is admitted at the end.
#[test]
fn a_client_that_hammers_a_log_recovers() {
    let alice = one_key(log(Limit::per_second(5)));
    assert_eq!(alice.admitted(5), 5);
    let bytes = alice.limiter.stats().bytes;
    for _ in 0..999 {
        alice.wait(millis(1));
        assert!(alice.ask(1).is_refused());
    }
    assert_eq!(alice.limiter.stats().bytes, bytes);
    alice.wait(millis(1));
    assert_eq!(alice.admitted(10), 5);
}

/// Goal: B13, a log's wait looks at as many entries as the cost needs, not at the oldest alone.
/// Method: 1, 5 and 4 units a tenth of a second apart: three units are free when the five go.
#[test]
fn a_logs_wait_is_not_that_of_its_oldest_entry() {
    let alice = one_key(log(Limit::per_second(10)));
    for cost in [1, 5, 4] {
        assert!(alice.ask(cost).is_allowed());
        alice.wait(millis(100));
    }
    assert_eq!(alice.ask(1).retry_after(), Some(millis(700)));
    assert_eq!(alice.ask(3).retry_after(), Some(millis(800)));
    assert_eq!(alice.ask(7).retry_after(), Some(millis(900)));
    alice.wait(millis(800) - TICK);
    assert!(alice.ask(3).is_refused());
    alice.wait(TICK);
    assert!(alice.ask(3).is_allowed());
}

/// Goal: B24, a refused request is checked before it is added: it takes nothing.
/// Method: with 3 of 10 left, refuse 5 many times, and a cost above the limit; 3 still fit.
#[test]
fn a_refused_request_takes_nothing_from_a_fixed_window() {
    let alice = one_key(fixed(Limit::per_minute(10)));
    assert!(alice.ask(7).is_allowed());
    for _ in 0..100 {
        assert!(alice.ask(5).is_refused());
        assert!(alice.ask(1_000).is_never());
    }
    assert_eq!(alice.ask(3).remaining(), 0);
}

/// Goal: C11, a window belongs to the clock: an event on the edge is in the new window.
/// Method: use a window up at its last tick, and ask at the edge.
#[test]
fn an_event_on_the_edge_belongs_to_the_new_window() {
    let alice = one_key(fixed(Limit::per_minute(10)));
    alice.wait(secs(60) - TICK);
    assert!(alice.ask(10).is_allowed());
    assert_eq!(alice.ask(1).retry_after(), Some(TICK));
    alice.wait(TICK);
    let edge = alice.ask(10);
    assert!(edge.is_allowed());
    assert_eq!(edge.reset_after(), Some(secs(60)));
}

/// Goal: B14, windows shorter than a second, or with a part of one, are as long as they say.
/// Method: fill 5/100ms and 5/1500ms, look a tick before and at their ends.
#[test]
fn windows_of_parts_of_a_second_are_not_cut() {
    for period in [100_000, 1_500_000] {
        for limit in [fixed, log] {
            let alice = one_key(limit(Limit::per(5, micros(period))));
            assert_eq!(alice.admitted(6), 5);
            alice.wait(micros(period) - TICK);
            assert!(alice.ask(1).is_refused(), "{period} ticks");
            alice.wait(TICK);
            assert_eq!(alice.admitted(6), 5, "{period} ticks");
        }
    }
}
