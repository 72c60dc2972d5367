//! The cap: what the store forgets, what it keeps, and what newcomers get when it is full.

use super::{kinds, one_rule, race};
use ratekeeper::{Algorithm, Limit, Limiter, ManualClock, Rule, Source};
use std::time::Duration;

/// Goal: the cap is a cap, under races too, whatever is mixed in the store.
/// Method: eight threads bring 40 000 keys of every kind of state to a store of 2 000.
#[test]
fn the_store_never_holds_more_than_its_cap() {
    let mut builder = Limiter::memory().keys(2_000).clock(&ManualClock::new());
    for (index, (_, limit)) in kinds(10).into_iter().enumerate() {
        builder = builder.rule(&format!("rule-{index}"), limit).unwrap();
    }
    let limiter = builder.build();
    let rules: Vec<Rule> = limiter.rules();
    race(8, |caller| {
        for number in 0..5_000 {
            let decision =
                rules[number % rules.len()].try_check(format!("{caller} {number}")).unwrap();
            assert!(decision.limit() == 10);
        }
        0
    });
    let stats = limiter.stats();
    assert!(stats.keys <= 2_000 + rules.len() as u64, "{stats:?}");
    assert!(stats.evicted > 20_000, "{stats:?}");
}

/// Goal: where nobody may give way, newcomers share one bucket of their rule, and the answer says so.
/// Method: bring keys that spend all they have to a small store, until one finds no place; from
/// then on newcomers get together what one key gets, while those before them keep what they have.
#[test]
fn newcomers_to_a_store_of_spent_keys_share_one_bucket() {
    for (name, limit) in kinds(5) {
        let (limiter, rule) = one_rule(limit, 64, &ManualClock::new());
        let spend = |key: String, cost| rule.check(key).cost(cost).try_now().unwrap();
        let own = (0..)
            .take_while(|number| spend(format!("first {number}"), 5).source() == Source::Store)
            .count();
        assert!((20..=64).contains(&own), "{name}: {own} had a place");
        let later: Vec<_> = (0..50).map(|number| spend(format!("later {number}"), 1)).collect();
        assert!(later.iter().all(|decision| decision.source() == Source::Overflow), "{name}");
        assert!(
            later.iter().all(|decision| !decision.is_allowed()),
            "{name}: the first newcomer took all"
        );
        assert!((0..own).all(|number| spend(format!("first {number}"), 1).is_refused()), "{name}");
        assert_eq!(limiter.stats().overflowed, 51, "{name}");
    }
}

/// Goal: a request over several buckets at the cap is as strict as a single one.
/// Method: fill the store with spent keys, then ask for pairs of newcomers: the shared bucket of
/// each rule admits five in all.
#[test]
fn newcomers_in_pairs_share_one_bucket_of_each_rule() {
    for (name, limit) in kinds(5) {
        let builder =
            Limiter::memory().keys(64).clock(&ManualClock::new()).rule("a", limit).unwrap();
        let limiter = builder.rule("b", limit).unwrap().build();
        let fill = limiter.rule("a").unwrap();
        while fill.check(format!("{}", limiter.stats().created)).cost(5).try_now().unwrap().source()
            == Source::Store
        {}
        let pair = |number: &u32| {
            let asked = [("b", format!("x {number}")), ("a", format!("y {number}"))];
            limiter.check_all(asked).unwrap().try_now().unwrap()
        };
        let admitted = (0..50).filter(|number| pair(number).is_allowed()).count();
        assert_eq!(admitted, 0, "{name}: the shared bucket of `a` is spent");
        let alone = limiter.rule("b").unwrap();
        let admitted = (0..50)
            .filter(|number| alone.try_check(format!("z {number}")).unwrap().is_allowed())
            .count();
        assert_eq!(admitted, 5, "{name}: nothing was charged to `b` by the refused pairs");
    }
}

/// Goal: the memory of a sliding log counts against the cap.
/// Method: forty keys with up to 400 entries each in a store for 4 000 keys, where they would weigh
/// 8 000; the memory is bounded after every round.
#[test]
fn the_entries_of_logs_count_against_the_cap() {
    let limit = Limit::per_hour(400).algorithm(Algorithm::SlidingWindowLog);
    let (limiter, rule) = one_rule(limit, 4_000, &ManualClock::new());
    for round in 0..500 {
        for key in 0..40 {
            let _ = rule.try_check(format!("key {key}")).unwrap();
        }
        let stats = limiter.stats();
        assert!(stats.bytes <= 2 * 4_000 * 16, "round {round}: {stats:?}");
    }
    assert!(limiter.stats().bytes > 4_000 * 16, "they fill what they may: {:?}", limiter.stats());
}

/// Goal: a log that has no room for more entries is stricter than it should be, never laxer.
/// Method: one key with 1 000 an hour in a store with room for some 120 entries; it still admits
/// exactly 1 000 within the hour, and is whole an hour after the last.
#[test]
fn a_log_without_room_admits_its_limit_and_no_more() {
    let limit = Limit::per_hour(1_000).algorithm(Algorithm::SlidingWindowLog);
    let clock = ManualClock::new();
    let (limiter, rule) = one_rule(limit, 64, &clock);
    let mut admitted = 0;
    for _ in 0..3_000 {
        admitted += u64::from(rule.try_check("key").unwrap().is_allowed());
        clock.advance(Duration::from_secs(1));
    }
    assert_eq!(admitted, 1_000);
    assert!(limiter.stats().bytes < 4_000, "{:?}", limiter.stats());
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(rule.peek("key").try_now().unwrap().remaining(), 1_000);
}

