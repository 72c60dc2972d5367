//! A permit, taken and given back, beside one decision of a token bucket on the same keys.

use crate::contender::{Contender, Load, Ratekeeper};
use crate::keys::{Spread, key, questions};
use crate::throughput::{QUESTIONS, Slice};
use crate::{Plan, median};
use ratekeeper::{Algorithm, Limit, Limiter, Rule};
use tokio::sync::Semaphore;

/// More than are held at any time.
const PERMITS: u64 = 1_000;

struct Permits(Rule);

impl Permits {
    /// With one permit of each of the keys held for good, if `held`, so that all have to be
    /// remembered; else there are no keys but those of the moment.
    fn new(keys: usize, held: bool) -> Permits {
        let room = keys * 2 + 1_000;
        let builder = Limiter::memory().keys(room).rule("exports", Limit::concurrent(PERMITS));
        let limiter = builder.expect("the limit makes sense").build();
        let rule = limiter.rule("exports").expect("the rule is there");
        for number in (0..keys).filter(|_| held) {
            std::mem::forget(rule.acquire(key(number)).try_now());
        }
        Permits(rule)
    }
}

impl Contender for Permits {
    #[inline]
    fn check(&self, key: &String) -> bool {
        let Ok(permit) = self.0.acquire(key).try_now() else { return false };
        permit.is_allowed()
    }
}

/// What counting alone costs: one for all, no keys and no figures.
impl Contender for Semaphore {
    #[inline]
    fn check(&self, _key: &String) -> bool {
        self.try_acquire().is_ok()
    }
}

pub fn run(plan: Plan) {
    for (name, keys) in [("one hot key", 1), ("1 M keys, uniform", plan.many_keys)] {
        let room = keys * 2 + 1_000;
        let decision = Ratekeeper::new(Load::MostlyAllow, Algorithm::TokenBucket, room);
        let (held, idle) = (Permits::new(keys, true), Permits::new(keys, false));
        let semaphore = Semaphore::new(PERMITS as usize);
        let mut contenders: Vec<(&str, &dyn Slice)> = vec![
            ("one decision", &decision),
            ("a permit of a key that holds others", &held),
            ("a permit of a key that holds none", &idle),
        ];
        if keys == 1 {
            contenders.push(("tokio's semaphore", &semaphore));
        }
        contenders.iter().for_each(|(_, contender)| contender.fill(keys));
        let asked: Vec<_> =
            (1..=2).map(|seed| questions(Spread::Uniform, keys, QUESTIONS, seed)).collect();
        for threads in [1, 2] {
            let plural = if threads == 1 { "" } else { "s" };
            println!("\n### Permits: {name}, {threads} thread{plural}\n");
            compare(plan, &contenders, &asked[..threads]);
        }
    }
}

fn compare(plan: Plan, contenders: &[(&str, &dyn Slice)], asked: &[Vec<String>]) {
    let mut times = vec![Vec::new(); contenders.len()];
    for round in 0..=plan.rounds {
        for ((_, contender), times) in contenders.iter().zip(&mut times) {
            let nanos = asked.len() as f64 * 1e3 / contender.spend(plan, asked);
            // The first round warms the caches.
            if round > 0 {
                times.push(nanos);
            }
        }
    }
    println!("| | ns | spread | × decision |\n|---|---:|---:|---:|");
    for ((name, _), own) in contenders.iter().zip(&times) {
        let ratios: Vec<f64> = own.iter().zip(&times[0]).map(|(own, other)| own / other).collect();
        let (time, spread) = median(own);
        println!("| {name} | {time:.1} | {spread:.0} % | {:.2} |", median(&ratios).0);
    }
}
