//! What a key has used, when its rule becomes another.

use super::{Site, by, rule, set};
use crate::one_key::secs;
use ratekeeper::rule::{Limits, RuleSpec};
use ratekeeper::{Algorithm, Limit, LimitBuilder, Request};

fn of(limit: LimitBuilder) -> RuleSpec {
    RuleSpec { limits: Limits::Same(vec![limit.build().unwrap()]), ..rule("api", "1/day") }
}

/// Uses so many of the first limit, and says what is left of the second.
fn left(first: LimitBuilder, used: u64, second: LimitBuilder) -> u64 {
    let site = Site::of([of(first)]);
    assert!(site.ask(&Request { cost: Some(used), ..by("alice") }).is_allowed());
    site.limiter.replace(set([of(second)]));
    assert_eq!(site.peek(&by("bob")).remaining(), site.peek(&by("bob")).limit(), "only that key");
    site.peek(&by("alice")).remaining()
}

/// 2 used of 2 becomes 2 used of 50; 40 used of 50 is more than all of 2, and then of 45.
fn keeps_what_was_used(limit: impl Fn(u64) -> LimitBuilder) {
    assert_eq!(left(limit(2), 2, limit(50)), 48);
    assert_eq!(left(limit(50), 40, limit(2)), 0);
    assert_eq!(left(limit(50), 40, limit(45)), 5);
    assert_eq!(left(limit(50), 40, limit(50)), 10);
}

/// Goal: 2 used of 2 becomes 2 used of 50.
/// Method: a fixed window.
#[test]
fn a_fixed_window_keeps_what_was_used() {
    keeps_what_was_used(|amount| Limit::per_minute(amount).algorithm(Algorithm::FixedWindow));
}

/// Goal: 2 used of 2 becomes 2 used of 50.
/// Method: a sliding window log.
#[test]
fn a_sliding_log_keeps_what_was_used() {
    keeps_what_was_used(|amount| Limit::per_minute(amount).algorithm(Algorithm::SlidingWindowLog));
}

/// Goal: 2 used of 2 becomes 2 used of 50.
/// Method: a sliding window counter.
#[test]
fn a_sliding_counter_keeps_what_was_used() {
    let counter = |amount| Limit::per_minute(amount).algorithm(Algorithm::SlidingWindowCounter);
    keeps_what_was_used(counter);
}

/// Goal: 2 used of 2 becomes 2 used of 50.
/// Method: a token bucket.
#[test]
fn a_token_bucket_keeps_what_was_used() {
    keeps_what_was_used(|amount| Limit::per_minute(amount).algorithm(Algorithm::TokenBucket));
}

/// Goal: 2 used of 2 becomes 2 used of 50.
/// Method: a leaky bucket.
#[test]
fn a_leaky_bucket_keeps_what_was_used() {
    keeps_what_was_used(|amount| Limit::per_minute(amount).algorithm(Algorithm::LeakyBucket));
}

/// Goal: 2 used of 2 becomes 2 used of 50, and a permit of a release before is given back to the next.
/// Method: concurrency, with permits by name.
#[test]
fn concurrency_keeps_what_is_held() {
    keeps_what_was_used(Limit::concurrent);
    let site = Site::of([of(Limit::concurrent(2))]);
    let permit = site.ask(&by("alice")).permit().unwrap();
    site.limiter.replace(set([of(Limit::concurrent(5))]));
    assert_eq!(site.peek(&by("alice")).remaining(), 4);
    assert!(site.limiter.release(permit).try_now().unwrap());
    assert_eq!(site.peek(&by("alice")).remaining(), 5);
}

/// Goal: another burst of the same rate keeps what was used, too.
/// Method: a token bucket of 10 a minute, 5 used of a burst of 10, then of one of 30 and of 6.
#[test]
fn another_burst_keeps_what_was_used() {
    let bucket = |burst| Limit::per_minute(10).burst(burst);
    assert_eq!(left(bucket(10), 5, bucket(30)), 25);
    assert_eq!(left(bucket(10), 5, bucket(6)), 1);
    assert_eq!(left(bucket(10), 5, bucket(3)), 0);
}

/// Goal: another period or another algorithm begins afresh.
/// Method: every pair of algorithms, and two periods of each.
#[test]
fn another_period_or_algorithm_begins_afresh() {
    for one in Algorithm::ALL {
        for other in Algorithm::ALL.into_iter().filter(|other| *other != one) {
            let first = Limit::per_minute(9).algorithm(one);
            assert_eq!(left(first, 9, Limit::per_minute(9).algorithm(other)), 9, "{one} {other}");
        }
        let (minute, hour) = (Limit::per_minute(9), Limit::per_hour(9));
        assert_eq!(left(minute.algorithm(one), 9, hour.algorithm(one)), 9, "{one}");
    }
}

/// Goal: lowered amounts refuse until the window is over, and then admit exactly the new amount.
/// Method: 40 of 50 used, then 3, in a fixed window.
#[test]
fn a_lowered_amount_is_exact_in_the_next_window() {
    let window = |amount| of(Limit::per_minute(amount).algorithm(Algorithm::FixedWindow));
    let site = Site::of([window(50)]);
    assert!(site.ask(&Request { cost: Some(40), ..by("alice") }).is_allowed());
    site.limiter.replace(set([window(3)]));
    let refused = site.ask(&by("alice"));
    assert!(refused.is_refused());
    assert_eq!(refused.retry_after(), Some(secs(60)));
    site.clock.advance(secs(60));
    let admitted = (0..9).filter(|_| site.ask(&by("alice")).is_allowed()).count();
    assert_eq!(admitted, 3);
}

/// Goal: a rule that was taken out limits nobody; put in again, it has not forgotten.
/// Method: 2 of 2 used, no rules, the rule again; and another rule of the same limit, which has its own.
#[test]
fn a_rule_that_comes_back_has_not_forgotten() {
    let site = Site::of([rule("api", "2/day")]);
    assert!(site.ask(&Request { cost: Some(2), ..by("alice") }).is_allowed());
    site.limiter.replace(set([]));
    assert!(site.ask(&by("alice")).rules().is_empty());
    site.limiter.replace(set([rule("other", "2/day"), rule("api", "2/day")]));
    let decisions = site.ask(&by("alice"));
    let left: Vec<_> = decisions.results().map(|(id, own)| (id, own.remaining())).collect();
    assert_eq!(left, [("other", 2), ("api", 0)]);
    assert_eq!((decisions.rule(), decisions.is_refused()), (Some("api"), true));
}
