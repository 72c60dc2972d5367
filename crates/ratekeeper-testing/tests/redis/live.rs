//! A fleet that changes its rules together (`rules_from: redis`; F5, F8 and F9 of the fault matrix).
//!
//! Invariant: every server here is the real program; numbers of releases are the fleet's, the same on all of them.

mod named;
mod replaced;

use ratekeeper_testing::servers::{Kind, Server, wait_until};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// `ratekeeper serve`, ended when dropped, with its file.
struct Node {
    child: Child,
    address: String,
    file: PathBuf,
}

fn rules(limit: u32) -> String {
    format!("rules: [{{id: api, key: user, limit: {limit}/day, algorithm: fixed_window}}]\n")
}

impl Node {
    /// With rules of its own, which only seed those of the fleet.
    fn start(store: &str, limit: u32) -> Node {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ratekeeper-fleet-{}-{number}.yaml", std::process::id());
        let file = std::env::temp_dir().join(name);
        let text = format!("store: \"{store}\"\nrules_from: redis\n{}", rules(limit));
        fs::write(&file, text).unwrap();
        Node::of(file)
    }

    fn of(file: PathBuf) -> Node {
        let tests = std::env::current_exe().unwrap();
        let path = tests.ancestors().nth(2).unwrap().join("ratekeeper");
        assert!(
            path.exists(),
            "{}: build it first: cargo build -p ratekeeper-server",
            path.display()
        );
        let mut command = Command::new(path);
        for name in ["CONFIG", "STORE", "LISTEN"] {
            command.env_remove(format!("RATEKEEPER_{name}"));
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.map_while(Result::ok).find(|line| line.starts_with("listening on"));
        let address =
            line.and_then(|line| Some(line.rsplit_once("http://")?.1.to_owned())).unwrap();
        Node { child, address, file }
    }

    fn call(&self, line: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let kind = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{kind}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.get(9..12).unwrap().parse().unwrap(), body.to_owned())
    }

