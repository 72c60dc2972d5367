//! The observer, which is told of every decision.
//!
//! Invariant: each decision is told once, as the caller gets it; what decides nothing is not told.

use crate::one_key::secs;
use ratekeeper::{Decision, Limiter, ManualClock, Observer};
use std::sync::{Arc, Mutex};

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
