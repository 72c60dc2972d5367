//! Every interleaving of a few threads on the concurrent core, explored by loom.
//!
//! Built only with `--cfg loom`, which `./test loom` sets.
#![cfg(loom)]

use loom::thread;
use ratekeeper::{Limiter, ManualClock};

fn limiter(keys: usize, limit: &str) -> Limiter {
    let builder = Limiter::memory().keys(keys).clock(&ManualClock::new());
    builder.rule("a", limit).and_then(|builder| builder.rule("b", limit)).expect("limits").build()
}

fn admit(limiter: &Limiter, rule: &str, key: &str) -> u64 {
    let rule = limiter.rule(rule).expect("a rule");
    u64::from(rule.try_check(key).expect("memory").is_allowed())
}

fn left(limiter: &Limiter, rule: &str, key: &str) -> u64 {
    let rule = limiter.rule(rule).expect("a rule");
    rule.peek(key).try_now().expect("memory").remaining()
}

fn both(limiter: &Limiter, asked: [(&str, &str); 2]) -> u64 {
    let check = limiter.check_all(asked).expect("rules");
    u64::from(check.try_now().expect("memory").is_allowed())
}

/// Goal: two threads cannot both take the last unit, neither when the key is new nor when it is there.
/// Method: two threads ask for a key that admits one; in every interleaving one of them gets in.
#[test]
fn the_last_unit_is_taken_once() {
    loom::model(|| {
        let limiter = limiter(4, "1/hour");
        let other = limiter.clone();
        let thread = thread::spawn(move || admit(&other, "a", "x"));
        let mine = admit(&limiter, "a", "x");
        assert_eq!(mine + thread.join().expect("no panic"), 1);
    });
}

/// Goal: a charge is not lost when the table is rebuilt under it.
/// Method: one thread charges a key while another adds keys until the table grows; the key has
/// then used exactly what was admitted.
#[test]
fn a_charge_survives_the_growth_of_the_table() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let limiter = limiter(64, "10/hour");
        for key in ["1", "2", "3", "4", "5"] {
            admit(&limiter, "a", key);
        }
        let other = limiter.clone();
        let thread = thread::spawn(move || ["6", "7", "8"].map(|key| admit(&other, "a", key)));
        assert_eq!(admit(&limiter, "a", "1"), 1);
        thread.join().expect("no panic");
        assert_eq!(left(&limiter, "a", "1"), 8);
        assert_eq!(left(&limiter, "a", "8"), 9);
    });
}

/// Goal: a refund finds its bucket while another one is forgotten and the buckets behind it move.
/// Method: one thread resets a key while another gives a unit back to a third one; it has then used
/// one unit of its two.
#[test]
fn a_refund_survives_the_removal_of_a_neighbour() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let limiter = limiter(64, "10/hour");
        for key in ["1", "2", "3", "4", "5", "6", "1"] {
            admit(&limiter, "a", key);
        }
        let other = limiter.clone();
        let thread = thread::spawn(move || {
            let rule = other.rule("a").expect("a rule");
            ["2", "3", "4"].map(|key| rule.reset(key).try_now().expect("memory").remaining())
        });
        let rule = limiter.rule("a").expect("a rule");
        assert_eq!(rule.refund("1", 1).try_now().expect("memory").remaining(), 9);
        assert_eq!(thread.join().expect("no panic"), [10; 3]);
        assert_eq!((left(&limiter, "a", "1"), left(&limiter, "a", "5")), (9, 9));
    });
}

/// Goal: requests over several buckets neither deadlock nor admit in part.
/// Method: two threads ask for the same two buckets in opposite order, a third charges one of them
/// alone; what is left in each bucket is what was admitted.
#[test]
fn requests_over_the_same_buckets_in_opposite_order_are_all_or_none() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let limiter = limiter(512, "2/hour");
        admit(&limiter, "a", "x");
        let (other, third) = (limiter.clone(), limiter.clone());
        let backward = thread::spawn(move || both(&other, [("b", "x"), ("a", "x")]));
        let single = thread::spawn(move || admit(&third, "b", "x"));
        let forward = both(&limiter, [("a", "x"), ("b", "x")]);
        let (backward, single) =
            (backward.join().expect("no panic"), single.join().expect("no panic"));
        assert_eq!(forward + backward, 1, "one unit of `a` was left");
        assert_eq!(single, 1, "`b` has two units, and one pair got in");
        assert_eq!((left(&limiter, "a", "x"), left(&limiter, "b", "x")), (0, 0));
    });
}
