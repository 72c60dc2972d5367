//! Rules of several limits, which all apply.
//!
//! Invariant: a request counts under all limits of its rule, or under none.

use crate::one_key::{TICK, counter, fixed, log, millis, one_key, secs};
use ratekeeper::{Algorithm, Limit};

/// Goal: every limit of a rule applies, and the decision is that of the strictest.
/// Method: 2 per second and 3 per minute: the first refuses the third request, the second the
/// fourth.
#[test]
fn every_limit_of_a_rule_applies() {
    let alice = one_key(["2/second", "3/minute"]);
    let first = alice.ask(1);
    assert_eq!((first.limit(), first.remaining()), (2, 1), "the one with the least left speaks");
    assert!(alice.ask(1).is_allowed());
    let third = alice.ask(1);
    assert_eq!((third.limit(), third.retry_after()), (2, Some(millis(500))));

    alice.wait(secs(1));
    assert_eq!(alice.ask(1).remaining(), 0, "three of three in the minute");
    let fourth = alice.ask(1);
    assert_eq!((fourth.limit(), fourth.retry_after()), (3, Some(secs(19))));
    alice.wait(secs(19) - TICK);
    assert!(alice.ask(1).is_refused());
    alice.wait(TICK);
    assert!(alice.ask(1).is_allowed());
}

/// Goal: what one limit refuses, the others do not count.
/// Method: let the short limit refuse many requests; the long one has its units still.
#[test]
fn a_refused_request_counts_under_no_limit() {
    for algorithm in Algorithm::ALL {
        let limits = [(2, secs(1)), (10, secs(3_600))]
            .map(|(amount, period)| Limit::per(amount, period).algorithm(algorithm));
        let alice = one_key(limits);
        let mut admitted = 0;
        for _ in 0..5 {
            admitted += alice.admitted(50);
            alice.wait(secs(2));
        }
        assert_eq!(admitted, 10, "{algorithm}");
    }
}

/// Goal: the wait for several limits is the longest of them, and exact.
/// Method: a bucket, a log and a counter that refuse for different times; a tick before the
/// longest the request is refused, then it is admitted.
#[test]
fn the_wait_is_the_longest_of_all_limits() {
    let limits = [
        Limit::per_second(10).build().unwrap(),
        log(Limit::per_minute(10)).build().unwrap(),
        counter(Limit::per_minute(10)).build().unwrap(),
    ];
    let alice = one_key(limits.to_vec());
    alice.wait(secs(30));
    assert!(alice.ask(10).is_allowed());
    // The bucket asks for 0.1 s, the log for 60 s, the counter for the 30 s to the edge and 6 s.
    assert_eq!(alice.ask(1).retry_after(), Some(secs(60)));
    alice.wait(secs(60) - TICK);
    assert!(alice.ask(1).is_refused());
    alice.wait(TICK);
    assert!(alice.ask(1).is_allowed());
}

/// Goal: what a refusal says remains is admitted, by all limits.
/// Method: a limit that has 3 left and refuses for a short time, beside one that has 4 left and
/// refuses for longer: 3 units fit, 4 do not.
#[test]
fn what_remains_is_what_all_limits_admit() {
    let alice = one_key(["10/second", "11/11h"]);
    assert!(alice.ask(7).is_allowed());
    let refused = alice.ask(5);
    assert_eq!(refused.retry_after(), Some(secs(3600)), "the one that refuses for longer");
    assert!(alice.ask(refused.remaining() + 1).is_refused());
    assert!(alice.ask(refused.remaining()).is_allowed(), "{} remain", refused.remaining());
}

/// Goal: a cost above one of the limits never fits, whatever the others say.
/// Method: 5 units under limits of 10 and 3.
#[test]
fn a_cost_above_one_limit_never_fits() {
    let alice = one_key(["10/second", "3/minute"]);
    assert!(alice.ask(5).is_never());
    assert_eq!(alice.ask(3).remaining(), 0);
}

/// Goal: limits of the same shape count each for itself.
/// Method: the same limit twice: each request counts once under each, so all of them pass.
#[test]
fn the_same_limit_twice_counts_each_for_itself() {
    let alice = one_key(["5/second", "5/second"]);
    assert_eq!(alice.admitted(10), 5);
    let windows = one_key([fixed(Limit::per_second(5)), fixed(Limit::per_second(3))]);
    assert_eq!(windows.admitted(10), 3);
}

/// Goal: an unlimited limit beside others does not matter.
/// Method: a rule of both.
#[test]
fn unlimited_beside_a_limit_does_not_matter() {
    let alice = one_key(["unlimited", "5/second"]);
    assert_eq!(alice.ask(1).limit(), 5);
    assert_eq!(alice.admitted(10), 4);
}

/// Goal: refunds and resets reach every limit of a rule.
/// Method: use up two limits, give two units back, then reset.
#[test]
fn refunds_and_resets_reach_every_limit() {
    let alice = one_key(["4/second", "4/hour"]);
    assert!(alice.ask(4).is_allowed());
    assert_eq!(alice.rule.refund("alice", 2).try_now().unwrap().remaining(), 2);
    assert_eq!(alice.admitted(5), 2);
    assert_eq!(alice.rule.reset("alice").try_now().unwrap().remaining(), 4);
    assert_eq!(alice.admitted(5), 4);
}
