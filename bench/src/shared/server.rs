//! A `redis-server` on a free port of loopback, which keeps nothing on disk, and what it says of itself.
//!
//! Invariant: it is ended with its handle.

use redis::{Client, Connection, IntoConnectionInfo};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// How often it is asked whether it is there, and how long between.
const TRIES: usize = 250;
const PAUSE: Duration = Duration::from_millis(20);

pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts one, on this core if one is named; `None` if there is no such program.
    pub fn start(core: Option<&str>) -> Option<Server> {
        let free = TcpListener::bind("127.0.0.1:0").ok()?;
        let port = free.local_addr().ok()?.port();
        drop(free);
        Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().ok()?;
        let mut command = match core {
            None => Command::new("redis-server"),
            Some(core) => {
                let mut command = Command::new("taskset");
                command.args(["-c", core, "redis-server"]);
                command
            }
        };
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no"]);
        // `taskset` becomes the server: this is its process.
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().ok()?;
        let server = Server { child, port };
        let answers = (0..TRIES).any(|_| {
            sleep(PAUSE);
            server.client(0).get_connection().is_ok()
        });
        assert!(answers, "redis-server does not answer on port {port}");
        Some(server)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self, database: u8) -> String {
        format!("redis://127.0.0.1:{}/{database}", self.port)
    }

    /// With TCP_NODELAY, as for ratekeeper.
    pub fn client(&self, database: u8) -> Client {
        let info = self.url(database).into_connection_info().expect("the URL is good");
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        Client::open(info.set_tcp_settings(tcp)).expect("the address is good")
    }

    pub fn connection(&self, database: u8) -> Connection {
        self.client(database).get_connection().expect("the server is there")
    }

    /// Microseconds of the processor that it has used.
    pub fn processor_time(&self) -> f64 {
        let stat = format!("/proc/{}/stat", self.child.id());
        let text = std::fs::read_to_string(stat).expect("this is Linux, and the server runs");
        // The name in parentheses may hold anything; user and system time are fields 14 and 15.
        let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks = rest.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
        ticks.flatten().sum::<f64>() * 1e6 / TICKS_PER_SECOND
    }

    /// Bytes that it has allocated, once that no longer changes.
    pub fn used_memory(&self) -> u64 {
        let mut connection = self.connection(0);
        let mut used = || {
            let text: String =
                redis::cmd("INFO").arg("memory").query(&mut connection).expect("INFO works");
            let line = text.lines().find_map(|line| line.strip_prefix("used_memory:"));
            line.and_then(|bytes| bytes.trim().parse::<u64>().ok()).expect("it says so")
        };
        let (mut last, mut same) = (used(), 0);
        for _ in 0..TRIES {
            sleep(PAUSE);
            let now = used();
            // Tables that are being moved, and buffers of callers, come and go.
            same = if now.abs_diff(last) < 4_096 { same + 1 } else { 0 };
            last = now;
            if same == 10 {
                break;
            }
        }
        last
    }

    pub fn keys(&self, database: u8) -> usize {
        redis::cmd("DBSIZE").query(&mut self.connection(database)).expect("DBSIZE works")
    }

    pub fn forget_all(&self) {
        redis::cmd("FLUSHALL").exec(&mut self.connection(0)).expect("FLUSHALL works");
    }
}

/// The unit of /proc on every Linux of today.
const TICKS_PER_SECOND: f64 = 100.0;

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
