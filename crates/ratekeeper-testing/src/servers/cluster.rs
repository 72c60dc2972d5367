//! A cluster of servers, made by hand: slots given out, introduced to each other, replicas in step.
//!
//! Invariant: when it is returned, every server says that the cluster is well, and every replica has
//! caught up: one that never has is never promoted.

use super::{Kind, Server, wait_until};

const SLOTS: usize = 16_384;

/// Masters, and replicas behind them.
#[derive(Debug)]
pub struct Cluster {
    /// The masters first, in the order of their slots; then the replicas, in the order of their masters.
    pub nodes: Vec<Server>,
    masters: usize,
}

impl Cluster {
    /// So many masters, each with so many replicas; a master that is gone is missed after a second.
    pub fn start(kind: Kind, masters: usize, replicas: usize) -> Cluster {
        Cluster::with(kind, masters, replicas, &[])
    }

    /// The same with further options for each server.
    pub fn with(kind: Kind, masters: usize, replicas: usize, options: &[&str]) -> Cluster {
        let nodes: Vec<Server> =
            (0..masters * (1 + replicas)).map(|_| node(kind, options)).collect();
        let cluster = Cluster { nodes, masters };
        cluster.introduce();
        cluster.give_out_slots();
        cluster.follow();
        for node in &cluster.nodes {
            node.wait_until("the cluster is well", || {
                // Without full coverage a server is well also before it knows who has the other slots.
                let info = node.text(&["CLUSTER", "INFO"]);
                info.contains("cluster_state:ok")
                    && info.contains("cluster_slots_ok:16384")
                    && cluster.knows_all(node)
                    && !node.text(&["INFO", "replication"]).contains("master_link_status:down")
            });
        }
        cluster
    }

    /// `redis-cluster://` with all masters.
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.masters().iter().map(Server::address).collect();
        format!("redis-cluster://{}", addresses.join(","))
    }

    /// The masters as they were at the start.
    pub fn masters(&self) -> &[Server] {
        &self.nodes[..self.masters]
    }

    /// The identity of a node.
    pub fn id(&self, node: usize) -> String {
        self.nodes[node].text(&["CLUSTER", "MYID"])
    }

    fn introduce(&self) {
        let first = self.nodes[0].port().to_string();
        for node in &self.nodes[1..] {
            node.ask(&["CLUSTER", "MEET", "127.0.0.1", &first]);
        }
        let all = || self.nodes.iter().all(|node| self.knows_all(node));
        wait_until("all servers know each other", all);
    }

    fn knows_all(&self, node: &Server) -> bool {
        let known = format!("cluster_known_nodes:{}", self.nodes.len());
        node.text(&["CLUSTER", "INFO"]).contains(&known)
    }

    fn give_out_slots(&self) {
        for (number, node) in self.masters().iter().enumerate() {
            let first = number * SLOTS / self.masters;
            let last = (number + 1) * SLOTS / self.masters - 1;
            node.ask(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        }
    }

    fn follow(&self) {
        for (number, node) in self.nodes.iter().enumerate().skip(self.masters) {
            let master = self.id(number % self.masters);
            node.wait_until("it knows its master", || {
                node.text(&["CLUSTER", "NODES"]).contains(&master)
                    && super::wire::ask(node.port(), &["CLUSTER", "REPLICATE", &master])
                        .is_ok_and(|reply| reply.text() == "OK")
            });
        }
    }
}

fn node(kind: Kind, options: &[&str]) -> Server {
    let cluster = [
        "--cluster-enabled",
        "yes",
        "--cluster-config-file",
        "nodes.conf",
        "--cluster-node-timeout",
        "1000",
        "--cluster-require-full-coverage",
        "no",
        "--repl-diskless-sync-delay",
        "0",
        "--repl-ping-replica-period",
        "1",
    ];
    Server::with(kind, &[&cluster[..], options].concat())
}