    /// The release that a decision names, and the limit that it went by.
    fn decides(&self, key: &str) -> (u64, Option<u64>) {
        let question = format!(r#"{{"rule":"api","key":"{key}","cost":0}}"#);
        let (status, body) = self.call("POST /v1/check", &question);
        assert_eq!(status, 200, "{body}");
        let number = |name: &str| {
            let rest = body.split_once(&format!("\"{name}\":")).unwrap().1;
            rest.split([',', '}']).next().unwrap().parse().ok()
        };
        (number("version").unwrap(), number("limit"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.file);
    }
}

fn all_decide(nodes: &[Node], key: &str, version: u64, limit: Option<u64>) {
    wait_until(&format!("all decide by release {version}"), || {
        nodes.iter().all(|node| node.decides(key) == (version, limit))
    });
}

/// Goal: three servers with different files have the rules of the first; what one is sent all have, with the same
/// number, also overrides and switches; what two send at once are two releases, or one is told.
/// Method: three programs on one Redis, and calls to each of them in turn.
#[test]
fn a_fleet_changes_its_rules_together() {
    let redis = Server::start(Kind::Redis);
    let nodes = [10, 20, 30].map(|limit| Node::start(&redis.url(), limit));
    all_decide(&nodes, "alice", 1, Some(10));

    let json =
        r#"{"rules":[{"id":"api","key":"user","limit":"50/day","algorithm":"fixed_window"}]}"#;
    assert_eq!(nodes[1].call("PUT /v1/rules", json).0, 200);
    all_decide(&nodes, "alice", 2, Some(50));
    let own = r#"{"rule":"api","key":"acme","limit":"500/day"}"#;
    assert_eq!(nodes[2].call("PUT /v1/overrides", own).0, 200);
    all_decide(&nodes, "acme", 3, Some(500));
    assert_eq!(nodes[0].call("POST /v1/releases/1/restore", "").0, 200);
    all_decide(&nodes, "alice", 4, Some(10));
    all_decide(&nodes, "acme", 4, Some(500));

    assert_eq!(nodes[1].call("PUT /v1/switches/api", r#"{"rollout":"off"}"#).0, 200);
    all_decide(&nodes, "alice", 4, None);
    assert_eq!(nodes[2].call("PUT /v1/switches/api", "null").0, 200);
    all_decide(&nodes, "alice", 4, Some(10));

    let put = |node: usize| nodes[node].call("PUT /v1/rules", json).0;
    let statuses: Vec<u16> = std::thread::scope(|threads| {
        let each: Vec<_> = (0..3).map(|node| threads.spawn(move || put(node))).collect();
        each.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses, [200, 200, 200], "who did not look may come second");
    all_decide(&nodes, "alice", 7, Some(50));

    let late = Node::start(&redis.url(), 99);
    assert_eq!(late.decides("acme"), (7, Some(500)), "before it listens");
}

/// Goal: a server that cannot read the rules of the fleet keeps its own and refuses changes; a store that has lost
/// them gets them back; what makes no sense there changes nothing.
/// Method: end the store, start an empty one, and then write nonsense into it.
#[test]
fn a_fleet_outlives_its_store() {
    let mut redis = Server::start(Kind::Redis);
    let nodes = [10, 20].map(|limit| Node::start(&redis.url(), limit));
    let json =
        r#"{"rules":[{"id":"api","key":"user","limit":"50/day","algorithm":"fixed_window"}]}"#;
    assert_eq!(nodes[0].call("PUT /v1/rules", json).0, 200);
    all_decide(&nodes, "alice", 2, Some(50));

    redis.kill();
    let (status, body) = nodes[1].call("PUT /v1/rules", json);
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("may have been made or not"), "an answer may be lost: {body}");
    assert_eq!(nodes[1].decides("alice").0, 2, "decided without figures, by the same rules");
    let alone = Node::start(&redis.url(), 77);
    assert_eq!(alone.decides("alice").0, 0, "a release that the fleet has not numbered");

    redis.restart();
    wait_until("the fleet's rules are back", || alone.decides("alice") == (2, Some(50)));
    let key = redis.text(&["KEYS", "rk:*board"]);
    let key = key.trim();
    redis.text(&["HSET", key, "n:rules", "9", "t:rules", "{}"]);
    wait_until("it is told", || {
        nodes[0].call("GET /v1/rules", "").1.contains("release 9 is not one of ours")
    });
    assert_eq!(nodes[0].decides("alice"), (2, Some(50)));
}

/// Goal: who joins a fleet takes its rules, although its own state has a release of a higher number.
/// Method: a server with a folder of state is changed three times on a store of its own; then it is started on that of
/// a fleet at its first release.
#[test]
fn who_joins_takes_the_rules_of_the_fleet() {
    let (alone, common) = (Server::start(Kind::Redis), Server::start(Kind::Redis));
    let fleet = [Node::start(&common.url(), 20)];
    all_decide(&fleet, "alice", 1, Some(20));
    let mut node = Node::start(&alone.url(), 10);
    let file = node.file.clone();
    let state = file.with_extension("state");
    let text = fs::read_to_string(&file).unwrap();
    let with_state = |text: &str| format!("state_dir: {}\n{text}", state.display());
    let restart = |node: Node, text: String| {
        // The file goes with the node that it was of.
        drop(node);
        fs::write(&file, text).unwrap();
        Node::of(file.clone())
    };
    node = restart(node, with_state(&text));
    let json = |limit: u32| {
        format!(
            r#"{{"rules":[{{"id":"api","key":"user","limit":"{limit}/day","algorithm":"fixed_window"}}]}}"#
        )
    };
    for limit in [51, 52, 53] {
        assert_eq!(node.call("PUT /v1/rules", &json(limit)).0, 200);
    }
    assert_eq!(node.decides("alice"), (4, Some(53)));
    let node = restart(node, with_state(&text.replace(&alone.url(), &common.url())));
    assert_eq!(node.decides("alice"), (1, Some(20)));
    all_decide(&fleet, "alice", 1, Some(20));
    drop(node);
    fs::remove_dir_all(state).unwrap();
}
