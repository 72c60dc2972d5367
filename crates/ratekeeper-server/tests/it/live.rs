//! What the tests of live rules share: the program on a folder of its own, and calls of administrators.
//!
//! Invariant: whoever waits asks again, with a deadline.

use crate::folder::Folder;
use crate::program::{Program, command, poll};
use crate::wire::{Reply, check, request, send};
use serde_json::Value;
use std::net::SocketAddr;

/// One rule, for whoever is named, of so many in a day.
pub(crate) fn daily(limit: u32) -> String {
    format!("rules:\n  - {{id: api, key: user, limit: {limit}/day, algorithm: fixed_window}}\n")
}

/// The program with the rules of a file, or of the folder itself.
pub(crate) fn serve(folder: &Folder, name: &str) -> Program {
    let mut serve = command();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--config", &folder.path(name)]);
    Program::start(serve)
}

/// A call with a body, if it is not empty, declared as YAML; `fields` end in CR LF.
pub(crate) fn call(address: SocketAddr, line: &str, fields: &str, body: &str) -> Reply {
    let kind = if body.is_empty() { "" } else { "Content-Type: application/yaml\r\n" };
    send(address, &request(line, &format!("{fields}{kind}"), body))
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Value {
    let reply = call(address, &format!("GET {path}"), "", "");
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    reply.json()
}

/// A call with JSON.
pub(crate) fn put(address: SocketAddr, path: &str, body: &str) -> Reply {
    let json = "Content-Type: application/json\r\n";
    send(address, &request(&format!("PUT {path}"), json, body))
}

/// The release that is live.
pub(crate) fn version(address: SocketAddr) -> u64 {
    get(address, "/v1/rules")["version"].as_u64().expect("a release has a number")
}

/// Waits until a release is live.
pub(crate) fn becomes(address: SocketAddr, number: u64) {
    let reached = poll(|| (version(address) >= number).then_some(()));
    assert!(reached.is_some(), "release {number} is not live: {}", get(address, "/v1/rules"));
    assert_eq!(version(address), number, "{}", get(address, "/v1/releases"));
}

/// Waits until something is told to be wrong, and returns it.
pub(crate) fn fault(address: SocketAddr) -> Value {
    let found = poll(|| {
        let fault = get(address, "/v1/rules")["fault"].clone();
        (!fault.is_null()).then_some(fault)
    });
    found.expect("a fault is told before the deadline")
}

/// A decision for a key by the rule `api`.
pub(crate) fn ask(address: SocketAddr, key: &str, cost: u64) -> Value {
    let reply = check(address, &format!(r#"{{"rule":"api","key":"{key}","cost":{cost}}}"#));
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.json()
}

/// What is left of the limit of `api` for a key, and what the limit is.
pub(crate) fn left(address: SocketAddr, key: &str) -> (u64, u64) {
    let decision = ask(address, key, 0);
    let number = |name: &str| decision[name].as_u64().expect("a figure");
    (number("remaining"), number("limit"))
}

/// Waits for a line on stderr that has these words.
pub(crate) fn says(program: &Program, words: &str) -> String {
    let mut heard = Vec::new();
    let found = poll(|| {
        heard.extend(program.err.try_iter());
        heard.iter().find(|line| line.contains(words)).cloned()
    });
    assert!(found.is_some(), "nobody said {words:?}, but {heard:?}");
    found.unwrap_or_default()
}

/// The time on a clock, so much later, as rule files write it.
pub(crate) fn moment_of(clock: &ratekeeper::ManualClock, later: std::time::Duration) -> String {
    let limiter = ratekeeper::Limiter::memory().clock(clock).build();
    let seconds = limiter.now() / 1_000_000 + later.as_secs();
    let output = std::process::Command::new("date")
        .args(["-u", "-d", &format!("@{seconds}"), "+%Y-%m-%dT%H:%M:%SZ"])
        .output()
        .expect("there is a calendar");
    String::from_utf8(output.stdout).expect("dates are text").trim().to_owned()
}
