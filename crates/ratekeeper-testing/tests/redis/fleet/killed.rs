//! Four processes, killed with -9 and paused at times that a seed says.
//!
//! Invariant: none of them is left behind.

use crate::faults::fleet::turn;
use ratekeeper::rule::file::RuleFile;
use ratekeeper_server::audit::{self, Check, History, Outcome, Rulebook, Source};
use ratekeeper_testing::processes::Plan;
use ratekeeper_testing::servers::{Kind, Server};
use std::io::BufReader;
use std::path::Path;

const NODES: u32 = 4;
const SECONDS: u64 = 8;
const KEYS: u64 = 2;

/// A rule for each algorithm that polices, counted exactly and by leases, each asked for more than it admits; and one
/// that never is. A share of those that lease is five units, so that four servers may admit twenty too many.
const RULES: &str = "
store: {url: 'redis://127.0.0.1:6379/0', deadline: 250ms}
rules:
  - {id: fixed, key: user, limit: 30/second, algorithm: fixed_window, on_store_failure: deny}
  - {id: log, key: user, limit: 30/second, algorithm: sliding_window_log, on_store_failure: deny}
  - {id: counter, key: user, limit: 30/second, algorithm: sliding_window_counter, on_store_failure: deny}
  - {id: token, key: user, limit: 30/second burst 10, on_store_failure: deny}
  - {id: leaky, key: user, limit: 30/second burst 10, algorithm: leaky_bucket, on_store_failure: deny}
  - {id: l-fixed, key: user, limit: 400/8s, algorithm: fixed_window, consistency: leased, on_store_failure: deny}
  - {id: l-log, key: user, limit: 400/8s, algorithm: sliding_window_log, consistency: leased, on_store_failure: deny}
  - {id: l-counter, key: user, limit: 400/8s, algorithm: sliding_window_counter, consistency: leased,
     on_store_failure: deny}
  - {id: l-token, key: user, limit: 10/second burst 400, consistency: leased, on_store_failure: deny}
  - {id: l-leaky, key: user, limit: 10/second burst 400, algorithm: leaky_bucket, consistency: leased,
     on_store_failure: deny}
  - {id: light, key: user, limit: 2000/second, on_store_failure: deny}
";

fn plan(server: &Server, seed: u64) -> Plan {
    let rules = server.dir().join("rules.yaml");
    std::fs::write(&rules, RULES).unwrap();
    Plan {
        program: env!("CARGO_BIN_EXE_rk-node").into(),
        url: server.url(),
        rules,
        folder: server.dir().to_owned(),
        nodes: NODES as usize,
        seed,
        seconds: SECONDS,
        rate: 800,
        keys: KEYS,
    }
}

/// Goal: whatever happens to processes, in no interval more is admitted than one limiter alone would admit, under every
/// algorithm that polices, and under those that lease a share for each server more; nobody is refused who has not
/// used it up, and waits that are told are true.
/// Method: four processes over a real server for eight seconds, killed, started again, stopped and continued; each
/// decision is written down by the process that has it, and all of them are judged by `ratekeeper audit`.
#[test]
fn a_fleet_that_is_killed_and_paused_admits_no_more_than_it_says() {
    let server = Server::start(Kind::Redis);
    let file = server.dir().join("history");
    // Others measure latencies.
    let _turn = turn();
    let told = plan(&server, 4_711).run(&file).unwrap();
    assert!(told.kills >= 3 && told.pauses >= 3, "{told:?}");
    assert_eq!(told.pids.len(), NODES as usize + told.kills as usize);
    for pid in &told.pids {
        assert!(!Path::new(&format!("/proc/{pid}/stat")).exists(), "process {pid} is still there");
    }
    let mut from = BufReader::new(std::fs::File::open(file).unwrap());
    let history = History::read("history", &mut from).unwrap();
    let count =
        |name: &str| history.episodes.iter().filter(|own| own.name.starts_with(name)).count();
    assert_eq!([count("kill"), count("pause")], [told.kills as usize, told.pauses as usize]);
    let rules = RuleFile::parse(RULES).unwrap();
    let report = audit::judge(&history, &Rulebook::new(&rules, Some(NODES))).unwrap();
    assert!(report.is_kept(), "{:#?}", report.findings);
    assert!(report.count(Check::Envelope).judged > 0 && report.count(Check::Refusals).judged > 0);
    let by = |source| report.ended(Outcome::Allow, Some(source));
    assert!(by(Source::Lease) > 500, "{} were admitted by leases", by(Source::Lease));
    assert_eq!(by(Source::FailedOpen) + by(Source::Local) + by(Source::Overflow), 0);
    for rule in rules.rules.rules.iter().map(|rule| &*rule.id) {
        let of_rule = || history.records().filter(move |own| own.rule == rule);
        let refused = of_rule().filter(|own| own.outcome == Outcome::Deny);
        let refused = refused.filter(|own| own.source != Source::FailedClosed).count();
        assert_eq!(refused > 0, rule != "light", "{rule}: {refused} refused");
    }
    assert_eq!(report.over_admission.len(), 5, "{:?}", report.over_admission);
    for own in &report.over_admission {
        assert!(own.measured <= own.bound && own.bound == 20, "{own:?}");
    }
}
