//! What asking ratekeeper costs a real Envoy: with and without its filter, all servers on one core.
//!
//! Invariant: every answer is a 200 from the upstream, and ratekeeper has decided on as many
//! requests as the load has sent.

use super::Ours;
use super::programs::Service;
use crate::Plan;
use crate::gateway::envoy::{self, Limits};
use crate::gateway::load::Load;
use crate::gateway::process::Running;
use crate::gateway::upstream::{self, Asked};
use crate::row::{self, Row};

/// Connections at a time.
const CONNECTIONS: usize = 50;

/// The share of its rate alone that Envoy should keep.
const GOAL: f64 = 0.55;

const ALONE: &str = "Envoy alone";

/// An Envoy that runs, and whom it asks.
struct Contender<'a> {
    running: Running,
    service: Option<&'a Service>,
    row: Row,
}

pub fn run(plan: Plan, ours: &Ours) {
    println!("\n### Envoy and its rate limit service: both and the upstream on one core\n");
    let Some(upstream) = upstream::start_apart() else {
        println!("(The upstream does not start.)");
        return;
    };
    let contenders = [
        (ALONE, None, false),
        ("Envoy asks ratekeeper and writes header fields", ours.bare.as_ref(), true),
        ("Envoy asks ratekeeper for header fields, too", ours.fields.as_ref(), false),
    ];
    let mut running = Vec::new();
    for (name, service, writes_fields) in contenders {
        let limits = match service {
            Some(own) => Limits::Service { address: own.running.address(), writes_fields },
            None if name == ALONE => Limits::None,
            None => continue,
        };
        match envoy::start(upstream.address(), limits) {
            Some(own) => running.push(Contender { running: own, service, row: Row::new(name) }),
            None => {
                println!("(Envoy is not there, or does not start; `./test gateways` installs it.)");
                return;
            }
        }
    }
    play(plan, &mut running);
    let rows: Vec<Row> = running.into_iter().map(|own| own.row).collect();
    row::table(&rows, ALONE);
    println!("\nGoal: {GOAL:.2} × {ALONE}.");
}

/// Gives work to all of them, in turn.
fn play(plan: Plan, running: &mut [Contender]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system gives a runtime");
    let time = 5 * plan.slice;
    let load = Load { asked: Asked::Small, connections: CONNECTIONS, time, every: None };
    for round in 0..=plan.rounds {
        for own in &mut *running {
            let work = || {
                let done = runtime.block_on(load.run(&own.running));
                let count = done.count;
                (done, count)
            };
            let done = match own.service {
                Some(service) => service.watch(work),
                None => work().0,
            };
            if round > 0 {
                own.row.add(done.rate, Some(done.p50));
            }
        }
    }
}
