//! Envoy's rate limit service: ratekeeper beside throttlecrab-server's gRPC, asked by h2load, and
//! behind a real Envoy.
//!
//! Invariant: servers are on one core and the load on the other, and only one is asked at a time,
//! in turn; what ratekeeper counts itself has to agree with what was sent.

mod envoy;
mod load;
mod programs;

use crate::row::{self, Row};
use crate::{FULL, Plan, http};
use load::Load;
use programs::Service;

/// Requests in a slice, and for a first look.
const REQUESTS: usize = 100_000;
const QUICK_REQUESTS: usize = REQUESTS / 10;

/// Connections, streams on each, and how many times as fast as throttlecrab ratekeeper should be.
const SCENES: [(usize, usize, f64); 2] = [(50, 1, 1.2), (10, 10, 1.0)];

const THROTTLECRAB: &str = "throttlecrab-server";

/// Runs itself again, on the core of the load.
pub fn run(words: &[&str]) {
    if !http::again("rls-from", words) {
        println!(
            "\n(The rate limit service was not measured to the end; it takes `taskset` and a \
             second core.)"
        );
    }
}

/// Ratekeeper, twice.
struct Ours {
    /// Envoy is told nothing that it should write into answers.
    bare: Option<Service>,
    /// As it comes.
    fields: Option<Service>,
}

pub fn child(plan: Plan, words: &[&str]) {
    let chosen = ["h2load", "envoy"].iter().any(|part| words.contains(part));
    let wanted = |part: &str| !chosen || words.contains(&part);
    let ours =
        Ours { bare: programs::ratekeeper("headers: none"), fields: programs::ratekeeper("") };
    if ours.bare.is_none() || ours.fields.is_none() {
        println!("(ratekeeper is not there; build it with `cargo build --release`.)\n");
    }
    if wanted("h2load") {
        by_h2load(plan, &ours);
    }
    if wanted("envoy") {
        envoy::run(plan, &ours);
    }
}

fn by_h2load(plan: Plan, ours: &Ours) {
    println!("\n### Envoy's rate limit service: one core for the server, h2load on the other\n");
    if http::find("h2load").is_none() {
        println!("(h2load is not there; it is in the system's package nghttp2-client.)");
        return;
    }
    let peer = programs::throttlecrab();
    if peer.is_none() {
        println!("({THROTTLECRAB} is not there; see BENCHMARKS.md for how it is installed.)\n");
    }
    let all = [
        (THROTTLECRAB, &peer),
        ("ratekeeper, no header fields", &ours.bare),
        ("ratekeeper, header fields", &ours.fields),
    ];
    let running: Vec<(&'static str, &Service)> =
        all.into_iter().filter_map(|(name, own)| Some((name, own.as_ref()?))).collect();
    for (connections, streams, goal) in SCENES {
        let requests = if plan.rounds < FULL.rounds { QUICK_REQUESTS } else { REQUESTS };
        let load = Load { requests, connections, streams };
        let mut rows: Vec<Row> = running.iter().map(|(name, _)| Row::new(name)).collect();
        for round in 0..=plan.rounds {
            for ((_, service), row) in running.iter().zip(&mut rows) {
                let rate = service.watch(|| (load.run(service), requests));
                if round > 0 {
                    row.add(rate, None);
                }
            }
        }
        println!("#### {connections} connections, requests at a time on each: {streams}\n");
        row::table(&rows, THROTTLECRAB);
        println!("\nGoal: ratekeeper {goal:.1} × {THROTTLECRAB}.\n");
    }
}
