//! Several rules as one decision.
//!
//! Invariant: a request counts under all its rules or under none, and each rule's own answer is its
//! own figures.

use super::{block_on, same};
use crate::laws::cases;
use crate::one_key::{millis, secs};
use proptest::prelude::*;
use ratekeeper::{Algorithm, Decisions, Limit, Limiter, ManualClock};
use ratekeeper_testing::oracle::{self, Oracle};

fn limiter(clock: &ManualClock) -> Limiter {
    Limiter::memory()
        .clock(clock)
        .rule("user", "5/second")
        .unwrap()
        .rule("org", Limit::per_second(20).algorithm(Algorithm::FixedWindow))
        .unwrap()
        .rule("open", "unlimited")
        .unwrap()
        .build()
}

fn ask(limiter: &Limiter, asked: &[(&str, &str)], cost: u64) -> Decisions {
    limiter.check_all(asked.iter().copied()).unwrap().cost(cost).try_now().unwrap()
}

fn left(limiter: &Limiter, rule: &str, key: &str) -> u64 {
    limiter.rule(rule).unwrap().peek(key).try_now().unwrap().remaining()
}

/// Goal: an admitted request is charged under every rule, each for its own key.
/// Method: a user and an organisation; the answer is that of the rule with the least left.
#[test]
fn an_admitted_request_is_charged_under_every_rule() {
    let limiter = limiter(&ManualClock::new());
    let decision = ask(&limiter, &[("org", "7"), ("user", "42"), ("open", "")], 2);
    assert!(decision.is_allowed());
    assert_eq!((decision.rule(), decision.remaining()), (Some("user"), 3));
    let results: Vec<_> =
        decision.results().map(|(rule, decision)| (rule, decision.remaining())).collect();
    assert_eq!(results, [("org", 18), ("user", 3), ("open", u64::MAX)]);
    assert_eq!((left(&limiter, "org", "7"), left(&limiter, "user", "42")), (18, 3));
    assert_eq!((left(&limiter, "org", "42"), left(&limiter, "user", "7")), (20, 5));
}

/// Goal: a refused request is charged under no rule, and each answer shows what is left.
/// Method: a user that is used up beside an organisation that is not, in both orders.
#[test]
fn a_refused_request_is_charged_under_no_rule() {
    let limiter = limiter(&ManualClock::new());
    assert!(ask(&limiter, &[("user", "42"), ("org", "7")], 4).is_allowed());
    for asked in [[("user", "42"), ("org", "7")], [("org", "7"), ("user", "42")]] {
        for _ in 0..10 {
            let decision = ask(&limiter, &asked, 2);
            assert!(decision.is_refused());
            assert_eq!((decision.rule(), decision.remaining()), (Some("user"), 1));
            assert_eq!(decision.retry_after(), Some(millis(200)));
            let names: Vec<_> = decision.results().map(|(rule, _)| rule).collect();
            assert_eq!(names, asked.map(|(rule, _)| rule), "in the order asked");
            for (rule, own) in decision.results() {
                assert_eq!(own.is_allowed(), rule == "org", "{rule}");
                assert_eq!(own.remaining(), if rule == "org" { 16 } else { 1 }, "{rule}");
            }
        }
    }
    assert_eq!((left(&limiter, "org", "7"), left(&limiter, "user", "42")), (16, 1));
}

/// Goal: the one that refuses for longest speaks, and one that never admits before all.
/// Method: both rules used up; then a cost above one of them.
#[test]
fn the_rule_that_refuses_for_longest_speaks() {
    let limiter = limiter(&ManualClock::new());
    assert!(ask(&limiter, &[("org", "7")], 20).is_allowed());
    assert!(ask(&limiter, &[("user", "42")], 5).is_allowed());
    let decision = ask(&limiter, &[("user", "42"), ("org", "7")], 1);
    assert_eq!((decision.rule(), decision.retry_after()), (Some("org"), Some(secs(1))));
    let decision = ask(&limiter, &[("user", "42"), ("org", "7")], 6);
    assert_eq!(decision.rule(), Some("user"));
    assert!(decision.is_never());
}

/// Goal: the same bucket twice in one request is charged the sum.
/// Method: one user twice, with room for both, for one, and with a sum above the limit.
#[test]
fn the_same_bucket_twice_is_charged_the_sum() {
    let limiter = limiter(&ManualClock::new());
    let twice = [("user", "42"), ("user", "42")];
    let decision = ask(&limiter, &twice, 2);
    assert!(decision.is_allowed());
    assert!(decision.results().all(|(_, own)| own.remaining() == 1));
    let decision = ask(&limiter, &twice, 1);
    assert!(decision.is_refused(), "two units, and one is left");
    assert_eq!(left(&limiter, "user", "42"), 1);
    assert!(ask(&limiter, &twice, 3).is_never(), "six units, and five is the limit");
    assert!(ask(&limiter, &twice[..1], 1).is_allowed());
}

