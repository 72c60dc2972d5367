//! Decisions while the store is away: by each rule's policy, with their source.
//!
//! Invariant: an outage is an answer, and never an error.

use super::{POLICIES, away, limiter, local};
use crate::one_key::secs;
use ratekeeper::outage::Class;
use ratekeeper::{
    Algorithm, Decision, Limit, Limiter, ManualClock, NeedsAwait, Observer, OnStoreFailure, Source,
    StoreError,
};
use std::sync::{Arc, Mutex};

/// Goal: a shared store cannot be asked without await, by any call.
/// Method: every `try_now`.
#[tokio::test]
async fn a_shared_store_has_to_be_awaited() {
    let limiter = limiter(1, &ManualClock::new(), &"10/minute");
    let rule = local(&limiter);
    assert_eq!(rule.try_check("alice"), Err(NeedsAwait));
    assert_eq!(rule.peek("alice").try_now(), Err(NeedsAwait));
    assert_eq!(rule.refund("alice", 1).try_now(), Err(NeedsAwait));
    assert_eq!(rule.reset("alice").try_now(), Err(NeedsAwait));
    assert_eq!(rule.check_many(&["alice"]).try_now(), Err(NeedsAwait));
    assert!(rule.acquire("alice").try_now().is_err());
    assert!(rule.reserve("alice", 1).try_now().is_err());
    assert!(limiter.check_all([("local", "alice")]).unwrap().try_now().is_err());
    // None of them has charged anything.
    assert_eq!(rule.peek("alice").await.remaining(), 10);
}

/// Goal: a rule admits, refuses, or gives this server's share, and says so; where there was nobody to
/// ask, there are no figures.
/// Method: one check under each policy.
#[tokio::test]
async fn the_policy_of_the_rule_decides() {
    let limiter = limiter(3, &ManualClock::new(), &"100/minute");
    let check = async |name| limiter.rule(name).unwrap().check("alice").await;
    let allowed: Decision = check("allow").await;
    assert!(allowed.is_allowed() && allowed.is_without_figures());
    assert_eq!((allowed.source(), allowed.source().name()), (Source::FailedOpen, "failed_open"));
    assert_eq!(
        (allowed.retry_after(), allowed.reset_after(), allowed.permit()),
        (None, None, None)
    );
    let denied: Decision = check("deny").await;
    assert!(denied.is_refused() && denied.is_without_figures() && !denied.is_never());
    assert_eq!((denied.source(), denied.source().name()), (Source::FailedClosed, "failed_closed"));
    assert_eq!((denied.retry_after(), denied.reset_after(), denied.permit()), (None, None, None));
    let own: Decision = check("local").await;
    assert!(own.is_allowed() && !own.is_without_figures());
    assert_eq!((own.source(), own.source().name()), (Source::Local, "local"));
    assert_eq!((own.limit(), own.remaining()), (34, 33));
}

/// Goal: each of `n` servers admits exactly its part of the limit, rounded up, in every period, by every
/// algorithm.
/// Method: use it up, for fleets of one to seven, and again after two periods.
#[tokio::test]
async fn each_server_admits_its_part_rounded_up() {
    for algorithm in Algorithm::ALL {
        for nodes in 1..=7 {
            let clock = ManualClock::new();
            let limit = Limit::per_minute(10).algorithm(algorithm);
            let limiter = limiter(nodes, &clock, &limit);
            let (rule, share) = (local(&limiter), u64::from(10_u32.div_ceil(nodes)));
            for round in 0..2 {
                for call in 1..=share {
                    let decision = rule.check("alice").await;
                    assert!(decision.is_allowed(), "{algorithm}, {nodes}: {round}, {call}");
                    assert_eq!((decision.limit(), decision.remaining()), (share, share - call));
                }
                let refused = rule.check("alice").await;
                assert!(refused.is_refused(), "{algorithm}, {nodes}: {round}");
                assert_eq!(refused.source(), Source::Local);
                assert!(refused.retry_after().is_some());
                clock.advance(secs(120));
            }
        }
    }
}

