//! Decisions per second: every contender gets a slice of time in turn, round after round, and the
//! ratio to governor is taken within each round, so that the machine's moods fall out.

use crate::contender::{
    BATCH, Contender, Governor, GovernorAhash, Limitador, Load, PingoraLimits, Ratekeeper,
    RawBound, Table, Throttlecrab,
};
use crate::keys::{Spread, key, questions};
use crate::{Plan, median};
use ratekeeper::Algorithm;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

pub const QUESTIONS: usize = 1 << 20;

struct Scene {
    name: &'static str,
    keys: usize,
    spread: Spread,
}

pub fn run(plan: Plan, words: &[&str]) {
    let scenes = [
        Scene { name: "one hot key", keys: 1, spread: Spread::Uniform },
        Scene { name: "1 k keys", keys: 1_000, spread: Spread::Uniform },
        Scene { name: "1 M keys, uniform", keys: plan.many_keys, spread: Spread::Uniform },
        Scene { name: "1 M keys, zipf(1.0)", keys: plan.many_keys, spread: Spread::Zipf },
    ];
    let picked = |scene: &Scene| {
        words.iter().any(|word| scene.name.split([' ', ',', '(']).any(|part| part == *word))
    };
    let any = scenes.iter().any(picked);
    for scene in scenes.into_iter().filter(|scene| !any || picked(scene)) {
        for (load, words) in
            [(Load::MostlyAllow, "mostly allow"), (Load::MostlyDeny, "mostly deny")]
        {
            let contenders = contenders(&scene, load, plan.lean);
            let asked: Vec<_> =
                (1..=2).map(|seed| questions(scene.spread, scene.keys, QUESTIONS, seed)).collect();
            for threads in [1, 2] {
                let title = format!(
                    "{}, {words}, {threads} thread{}",
                    scene.name,
                    if threads == 1 { "" } else { "s" }
                );
                compare(&title, plan, &contenders, &asked[..threads]);
            }
        }
    }
}

type Named = (&'static str, Box<dyn Slice>);

fn contenders(scene: &Scene, load: Load, lean: bool) -> Vec<Named> {
    let room = scene.keys * 2 + 1_000;
    let other = |algorithm| Box::new(Ratekeeper::new(load, algorithm, room));
    let mut all: Vec<Named> = vec![
        ("governor", Box::new(Governor::new(load))),
        ("governor, ahash", Box::new(GovernorAhash::new(load))),
        ("ratekeeper", other(Algorithm::TokenBucket)),
        (
            "ratekeeper, table alone",
            Box::new(Table(Ratekeeper::new(load, Algorithm::TokenBucket, room))),
        ),
        ("ratekeeper, fixed window", other(Algorithm::FixedWindow)),
        ("ratekeeper, sliding counter", other(Algorithm::SlidingWindowCounter)),
    ];
    if load == Load::MostlyDeny {
        all.push(("ratekeeper, sliding log", other(Algorithm::SlidingWindowLog)));
    }
    if !lean {
        all.push(("throttlecrab", Box::new(Throttlecrab::new(load))));
        all.push(("limitador", Box::new(Limitador::new(load, room))));
    }
    all.push(("pingora-limits (estimate)", Box::new(PingoraLimits::new(load))));
    all.push(("raw bound", Box::new(RawBound::new(load, scene.keys))));
    for (_, contender) in &all {
        contender.fill(scene.keys);
    }
    all
}

/// What a contender does in its turn; one virtual call for each slice, none for each question.
pub trait Slice: Sync {
    fn fill(&self, keys: usize);
    fn spend(&self, plan: Plan, asked: &[Vec<String>]) -> f64;
}

impl<C: Contender> Slice for C {
    fn fill(&self, keys: usize) {
        for number in 0..keys {
            black_box(self.check(&key(number)));
        }
    }

    /// Millions of decisions per second, over all threads.
    fn spend(&self, plan: Plan, asked: &[Vec<String>]) -> f64 {
        let barrier = Barrier::new(asked.len());
        thread::scope(|scope| {
            let run = |asked: &Vec<String>| {
                barrier.wait();
                let (start, mut done) = (Instant::now(), 0_usize);
                while start.elapsed() < plan.slice {
                    let from = done % QUESTIONS;
                    for key in &asked[from..from + 1024] {
                        black_box(self.check(key));
                    }
                    done += 1024;
                }
                done as f64 / start.elapsed().as_secs_f64() / 1e6
            };
            let threads: Vec<_> =
                asked.iter().map(|asked| scope.spawn(move || run(asked))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panics")).sum()
        })
    }
}

fn compare(title: &str, plan: Plan, contenders: &[Named], asked: &[Vec<String>]) {
    let mut rates = vec![Vec::new(); contenders.len()];
    for round in 0..=plan.rounds {
        for (index, (_, contender)) in contenders.iter().enumerate() {
            let rate = contender.spend(plan, asked);
            // The first round warms the caches.
            if round > 0 {
                rates[index].push(rate);
            }
        }
    }
    println!("\n### {title}\n\n| | M/s | spread | × governor |\n|---|---:|---:|---:|");
    for (index, (name, _)) in contenders.iter().enumerate() {
        let (rate, spread) = median(&rates[index]);
        let ratios: Vec<f64> =
            rates[index].iter().zip(&rates[0]).map(|(own, governor)| own / governor).collect();
        println!("| {name} | {rate:.1} | {spread:.0} % | {:.2} |", median(&ratios).0);
    }
}

/// What is done, how, and how many nanoseconds a key took in each round.
type Row<'a> = (&'a str, &'a dyn Fn(&[String]) -> usize, Vec<f64>);

/// Nanoseconds for each key of a batch, on one thread.
pub fn batches(plan: Plan) {
    let room = plan.many_keys * 2;
    let ratekeeper = Ratekeeper::new(Load::MostlyAllow, Algorithm::TokenBucket, room);
    let raw = RawBound::new(Load::MostlyAllow, plan.many_keys);
    ratekeeper.fill(plan.many_keys);
    raw.fill(plan.many_keys);
    let asked = questions(Spread::Uniform, plan.many_keys, QUESTIONS, 1);
    let time = |work: &dyn Fn(&[String]) -> usize| {
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < plan.slice {
            let from = done % QUESTIONS;
            asked[from..from + 16 * BATCH].chunks(BATCH).for_each(|keys| {
                black_box(work(keys));
            });
            done += 16 * BATCH;
        }
        start.elapsed().as_nanos() as f64 / done as f64
    };
    let many = |keys: &[String]| ratekeeper.check_batch(keys);
    let single = |keys: &[String]| each(keys, &ratekeeper);
    let raw_many = |keys: &[String]| raw.check_batch(keys);
    let raw_single = |keys: &[String]| each(keys, &raw);
    let mut rows: [Row<'_>; 4] = [
        ("ratekeeper, check_many of 64", &many, vec![]),
        ("ratekeeper, one by one", &single, vec![]),
        ("raw bound, 64 together", &raw_many, vec![]),
        ("raw bound, one by one", &raw_single, vec![]),
    ];
    for _ in 0..plan.rounds {
        for (_, work, times) in &mut rows {
            times.push(time(*work));
        }
    }
    println!(
        "\n### Batches, 1 M keys uniform, 1 thread\n\n| | ns a key | spread |\n|---|---:|---:|"
    );
    for (name, _, times) in rows {
        let (time, spread) = median(&times);
        println!("| {name} | {time:.0} | {spread:.0} % |");
    }
}

fn each(keys: &[String], contender: &impl Contender) -> usize {
    keys.iter().filter(|key| contender.check(key)).count()
}
