//! `redis-benchmark`, and what the program has counted of it.
//!
//! Invariant: what was sent, what was answered and what was counted are the same number.

use crate::server::{Server, wait_for};
use crate::shell::{bounded, run};

/// Requests of a run; a multiple of those that are sent together.
const REQUESTS: u64 = 20_000;

/// Goal: a load tool of Redis runs to its end without an error, and each of its requests is one decision.
/// Method: `redis-benchmark` with pipelines and random keys; what it says, and the counters of the rule after it.
#[test]
fn redis_benchmark_gets_one_decision_for_each_request() {
    let server = Server::new("rules: [{id: many, key: user, limit: 1000000/second}]");
    let (port, count) = (server.port.to_string(), REQUESTS.to_string());
    let mut command = bounded("redis-benchmark");
    command.args(["-p", &port, "-P", "16", "-n", &count, "-r", "1000"]);
    command.args(["RK.CHECK", "many", "key:__rand_int__"]);
    let said = run(&mut command, b"");
    let out = said.lines().join("\n");
    assert!(out.contains(&format!("{REQUESTS} requests completed in ")), "{said:?}");
    assert!(
        out.contains(" requests per second") && !out.to_lowercase().contains("error"),
        "{said:?}"
    );

    let counted = wait_for("all are counted", || {
        let counted = decisions(&server);
        (counted.iter().map(|(_, count)| count).sum::<u64>() >= REQUESTS).then_some(counted)
    });
    let labels = [r#"rule="many""#, r#"outcome="allowed""#, r#"source="store""#, r#"door="resp""#];
    for (line, count) in counted {
        let is_ours = labels.iter().all(|label| line.contains(label));
        assert_eq!(count, if is_ours { REQUESTS } else { 0 }, "{line}");
    }
}

/// Goal: what the test above would see of an error is seen.
/// Method: `redis-benchmark` for a rule that is not there.
#[test]
fn redis_benchmark_does_not_hide_an_error() {
    let server = Server::new("rules: [{id: many, key: user, limit: 1000000/second}]");
    let mut command = bounded("redis-benchmark");
    command.args([
        "-p",
        &server.port.to_string(),
        "-P",
        "16",
        "-n",
        "1600",
        "RK.CHECK",
        "none",
        "key",
    ]);
    let said = run(&mut command, b"");
    assert!(said.code == Some(1) && said.err.contains("ERR no rule is named `none`"), "{said:?}");
    assert_eq!(decisions(&server).iter().map(|(_, count)| count).sum::<u64>(), 0);
}

/// The counters of decisions.
fn decisions(server: &Server) -> Vec<(String, u64)> {
    let answer = server.get("/metrics");
    let lines = answer.lines().filter(|line| line.starts_with("ratekeeper_decisions_total{"));
    let counter = |line: &str| {
        let (labels, count) = line.rsplit_once(' ').unwrap();
        (labels.to_owned(), count.parse().unwrap())
    };
    lines.map(counter).collect()
}
