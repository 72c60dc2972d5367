//! redis-benchmark, and what it tells.
//!
//! Invariant: it ends by itself when an answer is an error, and that is not taken for a figure.

use std::process::Command;

/// Connections at a time.
pub const CONNECTIONS: usize = 50;

/// Keys that it picks from, at random.
const KEYS: usize = 1_000_000;

/// Whom to ask what, and how often.
pub struct Load {
    pub port: u16,
    pub pipeline: usize,
    pub requests: usize,
    pub command: &'static [&'static str],
}

/// What came of it.
pub struct Done {
    /// Requests in a second.
    pub rate: f64,
    /// Microseconds for a request, in the middle.
    pub p50: f64,
}

impl Load {
    pub fn run(self) -> Done {
        let numbers = [
            ("-p", usize::from(self.port)),
            ("-c", CONNECTIONS),
            ("-r", KEYS),
            ("-P", self.pipeline),
            ("-n", self.requests),
        ];
        // On the core of this process, which is that of the load.
        let mut command = Command::new("redis-benchmark");
        command.args(["-h", "127.0.0.1", "--csv"]);
        for (name, number) in numbers {
            command.args([name, &number.to_string()]);
        }
        let output = command.args(self.command).output().expect("redis-benchmark is there");
        let said = String::from_utf8_lossy(&output.stdout);
        let done = read(&said).filter(|_| output.status.success());
        done.unwrap_or_else(|| {
            let faults = String::from_utf8_lossy(&output.stderr);
            panic!("redis-benchmark failed with {:?}: {said}{faults}", self.command)
        })
    }
}

/// The figures of a line for which another one has the names; no name or figure has a comma in it.
fn read(said: &str) -> Option<Done> {
    let mut lines = said.lines().map(|line| line.split(',').map(|field| field.trim_matches('"')));
    let (names, figures): (Vec<&str>, Vec<&str>) =
        (lines.next()?.collect(), lines.next()?.collect());
    let figure = |name: &str| {
        let at = names.iter().position(|own| *own == name)?;
        figures.get(at)?.parse::<f64>().ok()
    };
    Some(Done { rate: figure("rps")?, p50: figure("p50_latency_ms")? * 1e3 })
}
