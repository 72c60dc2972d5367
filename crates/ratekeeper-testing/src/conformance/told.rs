//! What callers are told of the time at which there is more.
//!
//! Invariant: what is expected is found by trying on the oracle.

use super::shapes::{Dice, MINUTE, SECOND, Shape};
use super::stand::Stand;
use crate::oracle;
use ratekeeper::fields::{Field, write};
use ratekeeper::rule::FieldForms;
use ratekeeper::{Algorithm, Decisions};

/// How often a key is asked.
const STEPS: u64 = 60;

/// The `t` of the only policy.
fn seconds(decisions: &Decisions) -> u64 {
    let mut told = None;
    write(decisions, FieldForms::default(), 0, &mut |field, value| {
        if field == Field::RateLimit {
            told = value.split_once(";t=").and_then(|(_, seconds)| seconds.parse().ok());
        }
    });
    told.expect("a rate has times")
}

/// Whether more than what is left, or with nothing left a unit, is there at the time that was told, and of
/// sliding windows not a second earlier; after debts, too.
pub(super) async fn more(stand: Stand) {
    let start = stand.clock.now();
    for (number, kind) in Algorithm::ALL.into_iter().enumerate() {
        let shape = Shape::new(kind, (7, MINUTE), None);
        let name = format!("rule-{number}");
        let limiter = stand.builder().rule(&name, shape.limit()).expect("a rule").build();
        let rule = limiter.rule(&name).expect("it was just added");
        for seed in 0..4 {
            stand.clock.set(start);
            let (mut dice, key) = (Dice::new(9_000 + seed), format!("key-{seed}"));
            let mut expected = shape.oracle();
            if seed % 2 == 1 {
                let hold = oracle::reserve(&mut *expected, stand.now(), 2).expect("it is whole");
                oracle::settle(&mut *expected, stand.now(), hold, 12);
                rule.reserve(&key, 2).await.settle(12).await;
            }
            for _ in 0..STEPS {
                let cost = dice.below(9);
                let decisions = limiter.check_all([(&name[..], &key)]).expect("a rule").cost(cost);
                let decisions = decisions.await;
                oracle::ask(&mut *expected, stand.now(), cost);
                let (now, left, t) = (stand.now(), decisions.remaining(), seconds(&decisions));
                let admits = |seconds: u64, cost| expected.admits(now + seconds * SECOND, cost);
                let place = format!("{shape:?}, {seed}: {left} left, more in {t} s, {decisions:?}");
                let slides = !kind.is_bucket() && kind != Algorithm::FixedWindow;
                if left == 0 {
                    assert!(admits(t, 1), "{place}");
                } else if left < shape.amount && slides {
                    assert!(admits(t, left + 1), "{place}");
                } else if slides {
                    assert_eq!(t, MINUTE / SECOND, "{place}");
                }
                if slides && left < shape.amount && (decisions.is_allowed() || decisions.is_never())
                {
                    assert!(t == 1 || !admits(t - 1, left + 1), "too late: {place}");
                }
                stand.wait(dice.below(MINUTE / 4));
            }
        }
    }
}
