//! The gateway beside other proxies, before one upstream: requests a second on one core, load and upstream on
//! the other.
//!
//! Invariant: all have the same work from the same connections, in turn, in slices; ratios are taken within a
//! round, and no answer is left unread or unseen.

pub mod envoy;
pub mod load;
mod peers;
mod plain;
pub mod process;
mod table;
pub mod upstream;

use crate::{FULL, Plan, http, median};
use envoy::Limits;
use load::{Done, Load};
pub use plain::pass_on;
use process::Running;
use std::time::Duration;
use tokio::runtime::Runtime;
use upstream::Asked;

/// Rounds of a full run, after one to warm up.
const ROUNDS: usize = 9;

/// Connections at a time, for small answers and for big ones.
const MANY: usize = 50;
const FEW: usize = 4;

/// A limit that is asked by address and refuses nothing.
const RULE: &str = "[{id: api, key: ip, limit: 100000000/second}]";

/// Runs itself again, on the core of the load.
pub fn run(words: &[&str]) {
    if !http::again("gateway-from", words) {
        println!(
            "\n(The gateway was not measured to the end; it takes `taskset` and a second core.)"
        );
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Nginx,
    LimitReq,
    Envoy,
    Hyper,
    Bare,
    Rule,
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Who::Nginx => "nginx",
            Who::LimitReq => "nginx, limit_req",
            Who::Envoy => "Envoy, local_ratelimit",
            Who::Hyper => "hyper, nothing added",
            Who::Bare => "ratekeeper, no rules",
            Who::Rule => "ratekeeper, a rule by ip",
        }
    }

    fn start(self, upstream: std::net::SocketAddr) -> Option<Running> {
        match self {
            Who::Nginx => peers::nginx(upstream, false),
            Who::LimitReq => peers::nginx(upstream, true),
            Who::Envoy => envoy::start(upstream, Limits::Local),
            Who::Hyper => peers::hyper(upstream),
            Who::Bare => peers::ratekeeper(upstream, "[]"),
            Who::Rule => peers::ratekeeper(upstream, RULE),
        }
    }
}

/// What one did, a round each.
struct Row {
    who: Who,
    done: Vec<Done>,
}

impl Row {
    /// The middle of a figure, and its spread.
    fn figure(&self, of: impl Fn(&Done) -> f64) -> (f64, f64) {
        median(&self.done.iter().map(of).collect::<Vec<_>>())
    }

    /// The same as a ratio to another's in the same round.
    fn ratio(&self, base: &Row, of: impl Fn(&Done) -> f64) -> (f64, f64) {
        let pairs = self.done.iter().zip(&base.done);
        median(&pairs.map(|(own, base)| of(own) / of(base)).collect::<Vec<_>>())
    }
}

pub fn child(plan: Plan, words: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system gives a runtime");
    let upstream = runtime.block_on(upstream::start());
    println!("\n### Gateway: one core for the server, load and upstream on the other\n");
    let mut running = Vec::new();
    for who in [Who::Nginx, Who::LimitReq, Who::Envoy, Who::Hyper, Who::Bare, Who::Rule] {
        if plan.lean && who == Who::Envoy {
            continue;
        }
        match who.start(upstream) {
            Some(own) => running.push((who, own)),
            None => println!("({} is not there; see BENCHMARKS.md.)\n", who.name()),
        }
    }
    let stage = Stage { runtime, running, plan };
    let chosen = ["small", "half", "big"].iter().any(|scene| words.contains(scene));
    let wanted = |scene: &str| !chosen || words.contains(&scene);
    if wanted("small") || wanted("half") {
        let rows = stage.play(stage.load(), |_| true);
        table::small(&rows);
        if wanted("half") {
            stage.half(&rows);
        }
    }
    if wanted("big") {
        let load = Load { asked: Asked::Big, connections: FEW, ..stage.load() };
        table::big(&stage.play(load, |who| !matches!(who, Who::LimitReq | Who::Bare)));
    }
}

/// Those that run, and who asks them.
struct Stage {
    runtime: Runtime,
    running: Vec<(Who, Running)>,
    plan: Plan,
}

impl Stage {
    /// Small answers, as fast as can be.
    fn load(&self) -> Load {
        let time = 5 * self.plan.slice;
        Load { asked: Asked::Small, connections: MANY, time, every: None }
    }

    /// Gives work to those that take part, in turn.
    fn play(&self, load: Load, takes_part: impl Fn(Who) -> bool) -> Vec<Row> {
        let rounds = if self.plan.rounds < FULL.rounds { self.plan.rounds } else { ROUNDS };
        let players = || self.running.iter().filter(|(who, _)| takes_part(*who));
        let mut rows: Vec<Row> =
            players().map(|(who, _)| Row { who: *who, done: Vec::new() }).collect();
        for round in 0..=rounds {
            for ((_, own), row) in players().zip(&mut rows) {
                let done = self.runtime.block_on(load.run(own));
                if round > 0 {
                    row.done.push(done);
                }
            }
        }
        rows
    }

    /// At half of what nginx with a limit can take, the same for all.
    fn half(&self, rows: &[Row]) {
        let Some(base) = rows.iter().find(|row| row.who == Who::LimitReq) else { return };
        let offered = base.figure(|done| done.rate).0 / 2.0;
        let every = Some(Duration::from_secs_f64(MANY as f64 / offered));
        let load = Load { every, ..self.load() };
        table::half(&self.play(load, |who| !matches!(who, Who::Nginx | Who::Envoy)), offered);
    }
}
