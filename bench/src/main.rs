//! Ratekeeper beside its peers: the same work, interleaved in one run, told as ratios.
//!
//!     cargo run --release                 # everything, about 25 minutes
//!     cargo run --release -- quick        # a tenth of the time, for a first look
//!     cargo run --release -- throughput | batch | latency | memory | waiting | waiters | permits
//!     cargo run --release -- layer | rules | reload | http | console
//!     cargo run --release -- gateway | gateway lean | gateway big      # as a proxy, among proxies
//!     cargo run --release -- redis | redis speed | redis room      # on a server of its own
//!     cargo run --release -- regions      # two regions, one store or two
//!     cargo run --release -- resp      # Redis' protocol, by redis-benchmark
//!     cargo run --release -- rls | rls h2load | rls envoy      # Envoy's rate limit service
//!     cargo run --release -- lean throughput zipf      # without the slow peers, one scene
//!     cargo run --release -- waiting hot ratekeeper    # one contender, for a profile
#![forbid(unsafe_code)]
#![allow(clippy::ptr_arg, reason = "governor looks a key up as the type that it stores")]

mod console;
mod contender;
mod gateway;
mod http;
mod keys;
mod latency;
mod layer;
mod memory;
mod patient;
mod permits;
mod regions;
mod reload;
mod resp;
mod rls;
mod row;
mod rules;
mod shared;
mod stand;
mod throughput;
mod waiters;
mod waiting;

use std::time::Duration;

/// How long and how often.
#[derive(Clone, Copy)]
pub struct Plan {
    pub rounds: usize,
    pub slice: Duration,
    pub many_keys: usize,
    pub flood_keys: usize,
    /// Leaves out the peers that take long to fill.
    pub lean: bool,
}

const FULL: Plan = Plan {
    rounds: 7,
    slice: Duration::from_millis(200),
    many_keys: 1_000_000,
    flood_keys: 10_000_000,
    lean: false,
};
const QUICK: Plan = Plan { rounds: 3, slice: Duration::from_millis(80), ..FULL };

/// Does a part of the work in a process of its own, if these words say so.
fn is_child(words: &[&str]) -> bool {
    match *words {
        ["memory-of", name] => memory::child(name, FULL),
        ["waiters-of", name] => waiters::child(name),
        ["hello-on", address] => http::say_hello(address),
        ["http-from", ..] => http::child(plan(words)),
        ["proxy-on", address, upstream] => gateway::pass_on(address, upstream),
        ["gateway-from", ..] => gateway::child(plan(words), words),
        ["upstream-on", address] => gateway::upstream::stand_on(address),
        ["resp-from", ..] => resp::child(plan(words)),
        ["rls-from", ..] => rls::child(plan(words), words),
        ["redis-from", core, ..] => shared::child(core, words),
        ["regions-from", core] => regions::child(core),
        _ => return false,
    }
    true
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if is_child(&words) {
        return;
    }
    let plan = plan(&words);
    let parts: [(&str, &dyn Fn()); 17] = [
        ("throughput", &|| throughput::run(plan, &words)),
        ("batch", &|| throughput::batches(plan)),
        ("latency", &|| latency::run(plan)),
        ("memory", &|| memory::run(plan)),
        ("waiting", &|| waiting::run(plan, &words)),
        ("waiters", &|| waiters::run(plan)),
        ("permits", &|| permits::run(plan)),
        ("layer", &|| layer::run(plan)),
        ("rules", &rules::run),
        ("reload", &reload::run),
        ("http", &|| http::run(&words)),
        ("console", &|| console::run(plan)),
        ("gateway", &|| gateway::run(&words)),
        ("redis", &|| shared::run(&words)),
        ("regions", &regions::run),
        ("resp", &|| resp::run(&words)),
        ("rls", &|| rls::run(&words)),
    ];
    let chosen = parts.iter().any(|(part, _)| words.contains(part));
    for (part, run) in parts {
        if !chosen || words.contains(&part) {
            run();
        }
    }
}

fn plan(words: &[&str]) -> Plan {
    let plan = if words.contains(&"quick") { QUICK } else { FULL };
    Plan { lean: words.contains(&"lean"), ..plan }
}

/// The middle of some figures, and how far the quarters of them lie apart, in percent of it.
pub fn median(figures: &[f64]) -> (f64, f64) {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let middle = at(0.5);
    (middle, (at(0.75) - at(0.25)) / middle * 100.0)
}
