//! Mistakes that can be made with any algorithm, tested with every one.
//!
//! Invariant: a refusal, a peek and a clock that went back leave a key as it was.

use crate::one_key::{each, millis, one_key, secs};
use ratekeeper::{Algorithm, Limit, Limiter, ManualClock};

/// Goal: B21, a clock that goes back neither adds nor takes units, and does not start a new count.
/// Method: use a key up, set the clock back by up to an hour and ask; return, and compare with what
/// was due.
#[test]
fn a_clock_that_went_back_gives_nothing_away() {
    for (algorithm, alice) in each(10, secs(1)) {
        assert_eq!(alice.admitted(11), 10, "{algorithm}");
        let used_up = alice.clock.now();
        for back in [millis(1), millis(500), secs(1), secs(2), secs(3_600)] {
            alice.clock.set(used_up - back);
            assert!(alice.ask(1).is_refused(), "{algorithm}: {back:?} back");
            assert_eq!(alice.peek().remaining(), 0, "{algorithm}: {back:?} back");
        }
        alice.clock.set(used_up);
        assert!(alice.ask(1).is_refused(), "{algorithm}: back where it was");
        alice.clock.set(used_up + secs(2));
        assert_eq!(alice.admitted(11), 10, "{algorithm}: whole again");
    }
}

/// Goal: B26, a refusal costs no write: neither a key, nor memory, nor a later instant.
/// Method: refuse a key that exists, a cost above the limit of one that does not, and look at what
/// the store holds.
#[test]
fn a_refusal_writes_nothing() {
    for (algorithm, alice) in each(10, secs(1)) {
        assert!(alice.ask(10).is_allowed(), "{algorithm}");
        let (stats, promised) = (alice.limiter.stats(), alice.ask(1));
        for _ in 0..1_000 {
            assert_eq!(alice.ask(1), promised, "{algorithm}");
            let stranger = alice.rule.check("mallory").cost(11).try_now().unwrap();
            assert!(stranger.is_never(), "{algorithm}");
        }
        assert_eq!(alice.limiter.stats(), stats, "{algorithm}");
    }
}

/// Goal: found in redis-cell: a cost of zero writes nothing either, and is never refused.
/// Method: peek at a stranger and at a key that is used up, and look at what the store holds.
#[test]
fn a_peek_writes_nothing() {
    for (algorithm, alice) in each(10, secs(1)) {
        assert!(alice.ask(10).is_allowed(), "{algorithm}");
        let stats = alice.limiter.stats();
        let stranger = alice.rule.check("mallory").cost(0).try_now().unwrap();
        assert_eq!(stranger.remaining(), 10, "{algorithm}");
        assert!(alice.ask(0).is_allowed(), "{algorithm}: nothing is left, and a peek may look");
        assert_eq!(alice.ask(0).remaining(), 0, "{algorithm}");
        assert_eq!(alice.limiter.stats(), stats, "{algorithm}");
    }
}

/// Goal: B28, an answer is complete whether it allows or refuses.
/// Method: the figures of the first and of the last request that fits, and of the one after.
#[test]
fn an_allowed_request_is_told_its_figures_too() {
    for (algorithm, alice) in each(10, secs(1)) {
        let first = alice.ask(1);
        assert_eq!((first.limit(), first.remaining()), (10, 9), "{algorithm}");
        assert!(first.reset_after() > Some(millis(0)), "{algorithm}");
        assert_eq!(first.retry_after(), None, "{algorithm}");

        let last = alice.ask(9);
        assert_eq!((last.limit(), last.remaining()), (10, 0), "{algorithm}");

        let refused = alice.ask(1);
        assert_eq!((refused.limit(), refused.remaining()), (10, 0), "{algorithm}");
        assert!(refused.reset_after() > Some(millis(0)), "{algorithm}");
        assert!(refused.retry_after().is_some(), "{algorithm}");
    }
}

/// Goal: B29, a rate of nothing is refused when it is configured, not when it divides by zero.
/// Method: zeros in each place, as text and in code, for every algorithm.
#[test]
fn a_rate_of_zero_is_refused_at_the_start() {
    for text in ["0/second", "10/0s", "10/second burst 0"] {
        assert!(Limiter::memory().rule("rule", text).is_err(), "{text}");
    }
    for algorithm in Algorithm::ALL {
        let zero = Limit::per_second(0).algorithm(algorithm);
        assert!(Limiter::memory().rule("rule", zero).is_err(), "{algorithm}");
        let never = Limit::per(10, secs(0)).algorithm(algorithm);
        assert!(Limiter::memory().rule("rule", never).is_err(), "{algorithm}");
    }
}

/// Goal: found in envoyproxy/ratelimit: a request that one rule refuses takes nothing from others.
/// Method: a rule that is used up beside one that is not, asked together many times.
#[test]
fn a_refused_request_is_not_counted_by_other_rules() {
    let clock = ManualClock::new();
    for algorithm in Algorithm::ALL {
        let limiter = Limiter::memory()
            .clock(&clock)
            .rule("narrow", Limit::per_hour(1).algorithm(algorithm))
            .unwrap()
            .rule("wide", Limit::per_hour(100).algorithm(algorithm))
            .unwrap()
            .build();
        let ask = || {
            limiter.check_all([("wide", "alice"), ("narrow", "alice")]).unwrap().try_now().unwrap()
        };
        assert!(ask().is_allowed());
        for _ in 0..50 {
            assert!(ask().is_refused());
        }
        let wide = limiter.rule("wide").unwrap().peek("alice").try_now().unwrap();
        assert_eq!(wide.remaining(), 99, "{algorithm}");
    }
}

/// Goal: a cost above the limit does not make a client loop: there is no time to retry at.
/// Method: 11 of 10, of a new key and of one in use.
#[test]
fn a_cost_above_the_limit_is_told_never() {
    let alice = one_key("10/second");
    for _ in 0..2 {
        let decision = alice.ask(11);
        assert!(decision.is_refused());
        assert!(decision.is_never());
        assert_eq!(decision.retry_after(), None);
        assert!(alice.ask(1).is_allowed());
    }
}
