//! Four processes, 64 connections, one key.
//!
//! Invariant: exactly what the limit admits is admitted, whoever asks.

use ratekeeper_testing::servers::{Kind, Server};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const WORKERS: usize = 4;
const CONNECTIONS: usize = 16;

/// A process that asks; it ends with its handle.
struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    fn start(url: &str, race: &str) -> Worker {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rk-worker"));
        command.args([url, race, &CONNECTIONS.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Worker { child, input, output }
    }

    fn hears(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn says(&mut self, word: &str) {
        writeln!(self.input, "{word}").unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connections that have asked for something of ours.
fn connections(server: &Server) -> usize {
    let list = server.text(&["CLIENT", "LIST"]);
    list.lines().filter(|line| line.contains("cmd=") && !line.contains("cmd=client")).count()
}

/// Lets all workers ask at the same time: how many requests were admitted in all.
fn race(server: &Server, race: &str) -> u64 {
    let mut workers: Vec<Worker> =
        (0..WORKERS).map(|_| Worker::start(&server.url(), race)).collect();
    for worker in &mut workers {
        assert_eq!(worker.hears(), "ready");
    }
    let open = connections(server);
    assert!(open >= WORKERS * CONNECTIONS, "{open} connections");
    for worker in &mut workers {
        worker.says("go");
    }
    let admitted: Vec<u64> =
        workers.iter_mut().map(|worker| worker.hears().parse().unwrap()).collect();
    let open = connections(server);
    assert!(open >= WORKERS * CONNECTIONS, "{open} connections at the end");
    let winners = admitted.iter().filter(|count| **count > 0).count();
    assert!(winners > 1, "it was a race: {admitted:?}");
    admitted.iter().sum()
}

/// Goal: processes that do not know of each other admit together exactly what the limit allows, for
/// every algorithm, for turns, for permits, and for several buckets at once.
/// Method: four processes with sixteen connections each, let go at the same time, ask for the same key
/// until each connection was refused fifty times in a row; the limits refill too slowly to matter.
#[test]
fn a_race_of_processes_admits_exactly_the_limit() {
    let server = Server::start(Kind::Redis);
    let races = [
        ("fixed_window", 1_000),
        ("sliding_window_log", 1_000),
        ("sliding_window_counter", 1_000),
        ("token_bucket", 1_000),
        ("leaky_bucket", 1_000),
        ("line", 1_000),
        ("slots", 700),
        ("limits", 600),
        ("rules", 500),
    ];
    for (name, limit) in races {
        assert_eq!(race(&server, name), limit, "{name}");
    }
}
