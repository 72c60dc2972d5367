//! What it takes to load a large rule file, and what it holds in memory then.
//!
//! Invariant: a file is made before the clock starts; loading is all from its text to a limiter that decides.

use crate::median;
use ratekeeper::Limiter;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

/// The most that a file may have.
const RULES: usize = 100_000;

/// Loads of each file: each takes a second or so.
const ROUNDS: usize = 5;

/// Rules that say little.
fn small(number: usize) -> String {
    format!("  - {{id: r{number}, match: {{path: /service/{number}/**}}, limit: 100/minute}}\n")
}

/// Rules that say much: tiers, methods, an exception, two limits.
fn rich(number: usize) -> String {
    format!(
        "  - {{id: r{number}, match: {{methods: [GET, POST], path: /s/{number}/*/i/**, except: /s/{number}/x/i/y}}, \
         key: [user, route], limit: {{free: [60/minute, 5000/day], pro: 600/minute}}}}\n"
    )
}

pub fn run() {
    println!("\n### Rules: loading {RULES} of them\n");
    println!("| | file | median | spread | memory |");
    println!("|---|---:|---:|---:|---:|");
    for (name, rule) in [("small rules", small as fn(usize) -> String), ("rich rules", rich)] {
        let mut text = String::from("tiers: [free, pro]\nrules:\n");
        (0..RULES).for_each(|number| text += &rule(number));
        let before = resident();
        let mut times = Vec::new();
        let load = |times: &mut Vec<f64>| {
            let start = Instant::now();
            let limiter = black_box(Limiter::from_yaml(&text).expect("it is a rule file"));
            times.push(start.elapsed().as_secs_f64());
            limiter
        };
        let kept = load(&mut times);
        let held = resident().saturating_sub(before) >> 20;
        drop(kept);
        (1..ROUNDS).for_each(|_| drop(load(&mut times)));
        let (time, spread) = median(&times);
        let bytes = text.len() >> 20;
        println!("| {name} | {bytes} MiB | {time:.2} s | {spread:.0} % | +{held} MiB |");
    }
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split_whitespace().nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}
