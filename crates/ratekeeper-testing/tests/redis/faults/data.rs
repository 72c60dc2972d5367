//! What the store holds goes away or goes bad, while the store itself is well.
//!
//! Invariant: no rule falls back on its policy for outages, and no other key notices.

use super::fleet::{BURST, Fault, Fleet, RATE, ms, turn};
use ratekeeper::outage::Class;
use ratekeeper_testing::servers::wire::Reply;
use ratekeeper_testing::servers::{Kind, Server};
use std::time::Duration;

/// Long enough that a machine that is busy with something else is no outage.
const PATIENT: Duration = Duration::from_millis(500);

/// How often a command was carried out.
fn count_of(server: &Server, command: &str) -> u64 {
    let stats = server.text(&["INFO", "commandstats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:")));
    let calls = line.and_then(|line| line.strip_prefix("calls=")?.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

/// Goal: who empties the store gives every key one burst, and no answer is nonsense.
/// Method: `FLUSHALL` once, under load.
#[test]
fn a_store_that_is_emptied_gives_away_one_burst() {
    let server = Server::start(Kind::Redis);
    let _turn = turn();
    let fleet = Fleet::with(&server.url(), 3, PATIENT);
    let load = fleet.load(&["alice", "bob"]);
    load.go_on(ms(1_500));
    let start = load.now();
    server.ask(&["FLUSHALL"]);
    let end = load.now();
    load.go_on(ms(1_500));
    let history = load.stop();
    fleet.judge(&history, &Fault { time: start..end, loses: true });
    assert_eq!(history.count(|call| !call.is_stored()), 0, "{:?}", fleet.witness);
    let admitted =
        history.only(|call| call.rule == "open" && call.key == "bob").count(|call| call.allowed);
    let least = 2 * BURST + RATE * 2;
    assert!(admitted as u64 > least, "the burst was given: {admitted} admitted");
}

/// Goal: scripts that the server forgets are brought again, once by each limiter, and nobody notices.
/// Method: `SCRIPT FLUSH` every 100 ms for three seconds under load; count whole scripts.
#[test]
fn scripts_that_are_forgotten_are_brought_again_once_each() {
    let server = Server::start(Kind::Redis);
    let _turn = turn();
    let fleet = Fleet::with(&server.url(), 3, PATIENT);
    fleet.wait_for_store();
    let load = fleet.load(&["alice", "bob"]);
    load.go_on(ms(300));
    let (start, before) = (load.now(), count_of(&server, "eval"));
    let flushes = load.each(ms(100), ms(3_000), || _ = server.ask(&["SCRIPT", "FLUSH"]));
    let end = load.now();
    load.go_on(ms(300));
    let history = load.stop();
    let whole = count_of(&server, "eval") - before;
    fleet.judge(&history, &Fault { time: start..end, loses: false });
    let without = history.count(|call| !call.is_stored());
    assert_eq!(without, 0, "{:?}", fleet.witness);
    let most = u64::from(flushes) * fleet.nodes.len() as u64;
    assert!(whole <= most, "{whole} whole scripts after {flushes} flushes, at most {most}");
    assert!(whole >= u64::from(flushes) / 2, "they were forgotten: {whole}, {flushes}");
}

/// Goal: a key that holds something else is refused, by the store; no other key notices, and nobody
/// can open a door by spoiling a key.
/// Method: find the name of a key, put a list there, then text, under load; then delete it.
#[test]
fn a_key_that_holds_something_else_is_refused_and_no_other() {
    let server = Server::start(Kind::Redis);
    let _turn = turn();
    let fleet = Fleet::with(&server.url(), 2, PATIENT);
    for rule in ["open", "closed", "local"] {
        let rule = fleet.nodes[0].rule(rule).unwrap();
        fleet.runtime.block_on(async { assert!(rule.check("eve").cost(BURST).await.is_allowed()) });
    }
    let names = server.ask(&["SCAN", "0", "COUNT", "1000"]).list().remove(1).list();
    assert_eq!(names.len(), 3, "a bucket for each rule: {names:?}");
    let load = fleet.load(&["alice", "eve"]);
    let mut bad = Vec::new();
    for spoil in ["LPUSH", "SET"] {
        for name in names.iter().map(Reply::text) {
            // In one step: the load writes the key whenever it is not there.
            let script = "redis.call('DEL', KEYS[1]); return redis.call(ARGV[1], KEYS[1], 'xx')";
            server.ask(&["EVAL", script, "1", &name, spoil]);
        }
        let start = load.now();
        load.go_on(ms(1_000));
        bad.push(start..load.now());
        names.iter().for_each(|name| _ = server.ask(&["DEL", &name.text()]));
        load.go_on(ms(500));
    }
    let history = load.stop();
    assert_eq!(history.count(|call| !call.is_stored()), 0, "{:?}", fleet.witness);
    let spoilt = |asked, answered| bad.iter().any(|bad| bad.start <= asked && answered < bad.end);
    let eve = history.only(|call| call.key == "eve");
    let refused = eve.only(|call| spoilt(call.asked, call.answered));
    assert!(refused.calls.len() > 1_000, "{} calls", refused.calls.len());
    assert_eq!(refused.count(|call| call.allowed || call.remaining > 0), 0);
    let after = eve.only(|call| call.asked > bad[1].end);
    assert!(after.count(|call| call.allowed) > 100, "it is admitted again");
    assert_eq!(fleet.witness.classes(), [Class::BadValue]);
    let others = history.only(|call| call.key == "alice");
    fleet.judge(&others, &Fault { time: ms(0)..ms(0), loses: false });
    for rule in ["open", "closed", "local"] {
        let admitted = others.count(|call| call.rule == rule && call.allowed) as f64;
        let due = BURST as f64 + RATE as f64 * history.took.as_secs_f64();
        assert!(admitted >= 0.95 * due, "{rule}: {admitted} of {due}");
    }
}
