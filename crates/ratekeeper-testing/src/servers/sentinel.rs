//! One master, one replica and three sentinels.
//!
//! Invariant: when they are returned, the sentinels know each other and the replica, which has caught
//! up.

use super::{Kind, Server, free_port, wire};
use std::fs;

/// The name of the master.
pub(super) const MASTER: &str = "rk";

/// Servers and those who watch them.
#[derive(Debug)]
pub struct Sentinels {
    /// The master at the start, then the replica.
    pub servers: Vec<Server>,
    /// Three that watch.
    pub sentinels: Vec<Server>,
}

impl Sentinels {
    /// Starts all; a master that is gone is missed after a second.
    pub fn start(kind: Kind) -> Sentinels {
        let quick = ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"];
        let master = Server::with(kind, &quick);
        let port = master.port().to_string();
        let replica =
            Server::with(kind, &[&["--replicaof", "127.0.0.1", &port][..], &quick].concat());
        replica.wait_until("the replica has caught up", || {
            replica.text(&["INFO", "replication"]).contains("master_link_status:up")
        });
        let sentinels: Vec<Server> = (0..3).map(|_| sentinel(kind, &port)).collect();
        for sentinel in &sentinels {
            sentinel.wait_until("the sentinels agree", || {
                wire::ask(sentinel.port(), &["SENTINEL", "CKQUORUM", MASTER])
                    .is_ok_and(|reply| reply.text().starts_with("OK 3"))
                    && sentinel
                        .text(&["SENTINEL", "REPLICAS", MASTER])
                        .contains(&replica.port().to_string())
            });
        }
        Sentinels { servers: vec![master, replica], sentinels }
    }

    /// `redis-sentinel://` with all sentinels.
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.sentinels.iter().map(Server::address).collect();
        format!("redis-sentinel://{}/{MASTER}", addresses.join(","))
    }
}

fn sentinel(kind: Kind, master: &str) -> Server {
    let port = free_port();
    let dir = super::scratch(port);
    let config = dir.join("sentinel.conf");
    let lines = [
        format!("port {port}"),
        "bind 127.0.0.1".into(),
        format!("sentinel monitor {MASTER} 127.0.0.1 {master} 2"),
        format!("sentinel down-after-milliseconds {MASTER} 1000"),
        format!("sentinel failover-timeout {MASTER} 5000"),
    ];
    fs::write(&config, lines.join("\n") + "\n").expect("the folder can be written");
    Server::run_in(
        kind.program(),
        port,
        vec![config.display().to_string(), "--sentinel".into()],
        dir,
    )
}
