//! Memory for each key and the worst single call while the table grows, each contender in a process
//! of its own, so that nothing is left over from another.

use crate::Plan;
use crate::contender::{Contender, Governor, Limitador, Load, Ratekeeper, Throttlecrab};
use crate::keys::key;
use ratekeeper::Algorithm;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// Limitador takes about a kilobyte for each key: a tenth of the keys has to do.
const LIMITADOR_SHARE: usize = 10;

pub fn run(plan: Plan) {
    println!("\n### Growing to {} M keys, 1 thread\n", plan.flood_keys / 1_000_000);
    println!("| | bytes a key | worst call ms | p99.99 µs | mean ns |\n|---|---:|---:|---:|---:|");
    for name in [
        "ratekeeper",
        "ratekeeper-fixed-window",
        "governor",
        "throttlecrab",
        "limitador",
        "nothing",
    ] {
        let program = std::env::current_exe().expect("this program has a path");
        let output =
            Command::new(program).args(["memory-of", name]).output().expect("the child runs");
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

pub fn child(name: &str, plan: Plan) {
    let keys =
        if name == "limitador" { plan.flood_keys / LIMITADOR_SHARE } else { plan.flood_keys };
    let room = keys * 2;
    // Touched beforehand, so that it does not count.
    let mut times: Vec<u32> = vec![1; keys];
    let before = resident();
    let load = Load::MostlyDeny;
    let contender: Option<Box<dyn Contender>> = match name {
        "ratekeeper" => Some(Box::new(Ratekeeper::new(load, Algorithm::TokenBucket, room))),
        "ratekeeper-fixed-window" => {
            Some(Box::new(Ratekeeper::new(load, Algorithm::FixedWindow, room)))
        }
        "governor" => Some(Box::new(Governor::new(load))),
        "throttlecrab" => Some(Box::new(Throttlecrab::new(load))),
        "limitador" => Some(Box::new(Limitador::new(load, room))),
        _ => None,
    };
    for (number, time) in times.iter_mut().enumerate() {
        let key = key(number);
        let start = Instant::now();
        if let Some(contender) = &contender {
            black_box(contender.check(&key));
        }
        *time = start.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32;
    }
    let bytes = resident().saturating_sub(before) as f64 / keys as f64;
    times.sort_unstable();
    let worst = f64::from(times[keys - 1]) / 1e6;
    let rare = f64::from(times[(keys as f64 * 0.9999) as usize]) / 1e3;
    let mean = times.iter().map(|time| f64::from(*time)).sum::<f64>() / keys as f64;
    println!("| {name} | {bytes:.1} | {worst:.2} | {rare:.1} | {mean:.0} |");
}

/// Resident bytes of this process.
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok())
        .map_or(0, |kilobytes| kilobytes * 1024)
}
