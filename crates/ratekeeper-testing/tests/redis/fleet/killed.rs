//! Four processes, killed with -9 and paused at times that a seed says.
//!
//! Invariant: none of them is left behind.

use super::envelope::{AMOUNT, HEAVY, RULES, judge};
use crate::faults::fleet::turn;
use ratekeeper::Source;
use ratekeeper_testing::processes::{Plan, Recorded};
use ratekeeper_testing::servers::{Kind, Server};
use std::path::Path;

const NODES: usize = 4;
const SECONDS: u64 = 8;
const KEYS: u64 = 2;

fn plan(server: &Server, seed: u64) -> Plan {
    let rules = server.dir().join("rules.yaml");
    std::fs::write(&rules, RULES).unwrap();
    Plan {
        program: env!("CARGO_BIN_EXE_rk-node").into(),
        url: server.url(),
        rules,
        folder: server.dir().to_owned(),
        nodes: NODES,
        seed,
        seconds: SECONDS,
        rate: 200,
        keys: KEYS,
    }
}

/// Goal: whatever happens to processes, in no interval more is admitted than one limiter alone would admit,
/// under every algorithm that polices; and nobody is refused by the store who has not used it up.
/// Method: four processes over a real server for eight seconds, killed, started again, stopped and continued;
/// each decision is written down by the process that has it. The heavy rules are asked for more than twice
/// what they admit; the light one never is.
#[test]
fn a_fleet_that_is_killed_and_paused_admits_no_more_than_the_limit() {
    let server = Server::start(Kind::Redis);
    let file = server.dir().join("history");
    // Others measure latencies.
    let _turn = turn();
    let told = plan(&server, 4_711).run(&file).unwrap();
    let recorded = Recorded::read(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(told.kills >= 3 && told.pauses >= 3, "{told:?}");
    assert_eq!(
        (recorded.kills, recorded.pauses),
        ((told.kills, told.kills), (told.pauses, told.pauses))
    );
    assert_eq!(told.pids.len(), NODES + told.kills as usize);
    for pid in &told.pids {
        assert!(!Path::new(&format!("/proc/{pid}/stat")).exists(), "process {pid} is still there");
    }
    let history = recorded.history().unwrap();
    let by_store = history.only(|call| call.source == Source::Store);
    let closed = history.count(|call| call.source == Source::FailedClosed && !call.allowed);
    assert_eq!(by_store.calls.len() + closed, history.calls.len(), "no other way to decide");
    for rule in HEAVY.into_iter().chain(["light"]) {
        let of_rule = by_store.only(|call| call.rule == rule);
        assert_eq!(of_rule.keys().len() as u64, KEYS, "{rule}");
        for key in of_rule.keys() {
            judge(&of_rule.only(|call| call.key == key));
        }
        let refused = of_rule.count(|call| !call.allowed);
        if rule == "light" {
            assert_eq!(refused, 0, "refused by the store without need");
        } else {
            assert!(refused > 0, "{rule} was asked for no more than it admits");
            let admitted: u64 =
                of_rule.calls.iter().filter(|call| call.allowed).map(|call| call.cost).sum();
            let least = KEYS * AMOUNT * SECONDS / 4;
            assert!(admitted >= least, "{rule}: {admitted} admitted, the least is {least}");
        }
    }
}
