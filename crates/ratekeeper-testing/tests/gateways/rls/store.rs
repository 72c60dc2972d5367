//! A shared store that hangs or is gone: a decision, not an error.
//!
//! Invariant: Envoy refuses with 503 whatever is an error here, so 200 and 429 are decisions.

use super::bootstrap::Bootstrap;
use super::edge::Edge;
use super::{BY_FIELDS, HEAD};
use crate::client::{Reply, listens};
use crate::process::Process;
use crate::site::free_port;
use crate::site::wait_until;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

/// A Redis of the system.
struct Store {
    _process: Process,
    port: u16,
    folder: PathBuf,
}

impl Store {
    fn start() -> Store {
        let port = free_port();
        let folder = env::temp_dir().join(format!("ratekeeper-rls-store-{port}"));
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
        command.args(["--appendonly", "no", "--pidfile", "number"]).current_dir(&folder);
        let _process = Process::start(&mut command, &folder.join("log"));
        let store = Store { _process, port, folder };
        wait_until("the store listens", || listens(port) && store.number().is_some());
        store
    }

    /// The number of its process.
    fn number(&self) -> Option<u32> {
        fs::read_to_string(self.folder.join("number")).ok()?.trim().parse().ok()
    }

    fn signal(&self, name: &str) {
        let number = self.number().unwrap().to_string();
        assert!(Command::new("kill").args(["-s", name, &number]).status().unwrap().success());
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // One that hangs would not hear that it is to end.
        self.signal("CONT");
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Envoy before a program with this store: the organisation's rule refuses while it is away, and the user's does not.
fn edge(store: &Store, deadline: &str, timeout: &str) -> Edge {
    let rules = format!(
        "store: {{url: 'redis://127.0.0.1:{}/0', deadline: {deadline}}}\nrules:\n\
         - {{id: user, domain: edge, key: 'descriptor:user', limit: 1000/day}}\n\
         - {{id: org, domain: edge, key: 'descriptor:org', limit: 1000/day, on_store_failure: deny}}\n",
        store.port
    );
    let log = "stat_prefix: web
                access_log:
                  - name: decided
                    typed_config:
                      \"@type\": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
                      path: decided
                      log_format:
                        text_format_source: {inline_string: \"%DYNAMIC_METADATA(envoy.filters.http.ratelimit)%\\n\"}";
    let bootstrap = Bootstrap::describing(BY_FIELDS).closed().with("stat_prefix: web", log);
    let edge = Edge::new(&format!("{HEAD}{rules}"), &bootstrap.with("timeout: 5s", timeout));
    for fields in [USER, ORG] {
        wait_until("the store decides", || {
            edge.get("/", fields).field("x-ratelimit-remaining").is_some()
        });
    }
    edge
}

const USER: &str = "X-User: a\r\n";
const ORG: &str = "X-Org: o\r\n";

/// A refusal since the store is away.
fn is_outage(edge: &Edge, reply: &Reply) {
    assert_eq!(reply.status, 429, "{reply:?}");
    assert_eq!(reply.field("retry-after"), Some("1"));
    assert_eq!(reply.field("x-envoy-ratelimited"), Some("true"));
    assert_eq!(reply.field("content-type"), Some("application/problem+json"));
    assert_eq!(reply.field("x-ratelimit-remaining"), None, "no figures without the store");
    assert!(reply.body.contains("cannot be checked"), "{reply:?}");
    let name = reply.field("x-ratekeeper-decision").unwrap();
    wait_until("later filters and logs are told the source", || {
        let told = fs::read_to_string(edge.folder.join("decided")).unwrap();
        let mut lines = told.lines().filter(|line| line.contains(name));
        lines.any(|line| {
            line.contains(r#""source":"failed_closed""#) && line.contains(r#""rule":"org""#)
        })
    });
}

/// What each rule does while the store is away, and that it counts again when it is back.
fn decides_without(edge: &Edge) {
    for _ in 0..8 {
        is_outage(edge, &edge.get("/", ORG));
        let reply = edge.get("/", USER);
        assert_eq!((reply.status, reply.field("ratelimit")), (200, None), "{reply:?}");
        is_outage(edge, &edge.get("/", "X-User: a\r\nX-Org: o\r\n"));
    }
}

/// Goal: while the store hangs, each rule does what it was told for that; when it goes on, it decides again.
/// Method: SIGSTOP to a real Redis, requests under a rule that denies, one that allows, and both; then SIGCONT.
#[test]
fn a_store_that_hangs_is_a_decision_by_each_rule() {
    let store = Store::start();
    let edge = edge(&store, "300ms", "timeout: 5s");
    store.signal("STOP");
    decides_without(&edge);
    store.signal("CONT");
    wait_until("the store decides again", || edge.get("/", ORG).status == 200);
}

/// Goal: the same while the store is gone.
/// Method: SIGKILL to a real Redis, and requests as above.
#[test]
fn a_store_that_is_gone_is_a_decision_by_each_rule() {
    let store = Store::start();
    let edge = edge(&store, "300ms", "timeout: 5s");
    store.signal("KILL");
    wait_until("the store is gone", || !listens(store.port));
    decides_without(&edge);
    // The only server is asked, well or not.
    wait_until("Envoy finds the program not well", || edge.health() == "/failed_active_hc");
    decides_without(&edge);
}

/// Goal: where the store may take longer than Envoy waits, the decision still comes before Envoy gives up.
/// Method: a store that hangs and is given 20 s, and an Envoy that waits for 0.5 s. A busy machine may be late once,
/// but not three times; an answer that waits for the store never comes in time.
#[test]
fn a_decision_comes_before_envoy_gives_up() {
    let store = Store::start();
    let edge = edge(&store, "20s", "timeout: 0.5s");
    store.signal("STOP");
    let decided = (0..3).any(|_| edge.get("/", ORG).status == 429);
    assert!(decided, "Envoy has given up three times");
}
