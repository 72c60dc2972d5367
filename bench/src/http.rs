//! The check API beside throttlecrab's and a server that only says hello: requests a second on one core, the
//! load on the other.
//!
//! Invariant: all are asked by the same connections in turn, in slices; each answer is read to its end and
//! looked at, so that a server that refuses or fails is noticed.

mod load;
pub mod programs;
mod seen;

use crate::shared::Server;
use crate::{Plan, median};
use load::{Asks, Load};
use programs::Running;
pub use programs::{find, say_hello};
pub use seen::decisions;
use std::time::Duration;

/// Connections at a time.
const CONNECTIONS: usize = 50;

/// The core of the servers; the load is on the other one.
pub const SERVER_CORE: &str = "0";
const LOAD_CORE: &str = "1";

pub fn run(words: &[&str]) {
    if !again("http-from", words) {
        println!("\n(`taskset` or a second core is missing: the check API is not measured.)");
    }
}

/// Runs this program again for a task, on the core of the load; whether that went well.
pub fn again(task: &str, words: &[&str]) -> bool {
    let program = std::env::current_exe().expect("this program has a path");
    // As many open files as may be, for those connections that are idle.
    let pinned = std::process::Command::new("sh")
        .args(["-c", r#"ulimit -n "$(ulimit -Hn)"; exec taskset -c "$0" "$@""#, LOAD_CORE])
        .arg(&program)
        .arg(task)
        .args(words)
        .status();
    pinned.is_ok_and(|status| status.success())
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
    let redis = Server::start(Some(LOAD_CORE));
    let on_redis = |redis: &Server| programs::ratekeeper(Some(&redis.url(0)));
    for (name, running, asks) in [
        ("hyper, hello", programs::hello(), Asks::Hello),
        ("ratekeeper, memory", programs::ratekeeper(None), Asks::Ratekeeper),
        ("throttlecrab-server", programs::throttlecrab(), Asks::Throttlecrab),
        ("ratekeeper, Redis", redis.as_ref().and_then(on_redis), Asks::Ratekeeper),
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
    for own in contenders.iter().filter(|own| own.asks != Asks::Hello) {
        runtime.block_on(own.load(plan, None).fill(CONNECTIONS));
    }
    for round in 0..=plan.rounds {
        for own in &mut contenders {
            let load = own.load(plan, None);
            let done = runtime.block_on(load.run(CONNECTIONS, 5 * plan.slice));
            if round > 0 {
                own.rates.push(done.rate);
                own.p50.push(done.p50);
                own.p99.push(done.p99);
            }
        }
    }
    report(&contenders);
    println!("\n| at half of that | requests/s | p50 | p99 | decided within, 99 % |");
    println!("|---|---:|---:|---:|---:|");
    for own in contenders.iter().filter(|own| own.asks == Asks::Ratekeeper) {
        let every = Duration::from_secs_f64(2.0 * CONNECTIONS as f64 / median(&own.rates).0);
        let before = seen::decided(own.running.address);
        let done = runtime.block_on(own.load(plan, Some(every)).run(CONNECTIONS, 25 * plan.slice));
        let within = seen::within(&before, &seen::decided(own.running.address));
        let (name, load::Done { rate, p50, p99 }) = (own.name, done);
        println!("| {name} | {rate:.0} | {p50:.0} µs | {p99:.0} µs | {within:.0} µs |");
    }
    if let Some(running) = programs::ratekeeper(None) {
        seen::idle(&running);
    }
}

impl Contender {
    fn load(&self, plan: Plan, every: Option<Duration>) -> Load {
        Load { address: self.running.address, asks: self.asks, keys: plan.many_keys, every }
    }
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
