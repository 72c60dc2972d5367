//! A gateway, the program that it asks, and the application behind it.
//!
//! Invariant: all of it is over when the value is dropped, and its folder is gone unless the test failed.

use crate::client::{ask, listens};
use crate::files::{Gateway, Mode, Ports, root};
use crate::process::Process;
use crate::upstream::Upstream;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;
use std::{env, fs};

/// How long something may take to be there.
const PATIENCE: Duration = Duration::from_secs(40);

const PAUSE: Duration = Duration::from_millis(50);

/// Ports from here on are tried: below those that the system gives to whoever connects.
const PORTS_FROM: u16 = 20_000;
const PORTS: u32 = 10_000;

pub(crate) struct Site {
    pub(crate) port: u16,
    pub(crate) upstream: Upstream,
    gateway: Option<Process>,
    program: Option<Process>,
    ports: Ports,
    folder: PathBuf,
}

impl Site {
    /// Starts all of it; returns once the gateway asks the program.
    pub(crate) fn new(gateway: Gateway, mode: Mode) -> Site {
        let upstream = Upstream::start();
        let ports = Ports {
            gateway: free_port(),
            inner: free_port(),
            program: free_port(),
            upstream: upstream.port,
        };
        let port = ports.gateway;
        let folder =
            env::temp_dir().join(format!("ratekeeper-gateway-{}-{port}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        gateway.write(&folder, mode, ports);
        let mut site = Site { port, upstream, gateway: None, program: None, ports, folder };
        site.start();
        let mut command = gateway.command(&site.folder);
        site.gateway = Some(Process::start(&mut command, &site.folder.join("gateway.log")));
        // A rule that lets nobody pass answers without counting.
        wait_until(&format!("the gateway asks, see {}", site.folder.display()), || {
            let over = site.gateway.as_mut().is_none_or(Process::is_over);
            assert!(!over, "the gateway ended, see {}", site.folder.display());
            listens(port) && ask(port, 9, "GET", "/internal/x", "").status == 403
        });
        site
    }

    /// Starts the program.
    pub(crate) fn start(&mut self) {
        let tests = env::current_exe().unwrap();
        let path = tests.ancestors().nth(2).unwrap().join("ratekeeper");
        assert!(
            path.exists(),
            "{}: build it first: cargo build -p ratekeeper-server",
            path.display()
        );
        let mut serve = Command::new(path);
        for name in ["CONFIG", "LISTEN", "STORE"] {
            serve.env_remove(format!("RATEKEEPER_{name}"));
        }
        let listen = format!("127.0.0.1:{}", self.ports.program);
        serve
            .args(["serve", "--listen", &listen, "--config"])
            .arg(root().join("examples/ratekeeper.yaml"));
        self.program = Some(Process::start(&mut serve, &self.folder.join("program.log")));
        wait_until("the program listens", || listens(self.ports.program));
    }

    /// Ends the program.
    pub(crate) fn stop(&mut self) {
        self.program = None;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        (self.gateway, self.program) = (None, None);
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A port that is free, and that no other test here was given.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let start = std::process::id().wrapping_mul(97);
        let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let port = PORTS_FROM + u16::try_from(number).unwrap();
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// Waits until something holds, and panics if it does not in time.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if holds() {
            return;
        }
        sleep(PAUSE);
    }
    panic!("{what}: not within {PATIENCE:?}");
}
