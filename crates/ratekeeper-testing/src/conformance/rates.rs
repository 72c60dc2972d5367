//! Rates: every algorithm and every figure against the oracle, on seeded random traces.
//!
//! Invariant: the traces are the same on every store.

use super::pair::Pair;
use super::shapes::{Dice, HUGE, ORDINARY, Shape};
use super::stand::Stand;
use ratekeeper::{Limiter, Rule};

/// A limiter with a rule for each shape.
pub(super) fn limiter(stand: &Stand, shapes: &[Shape]) -> Limiter {
    let mut builder = stand.builder();
    for (number, shape) in shapes.iter().enumerate() {
        builder = builder.rule(&format!("r{number}"), shape.limit()).expect("the name is new");
    }
    builder.build()
}

pub(super) fn rule(limiter: &Limiter, number: usize) -> Rule {
    limiter.rule(&format!("r{number}")).expect("it was added")
}

async fn traces(stand: &Stand, rates: &[(u64, u64)], keys: u64, steps: u64) {
    let shapes = Shape::all(rates);
    let limiter = limiter(stand, &shapes);
    let start = stand.clock.now();
    for (number, shape) in shapes.iter().enumerate() {
        for seed in 0..keys {
            stand.clock.set(start);
            let mut dice = Dice::new(1 + seed + 100 * number as u64);
            let key = format!("key {seed}");
            let mut pair = Pair::new(stand, rule(&limiter, number), key, *shape).await;
            for _ in 0..steps {
                pair.any_step(&mut dice).await;
            }
        }
    }
}

pub(super) async fn ordinary(stand: Stand) {
    traces(&stand, &ORDINARY, 2, 40).await;
}

pub(super) async fn huge(stand: Stand) {
    traces(&stand, &HUGE, 2, 30).await;
}

pub(super) async fn promises(stand: Stand) {
    let shapes = Shape::all(&[&ORDINARY[..], &HUGE[..]].concat());
    let limiter = limiter(&stand, &shapes);
    let start = stand.clock.now();
    for (number, shape) in shapes.iter().enumerate() {
        stand.clock.set(start);
        let mut dice = Dice::new(7 + number as u64);
        let mut pair = Pair::new(&stand, rule(&limiter, number), "alice".into(), *shape).await;
        for _ in 0..4 {
            pair.keeps_its_promise(&mut dice).await;
        }
    }
}
