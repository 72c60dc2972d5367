//! Traces, taken by a real collector (Rotel, which `./test traces` installs).

use crate::program::{Program, command, poll};
use crate::wire::{DEADLINE, check, request, send};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::spawn;
use std::time::Duration;

/// The variable that names a collector.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The field of a caller that traces, as the W3C's page has it.
const PARENT: &str = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";

/// A collector that prints what it takes.
struct Collector {
    child: Child,
    address: SocketAddr,
    lines: Receiver<String>,
}

impl Collector {
    fn start() -> Collector {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/rotel/rotel-agent");
        let (address, other) = (free(), free());
        let mut child = Command::new(path)
            .args(["start", "--exporter", "blackhole", "--debug-log", "traces"])
            .args(["--debug-log-verbosity", "detailed"])
            .args(["--otlp-http-endpoint", &address.to_string()])
            .args(["--otlp-grpc-endpoint", &other.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("`./test traces` has installed the collector");
        let out = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (sender, lines) = sync_channel(1_000);
        spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let collector = Collector { child, address, lines };
        let listens = poll(|| TcpStream::connect(address).ok());
        assert!(listens.is_some(), "the collector listens");
        collector
    }

    /// The lines of the next spans, up to the first that has all of `last`.
    fn until(&self, last: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(last)) {
            let line = self.lines.recv_timeout(DEADLINE).ok();
            assert!(line.is_some(), "no `{last}` in {lines:#?}");
            lines.extend(line);
        }
        lines
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that nobody listens on.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr()).expect("a port is free")
}

fn serve(endpoint: &str) -> Command {
    let mut serve = command();
    // Spans go on their way at once.
    serve.args(["serve", "--listen", "127.0.0.1:0"]).env("OTEL_BSP_SCHEDULE_DELAY", "100");
    serve.env(ENDPOINT, endpoint);
    serve
}

/// Goal: each decision is a span in the trace of who asked, with rule, outcome and hashed key, and reaches a
/// collector.
/// Method: a real collector that prints what it takes; one check that passes in a caller's trace, and one that is
/// refused for good.
#[test]
fn decisions_are_spans_that_a_collector_takes() {
    let collector = Collector::start();
    let mut program = Program::start(serve(&format!("http://{}", collector.address)));
    let fields = format!("Content-Type: application/json\r\n{PARENT}");
    let question = r#"{"rule":"fixed-window","key":"mallory@example.org"}"#;
    let passed = send(program.address, &request("POST /v1/check", &fields, question));
    assert_eq!(passed.json()["allowed"], true);
    let told = collector.until("ratekeeper.key").join("\n");
    for expected in [
        "service.name: Str(ratekeeper)",
        "Trace ID       : 0af7651916cd43dd8448eb211c80319c",
        "Parent ID      : b7ad6b7169203331",
        "Name           : decision",
        "ratekeeper.door: Str(check)",
        "ratekeeper.outcome: Str(allowed)",
        "ratekeeper.rule: Str(fixed-window)",
        "ratekeeper.source: Str(store)",
    ] {
        assert!(told.contains(expected), "{expected} in {told}");
    }
    let refused = check(program.address, r#"{"rule":"token-bucket","key":"a","cost":11}"#);
    assert_eq!(refused.json()["allowed"], false);
    // What is on its way at the end is sent before it.
    program.signal("INT");
    let rest = collector.until("ratekeeper.rule: Str(token-bucket)").join("\n");
    assert!(rest.contains("ratekeeper.outcome: Str(refused)"), "{rest}");
    assert!(!rest.contains("0af7651916cd43dd"), "another trace: {rest}");
    assert!(!told.contains("mallory") && !rest.contains("mallory"), "{told}{rest}");
    assert!(program.ended().is_some_and(|status| status.success()));
}

/// Goal: a caller that does not trace its call is not traced, and no collector is no harm.
/// Method: a collector's address where nobody listens; checks are answered, the log says in one line what is lost, a
/// call that is not sampled says nothing, and the end comes in order.
#[test]
fn without_a_collector_decisions_go_on() {
    let mut program = Program::start(serve(&format!("http://{}", free())));
    let fields =
        format!("Content-Type: application/json\r\n{}", PARENT.replace("-01\r\n", "-00\r\n"));
    let question = r#"{"rule":"fixed-window","key":"a"}"#;
    assert_eq!(send(program.address, &request("POST /v1/check", &fields, question)).status, 200);
    let started = program.err.recv_timeout(DEADLINE).expect("it says that it traces");
    assert!(
        started.contains("traces are sent to where `OTEL_EXPORTER_OTLP_ENDPOINT` says"),
        "{started}"
    );
    assert!(program.err.recv_timeout(Duration::from_millis(300)).is_err(), "nothing is sent");
    assert_eq!(check(program.address, question).status, 200);
    let lost = program.err.recv_timeout(DEADLINE).expect("it says what is lost");
    assert!(lost.contains("the collector did not take traces"), "{lost}");
    program.signal("INT");
    assert!(program.ended().is_some_and(|status| status.success()));
}

/// Goal: a collector that cannot be asked is told before anything listens.
/// Method: a URL that needs TLS, and one with a password, which is not shown.
#[test]
fn a_collector_that_cannot_be_asked_is_told_at_the_start() {
    for url in ["https://127.0.0.1:4318", "http://user:hunter2@127.0.0.1:4318", "127.0.0.1:4318"] {
        let output = serve(url).output().expect("the program runs");
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]));
        let said = String::from_utf8(output.stderr).expect("it speaks UTF-8");
        let fault = "is not the plain http URL of a collector, which sends on by TLS";
        let repair = "write such as http://127.0.0.1:4318";
        assert_eq!(said, format!("error: `{ENDPOINT}` {fault}; {repair}\n"));
    }
}
