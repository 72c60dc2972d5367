//! A store that is away: killed, hanging, cut off again and again, or not there at the start.
//!
//! Invariant: answers keep coming, by the policy of each rule, until it is back.

use super::fleet::{Fault, Fleet, OPENS, RECOVERY, SECRET, ms, turn};
use ratekeeper::outage::Class;
use ratekeeper::{Algorithm, Limit, Limiter, Source};
use ratekeeper_testing::load::{Load, Offer, Witness};
use ratekeeper_testing::servers::{Kind, Server, wire};

/// Goal: a store that crashes and comes back empty gives away one burst, and is used again at once.
/// Method: three limiters under load; kill it, start it again after a second and a half.
#[test]
fn a_store_that_is_killed_and_comes_back_empty_gives_away_one_burst() {
    let mut server = Server::with(Kind::Redis, &["--requirepass", SECRET]);
    let _turn = turn();
    let fleet = Fleet::new(&format!("redis://:{SECRET}@{}/0", server.address()), 3);
    let load = fleet.load(&["alice", "bob"]);
    load.go_on(ms(1_500));
    let start = load.now();
    server.kill();
    let gone = load.now();
    load.go_on(ms(1_500));
    let before = load.now();
    server.restart();
    let end = load.now();
    load.go_on(ms(3_500));
    let history = load.stop();
    fleet.judge(&history, &Fault { time: start..end, loses: true });
    fleet.judge_outage(&history, &(gone + OPENS..before));
    fleet.judge_recovery(&history, end, RECOVERY);
    fleet.judge_classes(&[Class::Connection]);
}

/// Goal: a store that hangs is left alone, and what it answers later is taken for no other answer.
/// Method: stop its process for two seconds under load. Beside the usual rules, keys of which each
/// algorithm keeps something else, and keys that are only looked at: they are whole for ever.
#[test]
fn a_store_that_hangs_is_left_alone_and_its_late_answers_are_nobody_elses() {
    let server = Server::start(Kind::Redis);
    let _turn = turn();
    let fleet = Fleet::new(&server.url(), 3);
    let others = (Algorithm::ALL, Witness::default());
    let mut builder = Limiter::redis(server.url().parse().unwrap()).observer(others.1.clone());
    for algorithm in others.0 {
        let limit = Limit::per_second(50).algorithm(algorithm);
        builder = builder.rule(&algorithm.to_string(), limit).unwrap();
    }
    let other = builder.build();
    let offer = |algorithm: Algorithm, key: &str, cost| {
        let rule = other.rule(&algorithm.to_string()).unwrap();
        Offer { node: 0, rule, key: key.into(), cost, every: ms(10) }
    };
    let busy = others.0.map(|algorithm| offer(algorithm, "busy", 1));
    let idle = others.0.map(|algorithm| offer(algorithm, "idle", 0));
    let mixed = Load::start(fleet.runtime.handle(), [busy, idle].concat());
    let load = fleet.load(&["alice", "bob"]);
    load.go_on(ms(1_000));
    let start = load.now();
    server.signal("STOP");
    let stopped = load.now();
    load.go_on(ms(2_000));
    let end = load.now();
    server.signal("CONT");
    load.go_on(ms(3_500));
    let (history, mixed) = (load.stop(), mixed.stop());
    fleet.judge(&history, &Fault { time: start..end, loses: false });
    fleet.judge_outage(&history, &(stopped + OPENS..end));
    fleet.judge_recovery(&history, end, RECOVERY);
    fleet.judge_classes(&[Class::Timeout, Class::Connection]);
    assert_eq!(others.1.count(Class::Alien), 0, "{:?}", others.1.texts());
    let looks = mixed.only(|call| call.key == "idle" && call.source == Source::Store);
    assert!(looks.count(|call| call.asked > end) > 100, "it answers after the fault");
    for look in &looks.calls {
        assert_eq!(look.remaining, look.limit, "the answer of another call: {look:?}");
    }
}

/// Goal: connections that are cut again and again cost hardly any answer.
/// Method: `CLIENT KILL` every 100 ms for three seconds under load.
#[test]
fn a_storm_of_lost_connections_costs_hardly_any_answer() {
    let server = Server::start(Kind::Redis);
    let _turn = turn();
    let fleet = Fleet::with(&server.url(), 3, ms(100));
    fleet.wait_for_store();
    let load = fleet.load(&["alice", "bob"]);
    load.go_on(ms(500));
    let start = load.now();
    let mut killed = 0;
    load.each(ms(100), ms(3_000), || {
        killed += server.ask(&["CLIENT", "KILL", "TYPE", "normal"]).number();
    });
    let end = load.now();
    load.go_on(ms(1_500));
    let history = load.stop();
    assert!(killed >= 60, "connections were lost: {killed}");
    fleet.judge(&history, &Fault { time: start..end, loses: false });
    let during = history.only(|call| call.is_in(&(start..end)));
    let without = during.count(|call| !call.is_stored());
    let all = during.calls.len();
    assert!(without * 100 <= all, "{without} of {all} without: {:?}", fleet.witness);
    fleet.judge_recovery(&history, end, ms(200) * 2);
}

/// Goal: a limiter can be built, and answers by policy, while there is no store; then it uses it.
/// Method: a server's port without the server; half a second later, the server.
#[test]
fn without_a_store_at_the_start_it_answers_by_policy_until_there_is_one() {
    let mut server = Server::start(Kind::Redis);
    server.kill();
    assert!(wire::ask(server.port(), &["PING"]).is_err(), "nobody is there");
    let _turn = turn();
    let fleet = Fleet::new(&server.url(), 3);
    let load = fleet.load(&["alice", "bob"]);
    load.go_on(ms(1_500));
    let before = load.now();
    server.restart();
    let end = load.now();
    load.go_on(ms(3_500));
    let history = load.stop();
    fleet.judge(&history, &Fault { time: ms(0)..end, loses: false });
    fleet.judge_outage(&history, &(ms(0)..before));
    fleet.judge_recovery(&history, end, RECOVERY);
    fleet.judge_classes(&[Class::Connection]);
}
