//! Redis' protocol: ratekeeper beside throttlecrab-server and Redis, asked by redis-benchmark.
//!
//! Invariant: servers are on one core and the load on the other, and only one server has work at a
//! time, in turn; an answer that is an error ends the run.

mod load;
mod programs;

use crate::row::{self, Row};
use crate::{FULL, Plan, http};
use load::Load;
use programs::Serves;

/// Requests in one go on a connection, and how many requests make a slice of one to two seconds.
struct Scene {
    pipeline: usize,
    requests: usize,
    /// The same for throttlecrab-server, which is slow with pipelines.
    crab: usize,
    /// What Redis does meanwhile, and how many times as fast ratekeeper should be.
    redis: Who,
    goal: f64,
}

const SCENES: [Scene; 3] = [
    Scene { pipeline: 1, requests: 150_000, crab: 150_000, redis: Who::Ping, goal: 1.0 },
    Scene { pipeline: 16, requests: 1_500_000, crab: 30_000, redis: Who::Incr, goal: 1.0 },
    Scene { pipeline: 64, requests: 2_500_000, crab: 100_000, redis: Who::Incr, goal: 1.3 },
];

/// Of a full slice, for a first look.
const QUICK_SHARE: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Check,
    Throttle,
    Crab,
    Ping,
    Incr,
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Who::Check => "ratekeeper, RK.CHECK",
            Who::Throttle => "ratekeeper, CL.THROTTLE",
            Who::Crab => "throttlecrab-server, THROTTLE",
            Who::Ping => "Redis, PING",
            Who::Incr => "Redis, INCR",
        }
    }

    fn command(self) -> &'static [&'static str] {
        match self {
            Who::Check => &["RK.CHECK", "api", "key:__rand_int__"],
            Who::Throttle => &["CL.THROTTLE", "key:__rand_int__", "15", "30", "60"],
            Who::Crab => &["THROTTLE", "key:__rand_int__", "15", "30", "60"],
            Who::Ping => &["PING"],
            Who::Incr => &["INCR", "key:__rand_int__"],
        }
    }
}

/// Runs itself again, on the core of the load.
pub fn run(words: &[&str]) {
    if !http::again("resp-from", words) {
        println!(
            "\n(Redis' protocol was not measured to the end; it takes `taskset` and a second core.)"
        );
    }
}

pub fn child(plan: Plan) {
    println!(
        "\n### Redis' protocol: one core for the server, {} connections, 1 M keys\n",
        load::CONNECTIONS
    );
    if http::find("redis-benchmark").is_none() {
        println!("(redis-benchmark is not there; it is in the system's package redis-tools.)");
        return;
    }
    let mut running = Vec::new();
    // Each has a server of its own, so that keys of one do not slow another.
    for (who, server) in [
        (Who::Check, programs::ratekeeper()),
        (Who::Throttle, programs::ratekeeper()),
        (Who::Crab, programs::throttlecrab()),
        (Who::Incr, programs::redis()),
    ] {
        match server {
            Some(server) => running.push((who, server)),
            None => println!("({} is not there; see BENCHMARKS.md.)\n", who.name()),
        }
    }
    for scene in &SCENES {
        scene.play(plan, &running);
    }
}

impl Scene {
    /// Gives all of them work, in turn, and tells what they did.
    fn play(&self, plan: Plan, running: &[(Who, Serves)]) {
        let mut rows: Vec<Row> =
            running.iter().map(|(who, _)| Row::new(self.part(*who).name())).collect();
        for round in 0..=plan.rounds {
            for ((who, server), row) in running.iter().zip(&mut rows) {
                server.empty();
                let done = self.load(plan, self.part(*who), server).run();
                if round > 0 {
                    row.add(done.rate, Some(done.p50));
                }
            }
        }
        let (pipeline, base, goal) = (self.pipeline, self.redis.name(), self.goal);
        println!("#### Pipelines of {pipeline}\n");
        row::table(&rows, base);
        println!("\nGoal: ratekeeper {goal:.1} × {base}.\n");
    }

    /// Redis has another part without pipelines.
    fn part(&self, who: Who) -> Who {
        if who == Who::Incr { self.redis } else { who }
    }

    fn load(&self, plan: Plan, who: Who, server: &Serves) -> Load {
        let full = if who == Who::Crab { self.crab } else { self.requests };
        let requests = if plan.rounds < FULL.rounds { full / QUICK_SHARE } else { full };
        Load { port: server.port(), pipeline: self.pipeline, requests, command: who.command() }
    }
}