/// Goal: refusals and peeks create no state.
/// Method: count the created keys around them.
#[test]
fn refusals_and_peeks_create_no_keys() {
    for (name, limit) in kinds(3) {
        let (limiter, rule) = one_rule(limit, 1_000, &ManualClock::new());
        for number in 0..100 {
            let key = format!("key {number}");
            assert!(rule.check(&key).cost(4).try_now().unwrap().is_never(), "{name}");
            assert_eq!(rule.peek(&key).try_now().unwrap().remaining(), 3, "{name}");
            assert_eq!(rule.refund(&key, 2).try_now().unwrap().remaining(), 3, "{name}");
        }
        let all =
            limiter.check_all([("api", "a"), ("api", "b")]).unwrap().cost(4).try_now().unwrap();
        assert!(all.is_refused());
        assert_eq!(limiter.stats().created, 0, "{name}");
    }
}

/// Goal: keys that are whole again make place for others by themselves.
/// Method: ten generations of 5 000 keys, each after the former is whole; the store stays as large
/// as two generations need.
#[test]
fn keys_that_are_whole_again_are_reclaimed_in_passing() {
    for (name, limit) in kinds(10) {
        let clock = ManualClock::new();
        let (limiter, rule) = one_rule(limit, 1_000_000, &clock);
        let mut first = 0;
        for generation in 0..10 {
            for number in 0..5_000 {
                assert!(rule.try_check(format!("{generation} {number}")).unwrap().is_allowed());
            }
            first = if generation == 1 { limiter.stats().bytes } else { first };
            clock.advance(Duration::from_secs(2 * 3600));
        }
        let stats = limiter.stats();
        assert!(stats.keys <= 2 * 5_000 * 13 / 10, "{name}: {stats:?}");
        assert!(stats.bytes <= first * 3 / 2, "{name}: {first} then {stats:?}");
    }
}

/// Goal: newcomers to a rule of several limits share one bucket of each, and each is charged.
/// Method: fill stores with spent keys, and count who gets in; many stores, since where the shared
/// buckets lie is up to chance.
#[test]
fn newcomers_to_a_rule_of_several_limits_get_the_least_of_them() {
    for (name, limit) in kinds(5) {
        for _ in 0..40 {
            let builder = Limiter::memory().keys(64).clock(&ManualClock::new());
            let builder = builder.rule("fill", "1/hour").unwrap();
            let several =
                [limit.build().unwrap(), "6/day".parse().unwrap(), "7/week".parse().unwrap()];
            let limiter = builder.rule("api", several).unwrap().build();
            let (fill, api) = (limiter.rule("fill").unwrap(), limiter.rule("api").unwrap());
            let full = |number: &u64| {
                fill.try_check(format!("{number}")).unwrap().source() == Source::Overflow
            };
            assert_eq!((0..).find(full), Some(64));
            let admitted = (0..20)
                .filter(|number| api.try_check(format!("new {number}")).unwrap().is_allowed());
            assert_eq!(admitted.count(), 5, "{name}");
        }
    }
}

/// Goal: who was refused keeps their state, also if something was left for smaller costs.
/// Method: spend 6 of 10, have another 6 refused, then bring a flood of keys that spend more each.
#[test]
fn a_key_that_was_refused_a_large_cost_does_not_give_way() {
    for (name, limit) in kinds(10) {
        let (limiter, rule) = one_rule(limit, 1_000, &ManualClock::new());
        let ask = |key: &str| rule.check(key).cost(6).try_now().unwrap();
        assert!(ask("alice").is_allowed() && ask("bob").is_allowed(), "{name}");
        assert!(ask("alice").retry_after().is_some(), "{name}");
        let joint = limiter.check_all([("api", "bob"), ("api", "carol")]).unwrap().cost(6);
        assert!(joint.try_now().unwrap().is_refused(), "{name}");
        for number in 0..20_000 {
            let _ = rule.check(format!("flood {number}")).cost(7).try_now().unwrap();
        }
        assert!(ask("alice").is_refused() && ask("bob").is_refused(), "{name}");
    }
}

/// Goal: a store that a few long logs have filled lets one of them go, wherever it lies.
/// Method: two logs that weigh all that a store may hold, then newcomers to all of its shards.
#[test]
fn a_store_that_logs_have_filled_makes_room_for_newcomers() {
    let limit = Limit::per_hour(10_000).algorithm(Algorithm::SlidingWindowLog);
    let builder =
        Limiter::memory().keys(10_000).clock(&ManualClock::new()).rule("log", limit).unwrap();
    let limiter = builder.rule("api", "10/hour").unwrap().build();
    let (log, api) = (limiter.rule("log").unwrap(), limiter.rule("api").unwrap());
    for _ in 0..9_999 {
        assert!(
            log.try_check("one").unwrap().is_allowed()
                && log.try_check("two").unwrap().is_allowed()
        );
    }
    let own = |number: &u32| api.try_check(format!("{number}")).unwrap().source() == Source::Store;
    assert!((0..1_000).filter(own).count() > 900, "{:?}", limiter.stats());
}
