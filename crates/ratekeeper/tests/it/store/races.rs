//! Races: many threads, one barrier, an exact count.

use super::{kinds, one_rule, race};
use ratekeeper::{Limiter, ManualClock};

/// As many callers as the races have.
const CALLERS: usize = 500;

/// Goal: no race admits one too many or one too few, in any algorithm.
/// Method: 500 threads wait at a barrier and ask once each; the clock stands still.
#[test]
fn five_hundred_at_once_are_admitted_up_to_the_limit_exactly() {
    for amount in [1, 100, 499] {
        for (name, limit) in kinds(amount) {
            let (_limiter, rule) = one_rule(limit, 1_000, &ManualClock::new());
            let admitted =
                race(CALLERS, |_| u64::from(rule.try_check("key").unwrap().is_allowed()));
            assert_eq!(admitted, amount, "{name}, {amount} per hour");
            assert_eq!(rule.peek("key").try_now().unwrap().remaining(), 0, "{name}");
        }
    }
}

/// Goal: a race over several shared buckets admits what the tightest allows, and charges the
/// others exactly that.
/// Method: 500 threads ask for three buckets at once, half of them in the opposite order; every
/// pair of algorithms stands beside a tighter one.
#[test]
fn a_race_over_several_buckets_charges_all_of_them_alike() {
    for (name, wide) in kinds(400) {
        for (tight_name, tight) in kinds(123) {
            let clock = ManualClock::new();
            let builder = Limiter::memory().keys(1_000).clock(&clock);
            let builder = builder.rule("wide", wide).unwrap().rule("tight", tight).unwrap();
            let limiter = builder.rule("open", "1000000/hour").unwrap().build();
            let asked = [("wide", "w"), ("tight", "t"), ("open", "o")];
            let mut backward = asked;
            backward.reverse();
            let admitted = race(CALLERS, |caller| {
                let asked = if caller % 2 == 0 { asked } else { backward };
                u64::from(limiter.check_all(asked).unwrap().try_now().unwrap().is_allowed())
            });
            let left = |rule: &str, key| {
                limiter.rule(rule).unwrap().peek(key).try_now().unwrap().remaining()
            };
            assert_eq!(admitted, 123, "{name} and {tight_name}");
            assert_eq!(left("wide", "w"), 400 - 123, "{name} beside {tight_name}");
            assert_eq!(left("tight", "t"), 0);
            assert_eq!(left("open", "o"), 1_000_000 - 123);
        }
    }
}

/// Goal: single charges and requests over several buckets see each other.
/// Method: 500 threads, every second of which charges one of two buckets alone and the others both;
/// the bucket that all of them need admits exactly its limit.
#[test]
fn single_charges_and_joint_ones_share_a_bucket_exactly() {
    for (name, limit) in kinds(200) {
        let builder =
            Limiter::memory().keys(1_000).clock(&ManualClock::new()).rule("a", limit).unwrap();
        let limiter = builder.rule("b", "1000/hour").unwrap().build();
        let a = limiter.rule("a").unwrap();
        let admitted = race(CALLERS, |caller| {
            u64::from(match caller % 2 {
                0 => a.try_check("x").unwrap().is_allowed(),
                _ => limiter
                    .check_all([("b", "x"), ("a", "x")])
                    .unwrap()
                    .try_now()
                    .unwrap()
                    .is_allowed(),
            })
        });
        assert_eq!(admitted, 200, "{name}");
    }
}

/// Goal: no charge is lost while the table grows under it.
/// Method: four threads charge the same 20 000 keys three times each, in different orders, into a
/// store that starts empty; then every key has used exactly twelve units.
#[test]
fn charges_are_not_lost_while_the_table_grows() {
    const KEYS: u64 = 20_000;
    for (name, limit) in kinds(1_000) {
        let (limiter, rule) = one_rule(limit, 10_000_000, &ManualClock::new());
        race(4, |caller| {
            let (step, start) = ([1, 7, 11, 13][caller], caller as u64 * 4_999);
            for turn in 0..3 * KEYS {
                let key = (start + turn * step) % KEYS;
                assert!(rule.try_check(&key.to_le_bytes()[..]).unwrap().is_allowed());
            }
            0
        });
        for key in 0..KEYS {
            let left = rule.peek(&key.to_le_bytes()[..]).try_now().unwrap().remaining();
            assert_eq!(left, 1_000 - 12, "{name}, key {key}");
        }
        assert_eq!(limiter.stats().keys, KEYS, "{name}");
    }
}
