//! A store that is there and refuses to write: a replica, or one whose memory is full.
//!
//! Invariant: that is an outage like any other, and ends when the store writes again.

use super::fleet::{Fault, Fleet, OPENS, RECOVERY, ms, turn};
use ratekeeper::outage::Class;
use ratekeeper_testing::servers::{Kind, Server, free_port};

/// Goal: a master that was made a replica is no store, until it is a master again.
/// Method: `REPLICAOF` a port where nobody is, under load, and back.
#[test]
fn a_master_that_was_made_a_replica_is_away_until_it_is_one_again() {
    let server = Server::start(Kind::Redis);
    let _turn = turn();
    let fleet = Fleet::new(&server.url(), 3);
    let load = fleet.load(&["alice", "bob"]);
    load.go_on(ms(1_000));
    let start = load.now();
    server.ask(&["REPLICAOF", "127.0.0.1", &free_port().to_string()]);
    let replica = load.now();
    load.go_on(ms(1_500));
    let before = load.now();
    server.ask(&["REPLICAOF", "NO", "ONE"]);
    let end = load.now();
    load.go_on(ms(3_500));
    let history = load.stop();
    fleet.judge(&history, &Fault { time: start..end, loses: false });
    fleet.judge_outage(&history, &(replica + OPENS..before));
    fleet.judge_recovery(&history, end, RECOVERY);
    fleet.judge_classes(&[Class::ReadOnly, Class::Connection]);
}

/// Goal: a server whose memory is full is away, but no connection to it is given up.
/// Method: give it next to no memory, under load, and take that back; count connections.
#[test]
fn a_store_without_memory_is_away_and_connections_stay() {
    let server = Server::start(Kind::Redis);
    let _turn = turn();
    // A connection is given up for a late answer, too, which is not what is counted here.
    let fleet = Fleet::with(&server.url(), 3, ms(200));
    fleet.wait_for_store();
    let load = fleet.load(&["alice", "bob"]);
    load.go_on(ms(1_000));
    let connections = || {
        let stats = server.text(&["INFO", "stats"]);
        let count = stats.lines().find_map(|l| l.strip_prefix("total_connections_received:"));
        count.unwrap().trim().parse::<u64>().unwrap()
    };
    let known = connections();
    let start = load.now();
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let full = load.now();
    load.go_on(ms(1_500));
    let before = load.now();
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    let end = load.now();
    load.go_on(ms(3_500));
    // Two for the settings, and one to count.
    assert_eq!(connections() - known, 3, "connections were made anew");
    let history = load.stop();
    fleet.judge(&history, &Fault { time: start..end, loses: false });
    fleet.judge_outage(&history, &(full + OPENS..before));
    fleet.judge_recovery(&history, end, RECOVERY);
    fleet.judge_classes(&[Class::Unavailable]);
}
