//! The observer, which is told of every decision.
//!
//! Invariant: each decision is told once, as the caller gets it; what decides nothing is not told.

use crate::one_key::secs;
use ratekeeper::{Decision, Limit, Limiter, ManualClock, Observer};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

/// Writes down what it is told.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<(String, Decision)>>>);

impl Observer for Notes {
    fn decided(&self, rule: &str, decision: &Decision) {
        self.0.lock().expect("no test panics here").push((rule.to_owned(), *decision));
    }
}

impl Notes {
    /// What was told since the last time.
    fn take(&self) -> Vec<(String, Decision)> {
        std::mem::take(&mut self.0.lock().expect("no test panics here"))
    }
}

fn observed() -> (Limiter, Notes) {
    let notes = Notes::default();
    let limiter = Limiter::memory()
        .clock(&ManualClock::at(secs(1_000)))
        .observer(notes.clone())
        .rule("user", "2/second")
        .unwrap()
        .rule("org", ["5/second", "9/hour"])
        .unwrap()
        .rule("open", "unlimited")
        .unwrap()
        .build();
    (limiter, notes)
}

/// Goal: a decision is told once, whether it allows or refuses, and just as the caller gets it.
/// Method: three requests of one key under two per second, and one under several limits.
#[test]
fn each_decision_is_told_once() {
    let (limiter, notes) = observed();
    for rule in ["user", "user", "user", "org", "open"] {
        let decision = limiter.rule(rule).unwrap().try_check("alice").unwrap();
        assert_eq!(notes.take(), [(rule.to_owned(), decision)]);
    }
    let never = limiter.rule("user").unwrap().check("alice").cost(3).try_now().unwrap();
    assert!(never.is_never());
    assert_eq!(notes.take(), [("user".to_owned(), never)]);
}

/// Goal: of a request under several rules each rule's own decision is told.
/// Method: one that is admitted and one that is refused.
#[test]
fn each_rule_of_a_request_is_told_of() {
    let (limiter, notes) = observed();
    for _ in 0..3 {
        let asked = [("org", "7"), ("user", "42")];
        let decisions = limiter.check_all(asked).unwrap().try_now().unwrap();
        let told = notes.take();
        let expected: Vec<_> =
            decisions.results().map(|(rule, own)| (rule.to_owned(), *own)).collect();
        assert_eq!(told, expected);
        assert_eq!(told.len(), 2);
    }
}

/// Goal: of many keys each decision is told, in their order.
/// Method: a list with a key that appears too often, under one limit and under several.
#[test]
fn each_of_many_keys_is_told_of() {
    let (limiter, notes) = observed();
    for rule in ["user", "org"] {
        let keys = ["a", "b", "a", "a"];
        let answers = limiter.rule(rule).unwrap().check_many(&keys).try_now().unwrap();
        let expected: Vec<_> = answers.iter().map(|own| (rule.to_owned(), *own)).collect();
        assert_eq!(notes.take(), expected);
    }
}

/// Goal: peeks, refunds and resets decide nothing, and are not told.
/// Method: each of them, and every call with a cost of zero.
#[test]
fn what_decides_nothing_is_not_told() {
    let (limiter, notes) = observed();
    let user = limiter.rule("user").unwrap();
    let _ = user.peek("alice").try_now().unwrap();
    let _ = user.refund("alice", 1).try_now().unwrap();
    let _ = user.reset("alice").try_now().unwrap();
    let _ = user.check("alice").cost(0).try_now().unwrap();
    let _ = user.check_many(&["alice", "bob"]).cost(0).try_now().unwrap();
    let _ = limiter.check_all([("org", "7")]).unwrap().cost(0).try_now().unwrap();
    let _ = user.check("alice");
    assert_eq!(notes.take(), []);
}

/// Goal: a wait is one decision, told once: when it entered the line, or when it passed or was refused
/// for good.
/// Method: wait under a line and under a rate, each until after its time.
#[test]
fn a_wait_is_told_once() {
    let (clock, notes) = (ManualClock::at(secs(1_000)), Notes::default());
    let builder = Limiter::memory().clock(&clock).observer(notes.clone());
    let builder = builder.rule("line", Limit::per_second(1).burst(3).shaping()).unwrap();
    let limiter = builder.rule("rate", "1/second").unwrap().build();
    for (name, at_first, then) in [("line", 1, 0), ("rate", 0, 1)] {
        let rule = limiter.rule(name).unwrap();
        let _ = rule.try_check("alice").unwrap();
        notes.take();
        let mut wait = pin!(rule.wait("alice").max_wait(secs(1)).into_future());
        let mut poll = || wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll().is_pending());
        assert_eq!(notes.take().len(), at_first, "{name}");
        clock.advance(secs(1));
        assert!(poll().map(|decision| decision.is_allowed()).is_ready());
        assert_eq!(notes.take().len(), then, "{name}");
    }
}

/// Goal: the canary is a decision that nobody is told of, and that takes no key of anybody.
/// Method: ask for it, without rules and with; look at what was told.
#[test]
fn the_canary_is_nobodys_decision() {
    let (limiter, notes) = observed();
    let mut canary = pin!(limiter.canary());
    let done = canary.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(done, std::task::Poll::Ready(ratekeeper::limiter::Health::Well));
    assert!(notes.take().is_empty());
    assert_eq!((limiter.stats().keys, limiter.stats().most), (1, 1_000_000));
}
