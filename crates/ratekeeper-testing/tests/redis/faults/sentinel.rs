//! A master that sentinels watch: lost, replaced, and back as a replica.
//!
//! Invariant: decisions come from the one that the sentinels call the master.

use super::fleet::{Fault, Fleet, OPENS, ms, turn};
use ratekeeper::outage::Class;
use ratekeeper_testing::load::Call;
use ratekeeper_testing::servers::{Kind, Sentinels, wait_until};

/// Goal: after a failover the new master is used, and the old one is not, whatever it says of itself.
/// Method: kill the master under load, wait for the replica to be promoted, and start the old one,
/// first as the empty master that it believes to be, then as a replica.
#[test]
fn the_master_that_sentinels_promote_is_used() {
    let mut all = Sentinels::start(Kind::Redis);
    let _turn = turn();
    let fleet = Fleet::new(&all.url(), 3);
    fleet.wait_for_store();
    let load = fleet.load(&["alice", "bob"]);
    load.go_on(ms(1_000));
    let start = load.now();
    all.servers[0].kill();
    let gone = load.now();
    let replica = &all.servers[1];
    wait_until("the replica is promoted", || {
        let known = all.sentinels.iter().filter(|sentinel| {
            sentinel
                .text(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "rk"])
                .contains(&replica.port().to_string())
        });
        replica.text(&["ROLE"]).starts_with("master") && known.count() == 3
    });
    let end = load.now();
    load.go_on(ms(2_500));
    let port = replica.port().to_string();
    let back = load.now();
    all.servers[0].restart();
    load.go_on(ms(500));
    all.servers[0].ask(&["REPLICAOF", "127.0.0.1", &port]);
    load.go_on(ms(1_000));
    let used = all.servers[0].text(&["INFO", "commandstats"]);
    let history = load.stop();
    fleet.judge(&history, &Fault { time: start..end, loses: true });
    fleet.judge_outage(&history, &(gone + OPENS..gone + ms(900)));
    fleet.judge_recovery(&history, end, ms(3_000));
    let classes = [Class::Connection, Class::ReadOnly, Class::Unavailable];
    fleet.judge_classes(&classes);
    let later = history.only(|call| call.asked > back);
    let stored = later.count(Call::is_stored);
    assert!(stored * 100 >= later.calls.len() * 99, "{stored} of {}", later.calls.len());
    assert!(!used.contains("cmdstat_evalsha"), "the old master was asked: {used}");
}
