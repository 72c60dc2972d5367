//! How long single calls take. Timing a call costs something itself: the same loop around nothing
//! stands beside the others.

use crate::contender::{
    Contender, Governor, Limitador, Load, PingoraLimits, Ratekeeper, RawBound, Throttlecrab,
};
use crate::keys::{Spread, key, questions};
use crate::{Plan, median};
use ratekeeper::Algorithm;
use std::hint::black_box;
use std::time::Instant;

const CALLS: usize = 1 << 20;

/// A round takes ten seconds with the slowest.
const ROUNDS_MAX: usize = 5;

/// The loop around nothing.
struct Nothing;

impl Contender for Nothing {
    #[inline]
    fn check(&self, _key: &String) -> bool {
        true
    }
}

pub fn run(plan: Plan) {
    let asked = questions(Spread::Uniform, plan.many_keys, CALLS, 1);
    let room = plan.many_keys * 2;
    let contenders: [(&str, Box<dyn Contender>); 7] = [
        ("governor", Box::new(Governor::new(Load::MostlyAllow))),
        ("ratekeeper", Box::new(Ratekeeper::new(Load::MostlyAllow, Algorithm::TokenBucket, room))),
        ("throttlecrab", Box::new(Throttlecrab::new(Load::MostlyAllow))),
        ("limitador", Box::new(Limitador::new(Load::MostlyAllow, room))),
        ("pingora-limits (estimate)", Box::new(PingoraLimits::new(Load::MostlyAllow))),
        ("raw bound", Box::new(RawBound::new(Load::MostlyAllow, plan.many_keys))),
        ("nothing", Box::new(Nothing)),
    ];
    for (_, contender) in &contenders {
        (0..plan.many_keys).for_each(|number| {
            black_box(contender.check(&key(number)));
        });
    }
    let mut figures = vec![[const { Vec::new() }; 3]; contenders.len()];
    for _ in 0..plan.rounds.min(ROUNDS_MAX) {
        for (index, (_, contender)) in contenders.iter().enumerate() {
            let times = times(&**contender, &asked);
            for (which, share) in [0.5, 0.99, 0.999].into_iter().enumerate() {
                figures[index][which].push(f64::from(times[(CALLS as f64 * share) as usize]));
            }
        }
    }
    println!("\n### One call, 1 M keys uniform, 1 thread\n");
    println!("| | median ns | p99 ns | p99.9 ns | p99 × governor |\n|---|---:|---:|---:|---:|");
    for (index, (name, _)) in contenders.iter().enumerate() {
        let [p50, p99, p999] = [0, 1, 2].map(|which| median(&figures[index][which]).0);
        let ratios: Vec<f64> =
            figures[index][1].iter().zip(&figures[0][1]).map(|(own, peer)| own / peer).collect();
        println!("| {name} | {p50:.0} | {p99:.0} | {p999:.0} | {:.2} |", median(&ratios).0);
    }
}

fn times(contender: &dyn Contender, asked: &[String]) -> Vec<u32> {
    let mut times: Vec<u32> = asked
        .iter()
        .map(|key| {
            let start = Instant::now();
            black_box(contender.check(key));
            start.elapsed().as_nanos() as u32
        })
        .collect();
    times.sort_unstable();
    times
}