/// Goal: a request under no rule, or with a rule that is not there, is answered plainly.
/// Method: an empty list; an unknown rule after a known one, which is then not charged.
#[test]
fn no_rule_and_an_unknown_rule() {
    let limiter = limiter(&ManualClock::new());
    let decision = ask(&limiter, &[], 1);
    assert!(decision.is_allowed());
    assert_eq!((decision.rule(), decision.results().len()), (None, 0));
    assert!(limiter.check_all([("user", "42"), ("usr", "42")]).is_err());
    assert_eq!(left(&limiter, "user", "42"), 5);
}

/// Goal: looking at several rules charges nothing, and await does what `try_now` does.
/// Method: a cost of zero, then one by await.
#[test]
fn a_look_at_several_rules_charges_nothing() {
    let limiter = limiter(&ManualClock::new());
    assert!(ask(&limiter, &[("user", "42"), ("org", "7")], 0).is_allowed());
    assert_eq!(limiter.stats().created, 0);
    let decision = block_on(limiter.check_all([("user", "42"), ("org", "7")]).unwrap().cost(3));
    assert_eq!(decision.remaining(), 2);
}

/// Goal: all or none holds for newcomers that share a bucket, too, because the store is full.
/// Method: a store of one key, which is used up and stays; two newcomers in one request, and one
/// unit in the bucket that they share: refused, and the unit is still there for one of them.
#[test]
fn newcomers_to_a_full_store_are_charged_together_or_not_at_all() {
    let builder = Limiter::memory().clock(&ManualClock::new()).keys(1);
    let limiter = builder.rule("user", "1/hour").unwrap().build();
    assert!(ask(&limiter, &[("user", "resident")], 1).is_allowed());
    let decision = ask(&limiter, &[("user", "a"), ("user", "b")], 1);
    assert!(decision.is_refused(), "{:?}", decision.results().collect::<Vec<_>>());
    assert!(ask(&limiter, &[("user", "a")], 1).is_allowed(), "nothing was charged");
    assert!(ask(&limiter, &[("user", "b")], 1).is_refused());
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// Goal: together means all or none, at any time and for any keys.
    /// Method: three rules of different algorithms, each with two keys, on a random trace against
    /// an oracle for each bucket.
    #[test]
    fn together_is_all_or_none_on_any_trace(
        steps in proptest::collection::vec(
            (0..400_u64, [0..3_usize, 0..3, 0..3], 0..4_u64), 1..60,
        ),
    ) {
        let clock = ManualClock::new();
        let rules = [Algorithm::TokenBucket, Algorithm::SlidingWindowLog, Algorithm::FixedWindow];
        let limiter = rules.iter().enumerate().fold(
            Limiter::memory().clock(&clock),
            |builder, (index, algorithm)| {
                let limit = Limit::per_second(7).algorithm(*algorithm);
                builder.rule(NAMES[index], limit).unwrap()
            },
        );
        let limiter = limiter.build();
        let second = 1_000_000;
        let mut buckets: Vec<[Box<dyn Oracle>; 3]> = (0..2)
            .map(|_| -> [Box<dyn Oracle>; 3] {
                [
                    Box::new(oracle::Bucket::new(7, second, 7)),
                    Box::new(oracle::SlidingLog::new(7, second)),
                    Box::new(oracle::FixedWindow::new(7, second)),
                ]
            })
            .collect();
        for (wait, keys, cost) in steps {
            clock.advance(millis(wait));
            let now = clock.now().as_micros() as u64;
            // A key numbered 2 leaves the rule out.
            let asked: Vec<(usize, usize)> =
                keys.into_iter().enumerate().filter(|(_, key)| *key < 2).collect();
            let fits = asked
                .iter()
                .all(|(rule, key)| cost == 0 || buckets[*key][*rule].admits(now, cost));
            let named: Vec<_> =
                asked.iter().map(|(rule, key)| (NAMES[*rule], ["a", "b"][*key])).collect();
            let decision = ask(&limiter, &named, cost);
            prop_assert_eq!(decision.is_allowed(), fits);
            for ((rule, key), (_, own)) in asked.iter().zip(decision.results()) {
                let bucket = &mut *buckets[*key][*rule];
                // A rule that would have admitted a refused request shows what is left without it.
                let spared = !fits && bucket.admits(now, cost);
                same(own, oracle::ask(bucket, now, if spared { 0 } else { cost }))?;
            }
            let longest = decision.results().filter_map(|(_, own)| own.retry_after()).max();
            prop_assert_eq!(decision.retry_after(), longest.filter(|_| !decision.is_never()));
        }
    }
}

const NAMES: [&str; 3] = ["bucket", "log", "window"];
