//! Envoy that asks by its rate limit service, the program, and the application behind.
//!
//! Invariant: all of it is over when the value is dropped, and its folder is gone unless the test failed.

use super::bootstrap::{Bootstrap, Ports};
use crate::client::{Reply, ask, listens};
use crate::files::root;
use crate::process::Process;
use crate::site::wait_until;
use crate::upstream::Upstream;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Who asks, unless a test says.
const CLIENT: u8 = 3;

pub(super) struct Edge {
    pub(super) upstream: Upstream,
    pub(super) folder: PathBuf,
    pub(super) ports: Ports,
    envoy: Option<Process>,
    program: Option<Process>,
}

impl Edge {
    /// Starts all of it; returns once Envoy serves.
    pub(super) fn new(rules: &str, bootstrap: &Bootstrap) -> Edge {
        let upstream = Upstream::start();
        let ports = Ports::free(upstream.port);
        let folder = env::temp_dir().join(format!("ratekeeper-rls-{}", ports.envoy));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ratekeeper.yaml"), ports.put_into(rules)).unwrap();
        fs::write(folder.join("envoy.yaml"), ports.put_into(&bootstrap.0)).unwrap();
        let mut edge = Edge { upstream, folder, ports, envoy: None, program: None };
        edge.start();
        let mut command = envoy(&edge.folder);
        command.args(["-c", "envoy.yaml", "--file-flush-interval-msec", "50"]);
        let admin = format!("{{address: 127.0.0.1, port_value: {}}}", ports.admin);
        command
            .arg("--config-yaml")
            .arg(format!("admin: {{address: {{socket_address: {admin}}}}}"));
        edge.envoy = Some(Process::start(&mut command, &edge.folder.join("envoy.log")));
        wait_until(&format!("Envoy serves, see {}", edge.folder.display()), || {
            let over = edge.envoy.as_mut().is_none_or(Process::is_over);
            assert!(!over, "Envoy ended, see {}", edge.folder.display());
            said(ports.admin, "/ready").contains("LIVE") && listens(ports.envoy)
        });
        edge
    }

    /// Starts the program.
    pub(super) fn start(&mut self) {
        let mut serve = program(&self.folder);
        serve.args(["serve", "--config", "ratekeeper.yaml"]);
        self.program = Some(Process::start(&mut serve, &self.folder.join("program.log")));
        let ports = self.ports;
        wait_until("the program listens", || listens(ports.api) && listens(ports.grpc));
    }

    /// Ends the program.
    pub(super) fn stop(&mut self) {
        self.program = None;
    }

    /// Asks for a path, with header fields that end in CR LF each.
    pub(super) fn get(&self, target: &str, fields: &str) -> Reply {
        self.get_from(CLIENT, target, fields)
    }

    /// The same from `127.0.0.from`.
    pub(super) fn get_from(&self, from: u8, target: &str, fields: &str) -> Reply {
        ask(self.ports.envoy, from, "GET", target, fields)
    }

    /// How many of so many requests pass; what does not is refused.
    pub(super) fn passing(&self, of: usize, fields: &str) -> usize {
        let passed = (0..of).filter(|_| match self.get("/", fields) {
            Reply { status: 200, .. } => true,
            Reply { status: 429, .. } => false,
            reply => panic!("neither allowed nor refused: {reply:?}"),
        });
        passed.count()
    }

    /// What a key has left under a rule.
    pub(super) fn left(&self, rule: &str, key: &str) -> u64 {
        let reply = self.api(&format!("/v1/keys?rule={rule}&key={key}"));
        let number = reply.split(r#""remaining":"#).nth(1).and_then(|rest| rest.split(',').next());
        number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{reply}"))
    }

    /// A metric of the program, by its name and its labels.
    pub(super) fn metric(&self, name: &str) -> Option<String> {
        let text = self.api("/metrics");
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        values.next().map(str::to_owned)
    }

    fn api(&self, target: &str) -> String {
        let said = said(self.ports.api, target);
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
        said
    }

    /// How Envoy finds the program.
    pub(super) fn health(&self) -> String {
        let clusters = said(self.ports.admin, "/clusters");
        let line = format!("ratekeeper::127.0.0.1:{}::health_flags::", self.ports.grpc);
        let flags = clusters.lines().find_map(|own| own.strip_prefix(&line));
        flags.unwrap_or_else(|| panic!("{line} is not in {clusters}")).to_owned()
    }

    /// Makes these rules the next release.
    pub(super) fn apply(&self, rules: &str) {
        fs::write(self.folder.join("next.yaml"), self.ports.put_into(rules)).unwrap();
        let mut command = program(&self.folder);
        let url = format!("http://127.0.0.1:{}", self.ports.api);
        let output = command.args(["rules", "apply", "next.yaml", "--url", &url]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        (self.envoy, self.program) = (None, None);
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// What is said to an operator of this machine, head and body; nothing while nobody listens.
fn said(port: u16, target: &str) -> String {
    let head = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    let mut said = String::new();
    if let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.read_to_string(&mut said));
    }
    said
}

/// The built program, in a folder.
pub(super) fn program(folder: &Path) -> Command {
    let path = programs().join("ratekeeper");
    let shown = path.display();
    assert!(path.exists(), "{shown}: build it first: cargo build -p ratekeeper-server");
    let mut command = Command::new(path);
    for name in ["CONFIG", "LISTEN", "STORE", "URL", "TOKEN_FILE"] {
        command.env_remove(format!("RATEKEEPER_{name}"));
    }
    command.current_dir(folder);
    command
}

/// Where built programs are.
pub(super) fn programs() -> PathBuf {
    env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned()
}

/// Where `./test gateways` has put Envoy.
pub(super) fn tools() -> PathBuf {
    root().join("target/tools/gateways/bin")
}

/// Envoy, in a folder, beside others on this machine.
fn envoy(folder: &Path) -> Command {
    let mut command = Command::new(tools().join("envoy"));
    command.args(["--use-dynamic-base-id", "--concurrency", "1"]).current_dir(folder);
    command
}
