//! Numbers that others have published, worked out by the library.
//!
//! Invariant: where a published number is right, the library gives it; where the published rule
//! rounds in the client's favour, the comment says what ours gives instead.

use crate::one_key::{counter, log, micros, millis, one_key, secs};
use ratekeeper::{Limit, Limiter, ManualClock};

/// Goal: 50 + 80 × 0.5 = 90.
/// Method: 80 in one minute, 50 in the next, half of it over: 10 of 100 are left.
#[test]
fn fifty_and_half_of_eighty_is_ninety() {
    let alice = one_key(counter(Limit::per_minute(100)));
    assert!(alice.ask(80).is_allowed());
    alice.wait(secs(90));
    assert_eq!(alice.peek().remaining(), 60);
    assert_eq!(alice.ask(50).remaining(), 10);
}

/// Goal: 30 + 80 × 0.6 = 78.
/// Method: 80 in one minute, 30 in the next, four tenths of it over: 22 of 100 are left.
#[test]
fn thirty_and_six_tenths_of_eighty_is_seventy_eight() {
    let alice = one_key(counter(Limit::per_minute(100)));
    assert!(alice.ask(80).is_allowed());
    alice.wait(secs(60 + 24));
    assert_eq!(alice.ask(30).remaining(), 22);
}

/// Goal: Cloudflare's 42 × 45/60 + 18 = 49.5 of 50. By their rule another request passes; by ours a
/// whole unit has to fit, and 50.5 does not.
/// Method: 42 in one minute, 18 in the next, a quarter of it over: nothing is left until 42 weigh
/// 31, which is when 31/42 of them are covered: 714 286 µs later.
#[test]
fn forty_nine_and_a_half_of_fifty_leaves_nothing() {
    let alice = one_key(counter(Limit::per_minute(50)));
    assert!(alice.ask(42).is_allowed());
    alice.wait(secs(60 + 15));
    assert_eq!(alice.ask(18).remaining(), 0);
    assert_eq!(alice.ask(1).retry_after(), Some(micros(714_286)));
}

/// Goal: an idle bucket fills to its capacity and not further.
/// Method: 10/s with a capacity of 100, drained, idle for 30 s: 100, not 300.
#[test]
fn thirty_idle_seconds_fill_a_bucket_to_its_hundred() {
    let alice = one_key("10/second burst 100");
    assert!(alice.ask(100).is_allowed());
    alice.wait(secs(30));
    assert_eq!(alice.peek().remaining(), 100);
}

/// Goal: a capacity of 10 at 2/s.
/// Method: ten pass at once and the next in half a second; after a second there are two, after five
/// all ten.
#[test]
fn a_capacity_of_ten_at_two_a_second() {
    let alice = one_key("2/second burst 10");
    assert_eq!(alice.admitted(11), 10);
    assert_eq!(alice.ask(1).retry_after(), Some(millis(500)));
    alice.wait(secs(1));
    assert_eq!(alice.peek().remaining(), 2);
    alice.wait(secs(4));
    assert_eq!(alice.peek().remaining(), 10);
}

/// Goal: a burst of 100 at 10/s takes 10 s to come back.
/// Method: drain it; the answer says 10 s, and not a tick less is enough.
#[test]
fn a_burst_of_a_hundred_takes_ten_seconds_to_refill() {
    let alice = one_key("10/second burst 100");
    assert_eq!(alice.ask(100).reset_after(), Some(secs(10)));
    assert_eq!(alice.ask(100).retry_after(), Some(secs(10)));
    alice.wait(secs(10) - micros(1));
    assert!(alice.ask(100).is_refused());
    alice.wait(micros(1));
    assert!(alice.ask(100).is_allowed());
}

/// Goal: a log of 10 000 an hour holds 10 000 entries, each with its time, and one of 60 000 is
/// refused at the start.
/// Method: fill the first at ten a second; an hour later they leave it at ten a second. Build the
/// second.
#[test]
fn a_log_of_ten_thousand_an_hour_holds_them_all() {
    let clock = ManualClock::new();
    let limit = log(Limit::per_hour(10_000));
    let limiter = Limiter::memory().clock(&clock).rule("api", limit).unwrap().build();
    let api = limiter.rule("api").unwrap();
    for entry in 1..=10_000 {
        assert!(api.try_check("alice").unwrap().is_allowed(), "entry {entry}");
        clock.advance(millis(100));
    }
    let refused = api.try_check("alice").unwrap();
    assert_eq!(refused.retry_after(), Some(secs(3_600 - 1_000)));
    clock.advance(secs(3_600 - 1_000));
    for second in 0..1_000 {
        let left = api.peek("alice").try_now().unwrap().remaining();
        assert_eq!(left, 10 * second + 1, "an hour and {second} s after the first");
        clock.advance(secs(1));
    }
    assert!(log(Limit::per_minute(60_000)).build().is_err());
}
