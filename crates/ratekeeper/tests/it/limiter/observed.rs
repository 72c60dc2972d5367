//! All that an observer can be told of a decision.

use ratekeeper::limiter::Observed;
use ratekeeper::rule::KeyPart;
use ratekeeper::rule::file::RuleFile;
use ratekeeper::{Decision, Limiter, ManualClock, Observer, Request};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

/// What a decision was told with: rule, hash of the key, whether in shadow, whether it refused.
type Told = (String, Option<u64>, bool, bool);

/// Writes down all that it is told of decisions, and the keys that it is offered.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<(Vec<Told>, Vec<Met>)>>);

/// A rule, the hash of a key, and its parts.
type Met = (String, u64, Vec<KeyPart>);

impl Observer for Ledger {
    /// Who is told all is not told a part of it again: this would be one line too many.
    fn decided(&self, rule: &str, _: &Decision) {
        let told = (format!("{rule} again"), None, false, false);
        self.0.lock().expect("no test panics here").0.push(told);
    }

    fn observed(&self, observed: &Observed<'_>) {
        let (rule, refused) = (observed.rule.to_owned(), observed.decision.is_refused());
        let told = (rule, observed.who, observed.shadow, refused);
        self.0.lock().expect("no test panics here").0.push(told);
    }

    fn met(&self, rule: &str, who: u64, key: &dyn Fn() -> Vec<KeyPart>) {
        self.0.lock().expect("no test panics here").1.push((rule.to_owned(), who, key()));
    }
}

/// Goal: who is told all knows whom a decision counted, also of rules in shadow and of such that close a
/// route, and can write the key down.
/// Method: a rule of each kind; the hashes that are told are those of the keys that were offered.
#[test]
fn all_that_is_known_of_a_decision_is_told() {
    let ledger = Ledger::default();
    let text = "rules:\n\
        - {id: api, match: {path: /api}, key: [user, method], limit: 1/minute, trial: 9/minute}\n\
        - {id: dry, match: {path: /api}, key: global, limit: 1/minute, rollout: shadow}\n\
        - {id: shut, match: {path: /shut}, key: global, deny: true}\n\
        - {id: old, match: {path: /old}, key: global, deny: true, rollout: shadow}\n";
    let file = RuleFile::parse(text).unwrap();
    let builder = Limiter::from_file(file).unwrap().clock(&ManualClock::new());
    let limiter = builder.observer(ledger.clone()).build();
    let ask = |path: &str, cost| {
        let request =
            Request { user: Some("alice"), cost: Some(cost), ..Request::new("GET", path) };
        let mut check = pin!(limiter.check(&request));
        let done = check.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(done, std::task::Poll::Ready(Ok(_))));
        std::mem::take(&mut *ledger.0.lock().expect("no test panics here"))
    };
    let (told, met) = ask("/api", 1);
    let [(_, api, ref key), (_, dry, _)] = met[..] else { panic!("two keys: {met:?}") };
    let parts: Vec<_> = key.iter().map(|own| (own.kind.to_string(), &*own.value)).collect();
    assert_eq!(parts, [("user".to_owned(), "alice"), ("method".to_owned(), "GET")]);
    let (rule, same) = limiter.rule_of("api", key, None).unwrap();
    assert_eq!(rule.hash_of(&same), api, "what is told leads to whom it was told of");
    let first = |rule: &str, who, shadow| (rule.to_owned(), Some(who), shadow, false);
    assert_eq!(
        told,
        [first("api", api, false), first("api trial", api, true), first("dry", dry, true)]
    );
    assert_eq!(ask("/api", 1).0, [("api".to_owned(), Some(api), false, true)]);
    assert_eq!(ask("/shut", 1).0, [("shut".to_owned(), None, false, true)]);
    assert_eq!(
        ask("/old", 1).0,
        [("old".to_owned(), None, true, true)],
        "in shadow it is told, too"
    );
    assert!(ask("/api", 0).0.is_empty() && ask("/shut", 0).0.is_empty(), "a look is no decision");
}
