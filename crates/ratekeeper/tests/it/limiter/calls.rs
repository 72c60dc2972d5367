//! Calls on one key: check, peek, refund and reset, awaited or not.
//!
//! Invariant: a call does what it says once, when it is awaited or run, and a call that is dropped
//! has done nothing.

use super::block_on;
use crate::one_key::{each, millis, one_key, secs};
use ratekeeper::decision::UNLIMITED;
use ratekeeper::{Limit, Source};

/// Goal: a call is awaited or run, with the same answer.
/// Method: one of each, with and without a cost; what is left shows that each counted once.
#[test]
fn a_check_is_awaited_or_run() {
    let alice = one_key("10/second");
    assert_eq!(block_on(alice.rule.check("alice")).remaining(), 9);
    assert_eq!(block_on(alice.rule.check("alice").cost(3)).remaining(), 6);
    assert_eq!(alice.rule.check("alice").try_now().unwrap().remaining(), 5);
    assert_eq!(alice.rule.check("alice").cost(2).try_now().unwrap().remaining(), 3);
    assert_eq!(alice.rule.try_check("alice").unwrap().remaining(), 2);
    assert_eq!(block_on(alice.rule.peek("alice")).remaining(), 2);
    assert_eq!(block_on(alice.rule.refund("alice", 4)).remaining(), 6);
    assert_eq!(block_on(alice.rule.reset("alice")).remaining(), 10);
}

/// Goal: a call that is dropped has done nothing.
/// Method: describe every call and drop it.
#[test]
fn a_call_that_is_dropped_has_done_nothing() {
    let alice = one_key("10/second");
    assert_eq!(alice.ask(4).remaining(), 6);
    let _ = alice.rule.check("alice").cost(5);
    let _ = alice.rule.refund("alice", 4);
    let _ = alice.rule.reset("alice");
    drop(alice.rule.check_many(&["alice", "alice"]));
    drop(alice.limiter.check_all([("rule", "alice")]).unwrap());
    assert_eq!(alice.peek().remaining(), 6);
}

/// Goal: a peek shows the figures of a key and charges nothing.
/// Method: peek often, at a stranger and at a key in use, under every algorithm.
#[test]
fn a_peek_charges_nothing() {
    for (algorithm, alice) in each(10, secs(1)) {
        for _ in 0..20 {
            let peek = alice.peek();
            assert!(peek.is_allowed(), "{algorithm}");
            assert_eq!((peek.limit(), peek.remaining()), (10, 10), "{algorithm}");
        }
        let asked = alice.ask(4);
        for _ in 0..20 {
            assert_eq!(alice.peek(), asked, "{algorithm}");
        }
    }
}

/// Goal: a refund gives back what was used, and no more.
/// Method: use 7 of 10, give back 2, then 100; a stranger has nothing to get back.
#[test]
fn a_refund_gives_back_what_was_used() {
    for (algorithm, alice) in each(10, secs(1)) {
        assert_eq!(alice.ask(7).remaining(), 3, "{algorithm}");
        let refund = |units| alice.rule.refund("alice", units).try_now().unwrap();
        assert_eq!(refund(2).remaining(), 5, "{algorithm}");
        assert!(refund(100).is_allowed(), "{algorithm}");
        assert_eq!(alice.peek().remaining(), 10, "{algorithm}");
        let created = alice.limiter.stats().created;
        let stranger = alice.rule.refund("mallory", 5).try_now().unwrap();
        assert_eq!(stranger.remaining(), 10, "{algorithm}");
        assert_eq!(alice.limiter.stats().created, created, "{algorithm}");
        assert_eq!(alice.admitted(20), 10, "{algorithm}");
    }
}

/// Goal: a reset forgets one key, and no other.
/// Method: use up two keys, reset one.
#[test]
fn a_reset_forgets_one_key() {
    for (algorithm, alice) in each(10, secs(1)) {
        assert!(alice.ask(10).is_allowed(), "{algorithm}");
        assert!(alice.rule.check("bob").cost(10).try_now().unwrap().is_allowed(), "{algorithm}");
        let reset = alice.rule.reset("alice").try_now().unwrap();
        assert!(reset.is_allowed(), "{algorithm}");
        assert_eq!(reset.remaining(), 10, "{algorithm}");
        assert_eq!(alice.admitted(20), 10, "{algorithm}");
        assert!(alice.rule.try_check("bob").unwrap().is_refused(), "{algorithm}");
        assert_eq!(alice.rule.reset("nobody").try_now().unwrap().remaining(), 10, "{algorithm}");
    }
}

/// Goal: an unlimited rule admits everything, says so, and remembers nothing.
/// Method: large costs, a refund and a reset.
#[test]
fn unlimited_admits_everything_and_remembers_nothing() {
    let alice = one_key(Limit::unlimited());
    for cost in [1, 1_000_000, u64::MAX] {
        let decision = alice.ask(cost);
        assert!(decision.is_allowed());
        assert_eq!((decision.limit(), decision.remaining()), (UNLIMITED, UNLIMITED));
        assert_eq!((decision.reset_after(), decision.retry_after()), (None, None));
        assert_eq!(decision.to_string(), "allowed, unlimited");
    }
    assert!(alice.rule.refund("alice", 5).try_now().unwrap().is_allowed());
    assert!(alice.rule.reset("alice").try_now().unwrap().is_allowed());
    assert_eq!(alice.limiter.stats().created, 0);
}

/// Goal: a decision reads aloud, with its wait rounded up.
/// Method: each kind of decision, with its text in full.
#[test]
fn a_decision_reads_aloud() {
    let alice = one_key("10/second");
    let allowed = alice.ask(7);
    assert_eq!(allowed.to_string(), "allowed, 3 of 10 left");
    assert_eq!(allowed.source(), Source::Store);
    assert_eq!(allowed.source().name(), "store");
    assert_eq!(alice.ask(11).to_string(), "refused, the cost is above the limit of 10");
    assert_eq!(alice.ask(10).to_string(), "refused, retry in 0.7 s");
    alice.wait(millis(699));
    assert_eq!(alice.ask(10).to_string(), "refused, retry in 1 ms");
    assert!(alice.ask(9).is_allowed());
    alice.wait(millis(1));
    assert_eq!(alice.ask(2).to_string(), "refused, retry in 0.1 s");
    alice.wait(millis(1));
    assert_eq!(alice.ask(2).to_string(), "refused, retry in 99 ms");
}
