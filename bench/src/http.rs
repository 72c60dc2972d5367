//! The check API beside throttlecrab's and a server that only says hello: requests a second on one core, the
//! load on the other.
//!
//! Invariant: all are asked by the same connections in turn, in slices; each answer is read to its end and
//! looked at, so that a server that refuses or fails is noticed.

mod load;
mod programs;

use crate::{Plan, median};
use load::{Asks, Load};
use programs::Running;
pub use programs::say_hello;

/// Connections at a time.
const CONNECTIONS: usize = 50;

/// The core of the servers; the load is on the other one.
pub const SERVER_CORE: &str = "0";
const LOAD_CORE: &str = "1";

/// Runs itself again, on the core of the load.
pub fn run(words: &[&str]) {
    let program = std::env::current_exe().expect("this program has a path");
    let pinned = std::process::Command::new("taskset")
        .args(["-c", LOAD_CORE])
        .arg(&program)
        .arg("http-from")
        .args(words)
        .status();
    if !pinned.is_ok_and(|status| status.success()) {
        println!("\n(`taskset` or a second core is missing: the check API is not measured.)");
    }
}

/// A server, how it is asked, and what it did.
struct Contender {
    name: &'static str,
    running: Running,
    asks: Asks,
    rates: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

pub fn child(plan: Plan) {
    println!("\n### Check API: one core for the server, {CONNECTIONS} connections, 1 M keys\n");
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, running, asks) in [
        ("hyper, hello", programs::hello(), Asks::Hello),
        ("ratekeeper, memory", programs::ratekeeper(None), Asks::Ratekeeper),
        ("throttlecrab-server", programs::throttlecrab(), Asks::Throttlecrab),
    ] {
        match running {
            Some(running) => {
                let (rates, p50, p99) = (Vec::new(), Vec::new(), Vec::new());
                contenders.push(Contender { name, running, asks, rates, p50, p99 });
            }
            None => println!("({name} is not there; see BENCHMARKS.md for how it is installed.)\n"),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system gives a runtime");
    for round in 0..=plan.rounds {
        for own in &mut contenders {
            let load = Load { address: own.running.address, asks: own.asks, keys: plan.many_keys };
            let done = runtime.block_on(load.run(CONNECTIONS, 5 * plan.slice));
            if round > 0 {
                own.rates.push(done.rate);
                own.p50.push(done.p50);
                own.p99.push(done.p99);
            }
        }
    }
    report(&contenders);
}

fn report(contenders: &[Contender]) {
    println!("| | requests/s | spread | of hello | p50 | p99 |");
    println!("|---|---:|---:|---:|---:|---:|");
    let hello = contenders.first().map_or(1.0, |own| median(&own.rates).0);
    for Contender { name, rates, p50, p99, .. } in contenders {
        let (rate, spread) = median(rates);
        let (p50, p99) = (median(p50).0, median(p99).0);
        let of = rate / hello;
        println!("| {name} | {rate:.0} | {spread:.0} % | {of:.2} × | {p50:.0} µs | {p99:.0} µs |");
    }
}
