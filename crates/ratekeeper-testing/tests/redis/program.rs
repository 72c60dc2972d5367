//! The program on a shared store: two servers, one count.
//!
//! Invariant: every server here is the real program, started as a user would.

use ratekeeper_testing::servers::{Kind, Server, wait_until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// The demo rules, each of which admits ten at once.
const RULES: [&str; 6] = [
    "fixed-window",
    "sliding-window-log",
    "sliding-window-counter",
    "token-bucket",
    "leaky-bucket",
    "leaky-bucket-shaping",
];

/// `ratekeeper serve`, ended when dropped.
struct Program {
    child: Child,
    address: String,
}

/// The program, which is built beside the tests.
fn program() -> Command {
    let tests = std::env::current_exe().unwrap();
    let path: PathBuf = tests.ancestors().nth(2).unwrap().join("ratekeeper");
    assert!(path.exists(), "{}: build it first: cargo build -p ratekeeper-server", path.display());
    let mut command = Command::new(path);
    command.env_remove("RATEKEEPER_STORE").env_remove("RATEKEEPER_LISTEN");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Program {
    fn serve(store: &str) -> Program {
        let args = ["serve", "--listen", "127.0.0.1:0", "--store", store];
        let mut child = program().args(args).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.map_while(Result::ok).find(|line| line.starts_with("listening on"));
        let address =
            line.and_then(|line| Some(line.rsplit_once("http://")?.1.to_owned())).unwrap();
        Program { child, address }
    }

    /// The body of the answer to a body.
    fn post(&self, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
        let kind = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        write!(stream, "{head}{kind}\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn check(&self, rule: &str, key: &str) -> String {
        self.post("/v1/check", &format!(r#"{{"rule":"{rule}","key":"{key}"}}"#))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the program says when it does not start.
fn fails(args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = program().args(args).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// Goal: two servers on one store count as one, for each algorithm.
/// Method: ask them in turn: what remains goes down one by one to the tenth, and both refuse then. The
/// token and leaky buckets refill one a second, which the bound on what remains allows for.
#[test]
fn two_servers_count_as_one() {
    let redis = Server::start(Kind::Redis);
    let servers = [Program::serve(&redis.url()), Program::serve(&redis.url())];
    for rule in RULES {
        // Away from a window's edge, at which a count would begin anew.
        let calm =
            || redis.text(&["TIME"]).lines().next().unwrap().parse::<u64>().unwrap() % 10 < 5;
        wait_until("a window has just begun", calm);
        for call in 0..10 {
            let answer = servers[call % 2].check(rule, "alice");
            let left = format!(r#""limit":10,"remaining":{}"#, 9 - call);
            let refilled = format!(r#""limit":10,"remaining":{}"#, 10 - call);
            assert!(answer.starts_with(r#"{"allowed":true"#), "{rule}, call {call}: {answer}");
            let bucket = rule.contains("bucket");
            let counted = answer.contains(&left) || bucket && answer.contains(&refilled);
            assert!(counted && answer.contains(r#""source":"store""#), "{rule}: {answer}");
        }
        if !rule.contains("bucket") {
            for server in &servers {
                let answer = server.check(rule, "alice");
                assert!(answer.starts_with(r#"{"allowed":false"#), "{rule}: {answer}");
            }
        }
    }
}

/// Goal: what one server reserved another settles, once.
/// Method: reserve all of a window on one, look from the other, settle there, and try on both again.
#[test]
fn what_one_server_reserved_another_settles() {
    let redis = Server::start(Kind::Redis);
    let [one, other] = [Program::serve(&redis.url()), Program::serve(&redis.url())];
    let log = |cost: u64| format!(r#"{{"rule":"sliding-window-log","key":"alice","cost":{cost}}}"#);
    let reserved = one.post("/v1/reserve", &log(10));
    let hold = reserved.split_once(r#""hold":""#).unwrap().1.split_once('"').unwrap().0;
    assert!(other.check("sliding-window-log", "alice").starts_with(r#"{"allowed":false"#));
    let settle = format!(r#"{{"hold":"{hold}","cost":3}}"#);
    assert_eq!(other.post("/v1/settle", &settle), r#"{"settled":true}"#);
    assert!(one.post("/v1/check", &log(0)).contains(r#""remaining":7"#));
    assert_eq!(one.post("/v1/settle", &settle), r#"{"settled":false}"#);
    assert_eq!(
        other.post("/v1/cancel", &format!(r#"{{"hold":"{hold}"}}"#)),
        r#"{"cancelled":false}"#
    );
    assert!(one.post("/v1/check", &log(0)).contains(r#""remaining":7"#));
}

/// Goal: a store that is away is no reason not to start; answers say where they come from, without
/// figures; and the store is used once it is there.
/// Method: start the program, then the store, then end the store.
#[test]
fn a_server_starts_without_its_store() {
    let mut redis = Server::start(Kind::Redis);
    redis.kill();
    let server = Program::serve(&redis.url());
    let failed_open = concat!(
        r#"{"allowed":true,"rule":"token-bucket","limit":null,"remaining":null,"retry_after":null,"#,
        r#""reset_after":null,"delay":null,"never":false,"source":"failed_open","id":null,"version":1,"#,
        r#""results":[{"rule":"token-bucket","allowed":true,"limit":null,"remaining":null,"#,
        r#""retry_after":null,"reset_after":null,"delay":null,"never":false,"shadow":false}]}"#
    );
    assert_eq!(server.check("token-bucket", "alice"), failed_open);
    redis.restart();
    let answers = |source: &str| server.check("token-bucket", "alice").contains(source);
    wait_until("the store answers", || answers(r#""source":"store""#));
    redis.kill();
    assert_eq!(server.check("token-bucket", "alice"), failed_open);
}

/// Goal: what is set up wrong is told before the server listens, with the password masked.
/// Method: a wrong URL, a wrong password, a store that drops keys; then the same store, allowed.
#[test]
fn what_is_set_up_wrong_is_told_at_the_start() {
    let (code, told) = fails(&["serve", "--store", "postgres://user:hunter2@host/0"]);
    assert_eq!(code, Some(2));
    assert!(
        told.contains("***@host/0") && !told.contains("hunter2") && told.contains("--store memory"),
        "{told}"
    );

    let locked = Server::with(Kind::Redis, &["--requirepass", "right"]);
    let url = locked.url().replace("redis://", "redis://:hunter2@");
    let (code, told) = fails(&["serve", "--store", &url]);
    assert_eq!(code, Some(2));
    assert!(told.contains(":***@127.0.0.1") && told.contains("check user and password"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");

    let dropping = Server::with(Kind::Redis, &["--maxmemory-policy", "allkeys-lru"]);
    let (code, told) = fails(&["serve", "--store", &dropping.url()]);
    assert_eq!(code, Some(2));
    assert!(told.contains("allkeys-lru") && told.contains("noeviction"), "{told}");
    let args = ["serve", "--listen", "127.0.0.1:0", "--store-allow-eviction", "--store"];
    let mut child = program().args(args).arg(dropping.url()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("listening on")));
    child.kill().unwrap();
    child.wait().unwrap();
}
