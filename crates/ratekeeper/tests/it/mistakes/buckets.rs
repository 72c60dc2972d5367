//! Mistakes made with token and leaky buckets.
//!
//! Invariant: a bucket's times are exact to the tick, whatever the rate.

use crate::one_key::{TICK, fixed, micros, millis, one_key, secs};
use ratekeeper::{Algorithm, Limit};

/// Goal: B1, the wait counts the part of a unit that is already there, and all units of the cost.
/// Method: at 0.1/s, with 0.95 of a unit there, one unit takes 0.5 s and not 10 s; three take 20.5 s.
#[test]
fn the_wait_is_not_one_over_the_rate() {
    let alice = one_key("6/minute burst 10");
    assert!(alice.ask(10).is_allowed());
    alice.wait(millis(9_500));
    assert_eq!(alice.ask(1).retry_after(), Some(millis(500)));
    assert_eq!(alice.ask(3).retry_after(), Some(millis(20_500)));

    alice.wait(millis(20_500) - TICK);
    assert!(alice.ask(3).is_refused());
    alice.wait(TICK);
    assert!(alice.ask(3).is_allowed());
}

/// Goal: B5, a bucket that has less than one unit of room admits none.
/// Method: a level of 9.5 in a bucket of 10 is below the capacity, and still refuses.
#[test]
fn a_level_below_the_capacity_is_not_enough() {
    let alice = one_key("10/second");
    assert!(alice.ask(10).is_allowed());
    alice.wait(millis(50));
    assert!(alice.ask(1).is_refused());
    alice.wait(millis(50));
    assert!(alice.ask(1).is_allowed());
}

/// Goal: B6, a unit is usable at the very tick at which it completes, whatever the time of day.
/// Method: at 10/s, in each of 1 000 milliseconds, spend, and ask 100 ms later and a tick before.
#[test]
fn a_unit_is_there_after_just_its_interval_in_every_phase() {
    let alice = one_key("10/second burst 1");
    for phase in 0..1_000 {
        alice.wait(secs(1) + millis(1));
        assert!(alice.ask(1).is_allowed(), "phase {phase}");
        alice.wait(millis(100) - TICK);
        assert!(alice.ask(1).is_refused(), "phase {phase}: a tick early");
        alice.wait(TICK);
        assert!(alice.ask(1).is_allowed(), "phase {phase}: on time");
    }
}

/// Goal: B7, high rates are kept as configured, not rounded to what a short number holds.
/// Method: ask at every tick of a tenth of a second; the burst and what the rate gives pass.
#[test]
fn seven_thousand_a_second_is_not_ten_thousand_and_fifty_thousand_is_not_unlimited() {
    for (per_second, in_a_tenth) in [(7_000, 700), (20_000, 2_000), (50_000, 5_000)] {
        let alice = one_key(Limit::per_second(per_second).burst(2));
        let mut admitted = alice.admitted(3);
        for _ in 0..100_000 {
            alice.wait(TICK);
            admitted += alice.admitted(1);
        }
        assert_eq!(admitted, 2 + in_a_tenth, "{per_second}/second");
    }
}

/// Goal: B18, a bucket that takes longer than a day to fill is not full after a day.
/// Method: drain 7 per week, and look after one day and after seven.
#[test]
fn a_slow_bucket_is_not_full_after_a_day() {
    let alice = one_key("7/week");
    assert!(alice.ask(7).is_allowed());
    alice.wait(secs(24 * 3600));
    assert_eq!(alice.peek().remaining(), 1);
    alice.wait(secs(6 * 24 * 3600));
    assert_eq!(alice.peek().remaining(), 7);
}

/// Goal: B30, refusals do not wear on the figures by rounding them again and again.
/// Method: at 3/s, ask at every tick after the burst; the first unit comes at its tick, the others
/// at theirs, for as long as one cares to ask.
#[test]
fn a_client_that_hammers_gets_its_units_on_time() {
    let alice = one_key("3/second burst 2");
    assert_eq!(alice.admitted(3), 2);
    let mut times = Vec::new();
    for tick in 1..=1_000_000 {
        alice.wait(TICK);
        if alice.ask(1).is_allowed() {
            times.push(tick);
        }
    }
    assert_eq!(times, [333_334, 666_667, 1_000_000]);
}

/// Goal: C5, the leaky bucket as a meter is the token bucket by another name: an idle one passes
/// its capacity at once.
/// Method: the same calls to both.
#[test]
fn a_leaky_bucket_is_a_token_bucket_and_does_not_smooth() {
    let leaky = one_key(Limit::per_second(10).burst(20).algorithm(Algorithm::LeakyBucket));
    let token = one_key(Limit::per_second(10).burst(20).algorithm(Algorithm::TokenBucket));
    assert_eq!(leaky.admitted(30), 20);
    assert_eq!(token.admitted(30), 20);
    for wait in [1, 99, 100, 250, 5_000] {
        leaky.wait(millis(wait));
        token.wait(millis(wait));
        assert_eq!(leaky.ask(2), token.ask(2), "after {wait} ms more");
    }
}

/// Goal: found in throttlecrab: an idle bucket never admits more than its burst.
/// Method: spend one of 10, idle for each number of ticks around the time of a full bucket, and
/// ask for twice the burst.
#[test]
fn an_idle_bucket_admits_its_burst_and_no_more() {
    for idle in [0, 1, 899_999, 900_000, 999_999, 1_000_000, 1_899_999, 1_900_000, 2_000_000] {
        let alice = one_key("10/second");
        assert!(alice.ask(1).is_allowed());
        alice.wait(micros(idle));
        let left = 9 + u64::from(idle >= 100_000);
        assert_eq!(alice.admitted(20), left, "after {idle} ticks");
    }
}

/// Goal: found in Traefik: a pause shorter than the refill does not make a bucket full.
/// Method: empty a bucket of 100 at 1/s, pause for 2 s, and ask: two units are there.
#[test]
fn a_short_pause_does_not_refill_a_large_bucket() {
    let alice = one_key("1/second burst 100");
    assert_eq!(alice.admitted(101), 100);
    alice.wait(secs(2));
    assert_eq!(alice.admitted(100), 2);
}

/// Goal: found in governor: an interval that is no whole number of ticks is not rounded down.
/// Method: at 7/minute, ask at each promised instant for a day: the burst and just what the rate
/// gives, not one more.
#[test]
fn an_odd_rate_is_exact_over_a_day() {
    let alice = one_key("7/minute burst 2");
    let midnight = alice.clock.now() + secs(24 * 3600);
    let mut admitted = 0;
    while alice.clock.now() <= midnight {
        let decision = alice.ask(1);
        admitted += u64::from(decision.is_allowed());
        alice.wait(decision.retry_after().unwrap_or_default());
    }
    assert_eq!(admitted, 2 + 7 * 60 * 24);
}

/// Goal: found in Limitador: the time to reset is rounded up, never cut.
/// Method: one unit at 3/s is gone after a third of a second: not whole at the tick before.
#[test]
fn the_time_to_reset_is_not_cut_short() {
    let alice = one_key("3/second");
    assert_eq!(alice.ask(1).reset_after(), Some(micros(333_334)));
    alice.wait(micros(333_333));
    assert_eq!(alice.peek().remaining(), 2);
    alice.wait(TICK);
    assert_eq!(alice.peek().remaining(), 3);

    let window = one_key(fixed(Limit::per_second(3)));
    window.wait(micros(1));
    assert_eq!(window.ask(1).reset_after(), Some(micros(999_999)));
}
