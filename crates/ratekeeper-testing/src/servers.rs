//! Real servers for tests: Redis and Valkey, alone, as a cluster, behind sentinels.
//!
//! Each test starts its own on free ports of loopback. Invariant: whatever was started here is ended
//! when its handle is dropped, and nothing else is.

mod cluster;
mod sentinel;
pub mod wire;

pub use cluster::Cluster;
pub use sentinel::Sentinels;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;
use wire::Reply;

/// How long a server may take to answer, or a cluster to agree.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait before asking again.
const PAUSE: Duration = Duration::from_millis(20);

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `redis-server` of the system.
    Redis,
    /// `valkey-server`, where `./test redis` has put it.
    Valkey,
}

impl Kind {
    /// The program; `RATEKEEPER_REDIS` and `RATEKEEPER_VALKEY` name others.
    pub fn program(self) -> PathBuf {
        let (variable, default) = match self {
            Kind::Redis => ("RATEKEEPER_REDIS", PathBuf::from("redis-server")),
            Kind::Valkey => ("RATEKEEPER_VALKEY", tools().join("valkey/valkey-server")),
        };
        std::env::var_os(variable).map_or(default, PathBuf::from)
    }
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools")
}

/// One server.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    args: Vec<String>,
    port: u16,
    dir: PathBuf,
    child: Option<Child>,
}

impl Server {
    /// Starts one, with no more options than that it keeps nothing on disk.
    pub fn start(kind: Kind) -> Server {
        Server::with(kind, &[])
    }

    /// Starts one with further options, such as `["--maxmemory", "1mb"]`.
    pub fn with(kind: Kind, options: &[&str]) -> Server {
        let port = free_port();
        let base = [
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ];
        Server::run(
            kind.program(),
            port,
            base.iter().chain(options).map(|text| (*text).to_owned()).collect(),
        )
    }

    /// Starts a program that answers PING on this port.
    fn run(program: PathBuf, port: u16, args: Vec<String>) -> Server {
        Server::run_in(program, port, args, scratch(port))
    }

    fn run_in(program: PathBuf, port: u16, args: Vec<String>, dir: PathBuf) -> Server {
        let mut server = Server { program, args, port, dir, child: None };
        server.restart();
        server
    }

    /// Starts it again, with what its folder holds.
    pub fn restart(&mut self) {
        self.kill();
        let log = fs::File::create(self.dir.join("log")).expect("the folder can be written");
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.dir).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a file can be shared")).stderr(log);
        let started = command.spawn();
        let program = self.program.display();
        self.child = Some(started.unwrap_or_else(|error| {
            panic!(
                "{program} cannot be started: {error}; `./test redis` installs what the tests need"
            )
        }));
        self.wait_until("it answers", || {
            // One that wants a password answers, too.
            wire::ask(self.port, &["PING"]).is_ok_and(|reply| !reply.text().contains("LOADING"))
        });
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `127.0.0.1:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// `redis://127.0.0.1:port/0`.
    pub fn url(&self) -> String {
        format!("redis://{}/0", self.address())
    }

    /// The folder that it runs in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The number of its process.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Makes a call; an error of the server is a panic.
    pub fn ask(&self, words: &[&str]) -> Reply {
        match wire::ask(self.port, words) {
            Ok(Reply::Error(error)) => panic!("{words:?}: {error}"),
            Ok(reply) => reply,
            Err(error) => panic!("{words:?}: {error}"),
        }
    }

    /// The same, as text.
    pub fn text(&self, words: &[&str]) -> String {
        self.ask(words).text()
    }

    /// Sends a signal: `STOP` hangs it, `CONT` lets it go on.
    pub fn signal(&self, signal: &str) {
        let pid = self.pid().expect("it runs").to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{signal} {pid}");
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Waits until something holds, and says what if it does not.
    pub fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        wait_until(&format!("{what} (port {}, folder {})", self.port, self.dir.display()), holds);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// Waits until something holds, and panics if it does not in time.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let tries = PATIENCE.as_millis() / PAUSE.as_millis();
    for _ in 0..tries {
        if holds() {
            return;
        }
        sleep(PAUSE);
    }
    panic!("in {PATIENCE:?} it did not come to pass that {what}");
}

/// A folder that nobody else has.
fn scratch(port: u16) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (pid, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let dir = std::env::temp_dir().join(format!("ratekeeper-test-{pid}-{number}-{port}"));
    fs::create_dir_all(&dir).expect("the folder for temporary files can be written");
    dir
}

/// A port that is free, and so is the one ten thousand higher, which a cluster needs.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let start = std::process::id() * 97;
        let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 20_000;
        let port = 12_000 + u16::try_from(number).expect("it is below 20000");
        let free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if free(port) && free(port + 10_000) {
            return port;
        }
    }
}
