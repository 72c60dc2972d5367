//! A million who wait, none of whom has a turn for an hour: memory for each, and the time to enter
//! the line and to leave it. Each contender in a process of its own, more than once.
//!
//! The futures are made first, then polled once, then dropped; what memory grows by while they are
//! polled is the limiter's own. They are not spawned: a task would cost the same for all.

use crate::memory::resident;
use crate::patient::{Governor, LeakyBucket, Pace, Patient, Ratekeeper};
use crate::stand::{processor_time, runtime};
use crate::{Plan, median};
use std::pin::Pin;
use std::process::Command;
use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::{Duration, Instant};

const WAITERS: usize = 1_000_000;
const KEYS: usize = 100_000;
const ROUNDS_MAX: usize = 3;

/// Until other threads have done what is left to them.
const SETTLE: Duration = Duration::from_millis(500);

/// Columns of the table.
const FIGURES: usize = 7;

pub fn run(plan: Plan) {
    println!("\n### A million waiters over 100 000 keys, 1 thread\n");
    println!("| | future B | limiter B | in all B | enter ns | CPU ns | leave ns | CPU ns |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let names = ["ratekeeper", "leaky-bucket", "governor"];
    let mut figures = vec![[const { Vec::new() }; FIGURES]; names.len()];
    for _ in 0..plan.rounds.min(ROUNDS_MAX) {
        for (name, figures) in names.iter().zip(&mut figures) {
            let program = std::env::current_exe().expect("this program has a path");
            let output =
                Command::new(program).args(["waiters-of", name]).output().expect("the child runs");
            let text = String::from_utf8_lossy(&output.stdout);
            let told = text.split_whitespace().filter_map(|word| word.parse().ok());
            figures.iter_mut().zip(told).for_each(|(figures, figure)| figures.push(figure));
        }
    }
    for (name, figures) in names.iter().zip(&figures) {
        let cells: Vec<String> =
            figures.iter().map(|figures| format!("{:.0}", median(figures).0)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}

pub fn child(name: &str) {
    match name {
        "ratekeeper" => measure::<Ratekeeper>(),
        "leaky-bucket" => measure::<LeakyBucket>(),
        _ => measure::<Governor>(),
    }
}

fn measure<P: Patient>() {
    // Whoever keeps an alarm or a timer has a thread to do so.
    let runtime = runtime(1);
    let _inside = runtime.enter();
    let hour = Duration::from_secs(3600);
    let patient = P::new(Pace { keys: KEYS, amount: 1, period: hour, grain: 1 });
    for key in 0..KEYS {
        assert!(!waits(&mut Box::pin(patient.wait(key))), "the first of each key passes");
    }
    let mut futures = Vec::with_capacity(WAITERS);
    let empty = resident();
    futures.extend((0..WAITERS).map(|number| Box::pin(patient.wait(number % KEYS))));
    let size = size_of_val(&*futures[0]) as f64;
    let made = resident();
    let (time, cpu) = timed(|| assert!(futures.iter_mut().all(waits), "there is no turn yet"));
    let entered = resident();
    let (leave_time, leave_cpu) = timed(|| drop(futures));
    let each = |bytes: u64| bytes as f64 / WAITERS as f64;
    let (boxed, limiter) = (each(made - empty), each(entered.saturating_sub(made)));
    let all = boxed + limiter;
    println!("{size} {limiter} {all} {time} {cpu} {leave_time} {leave_cpu}");
}

fn waits<F: Future>(future: &mut Pin<Box<F>>) -> bool {
    matches!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

/// Nanoseconds for each waiter: until it was done, and of the processor until all was settled.
fn timed(work: impl FnOnce()) -> (f64, f64) {
    let (start, before) = (Instant::now(), processor_time());
    work();
    let time = start.elapsed().as_nanos() as f64;
    sleep(SETTLE);
    (time / WAITERS as f64, (processor_time() - before) / WAITERS as f64)
}
