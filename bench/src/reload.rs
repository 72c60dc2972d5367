//! What decisions feel of a reload: the longest gap between two of them while many rules are replaced.
//!
//! Invariant: one thread decides without a pause; another reads, compiles and swaps; nothing else happens. A gap is
//! also what the system takes the thread away for, so the same time without a reload is shown beside it.

use crate::median;
use ratekeeper::Limiter;
use ratekeeper::rule::file::RuleFile;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// The most that a file may have.
const RULES: usize = 100_000;

/// Reloads, each beside as long a time without one.
const ROUNDS: usize = 7;

fn rules(round: usize) -> String {
    let rule = |number: usize| {
        let limit = 100 + round;
        format!(
            "  - {{id: r{number}, match: {{path: /service/{number}/**}}, limit: {limit}/minute}}\n"
        )
    };
    let own = "rules:\n  - {id: api, key: user, limit: 1000000000/minute}\n";
    own.to_owned() + &(0..RULES - 1).map(rule).collect::<String>()
}

/// Decides until it is over; how many, and the longest gap between two.
fn decide(limiter: &Limiter, over: &AtomicBool) -> (u64, Duration) {
    let (mut count, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
    while !over.load(Ordering::Relaxed) {
        let rule = limiter.rule("api").expect("every release has it");
        assert!(black_box(rule.try_check("alice").expect("memory answers at once")).is_allowed());
        let now = Instant::now();
        longest = longest.max(now - last);
        (count, last) = (count + 1, now);
    }
    (count, longest)
}

/// Does something while another thread decides.
fn beside(limiter: &Limiter, work: impl FnOnce()) -> (u64, Duration) {
    let over = AtomicBool::new(false);
    scope(|threads| {
        let deciding = threads.spawn(|| decide(limiter, &over));
        work();
        over.store(true, Ordering::Relaxed);
        deciding.join().expect("it decided")
    })
}

pub fn run() {
    println!("\n### Reload: {RULES} rules replaced while another thread decides\n");
    println!("| | longest gap, median | worst | decisions in it |");
    println!("|---|---:|---:|---:|");
    let limiter = Limiter::from_yaml(&rules(0)).expect("it is a rule file");
    let (mut with, mut without, mut counts) = (Vec::new(), Vec::new(), [0, 0]);
    let mut took = Vec::new();
    for round in 1..=ROUNDS {
        let text = rules(round);
        let start = Instant::now();
        let (count, gap) = beside(&limiter, || {
            let read = RuleFile::parse(&text).expect("it is a rule file");
            limiter.replace(read.rules);
        });
        let time = start.elapsed();
        took.push(time.as_secs_f64());
        with.push(gap.as_secs_f64() * 1e3);
        counts[0] += count;
        let (count, gap) = beside(&limiter, || sleep(time));
        without.push(gap.as_secs_f64() * 1e3);
        counts[1] += count;
    }
    for (name, gaps, count) in [("reload", with, counts[0]), ("no reload", without, counts[1])] {
        let worst = gaps.iter().copied().fold(0.0, f64::max);
        println!("| {name} | {:.2} ms | {worst:.2} ms | {count} |", median(&gaps).0);
    }
    println!("\nOne reload took {:.2} s, reading and compiling included.", median(&took).0);
}