/// Goal: a burst, several limits and permits have their part, too.
/// Method: three servers, and what each admits at once.
#[tokio::test]
async fn bursts_and_permits_have_their_part() {
    let clock = ManualClock::new();
    let admitted = async |limits: Vec<&str>| {
        let limiter = limiter(3, &clock, &limits);
        let rule = local(&limiter);
        let mut count = 0;
        while rule.check("alice").await.is_allowed() {
            count += 1;
        }
        count
    };
    assert_eq!(admitted(vec!["100/minute burst 20"]).await, 7);
    assert_eq!(admitted(vec!["100/minute", "5/second"]).await, 2);
    assert_eq!(admitted(vec!["4 concurrent"]).await, 2);
    assert_eq!(admitted(vec!["100/minute", "1 concurrent"]).await, 1);
}

/// Goal: of several rules, one that refuses without the store refuses for all, and no share is charged;
/// one that has used its share up refuses for all, too; each says its own source.
/// Method: ask them together in every mixture, and look at the share after each.
#[tokio::test]
async fn one_rule_that_refuses_refuses_for_all_and_charges_nothing() {
    let limiter = limiter(2, &ManualClock::new(), &"10/minute");
    let left = async || local(&limiter).peek("alice").await.remaining();
    let ask = async |names: &[&str]| {
        let asked = names.iter().map(|name| (*name, "alice"));
        limiter.check_all(asked).unwrap().await
    };
    let answer = ask(&["allow", "deny", "local"]).await;
    assert!(answer.is_refused());
    assert_eq!((answer.rule(), answer.source()), (Some("deny"), Source::FailedClosed));
    let sources: Vec<Source> = answer.results().map(|(_, decision)| decision.source()).collect();
    assert_eq!(sources, [Source::FailedOpen, Source::FailedClosed, Source::Local]);
    assert_eq!(left().await, 5);
    assert!(ask(&["local", "deny"]).await.is_refused());
    assert_eq!(left().await, 5);
    let answer = ask(&["allow", "local"]).await;
    assert!(answer.is_allowed());
    assert_eq!((answer.rule(), answer.remaining()), (Some("local"), 4));
    assert!(limiter.check_all([("local", "alice")]).unwrap().cost(4).await.is_allowed());
    let answer = ask(&["allow", "local"]).await;
    assert!(answer.is_refused());
    assert_eq!((answer.rule(), answer.source()), (Some("local"), Source::Local));
}

/// Keeps the classes of what went wrong.
#[derive(Clone, Default)]
struct Classes(Arc<Mutex<Vec<Class>>>);

impl Observer for Classes {
    fn decided(&self, _: &str, _: &Decision) {}

    fn store_failed(&self, error: &StoreError) {
        assert!(error.to_string().starts_with("store `redis://127.0.0.1:1"), "{error}");
        self.0.lock().unwrap().push(error.class());
    }
}

/// Goal: after five failures in a row nobody waits for the store any more; the observer is told each time.
/// Method: seven checks.
#[tokio::test]
async fn after_five_failures_the_breaker_is_open() {
    let classes = Classes::default();
    let limiter = Limiter::redis(away()).observer(classes.clone()).rule("api", "9/minute").unwrap();
    let limiter = limiter.on_store_failure("api", OnStoreFailure::Deny).unwrap().build();
    for _ in 0..7 {
        let decision = limiter.rule("api").unwrap().check("alice").await;
        assert_eq!(decision.source(), Source::FailedClosed);
    }
    let told = classes.0.lock().unwrap().clone();
    assert_eq!(told[..5], [Class::Connection; 5]);
    assert_eq!(told[5..], [Class::Open; 2]);
}

/// Goal: a policy for a rule that does not exist is refused, with the rules that do.
/// Method: a slip of the keyboard.
#[test]
fn a_policy_is_for_a_rule_that_exists() {
    let builder = Limiter::redis(away()).rule(POLICIES[0].0, "9/minute").unwrap();
    let error = builder.on_store_failure("alow", OnStoreFailure::Deny).unwrap_err();
    assert_eq!(error.to_string(), "no rule is named `alow`; the rules are allow");
}
