//! `redis-cli`: checks, versions of the protocol, and batches.
//!
//! Invariant: replies are compared as a whole.

use crate::places::same;
use crate::server::Server;
use crate::shell::{batch, cli};
use std::fmt::Write;

/// Checks in one batch.
const MANY: usize = 500;

/// Goal: `redis-cli` is all that is needed to ask.
/// Method: a greeting, then one more check than the limit admits, and a look; every place of every reply.
#[test]
fn redis_cli_is_told_what_is_allowed_and_what_is_not() {
    let server = Server::new("rules: [{id: api, key: user, limit: 3/minute}]");
    assert_eq!(cli(&server, &["PING"]).lines(), ["PONG"]);
    let check = || cli(&server, &["RK.CHECK", "api", "ann"]);
    assert_eq!(check().lines(), ["1", "3", "2", "-1", "20000", "-1", "store", ""]);
    same(&check().lines(), &["1", "3", "1", "-1", "<=40000", "-1", "store", ""]);
    same(&check().lines(), &["1", "3", "0", "-1", "<=60000", "-1", "store", ""]);
    same(&check().lines(), &["0", "3", "0", "<=20000", "<=60000", "-1", "store", ""]);
    let peek = cli(&server, &["RK.PEEK", "api", "ann"]);
    same(&peek.lines()[..3], &["1", "3", "0"]);
    let never = cli(&server, &["RK.CHECK", "api", "bob", "COST", "4"]);
    assert_eq!(never.lines(), ["0", "3", "3", "-2", "0", "-1", "store", ""]);
    assert_eq!(cli(&server, &["RK.RESET", "api", "ann"]).lines(), ["OK"]);
    assert_eq!(check().lines()[..3], ["1", "3", "2"]);
}

/// Goal: whoever asks in a way that cannot be answered is told what to send, and can go on.
/// Method: unknown names, a key of too few parts, and after them a command that is fine, on one connection.
#[test]
fn redis_cli_is_told_what_to_send_instead() {
    let server = Server::new("rules: [{id: api, key: [user, path], limit: 3/minute}]");
    let asked = "RK.CHECK nope ann\nRK.CHECK api ann\nGET ann\nRK.CHECK api ann /x TIER\nRK.CHECK api ann /x\n";
    let said = batch(&server, &[], asked.as_bytes());
    let lines: Vec<&str> = said.lines().into_iter().filter(|line| !line.is_empty()).collect();
    let errors = [
        "ERR no rule is named `nope`; the rules are api",
        "ERR the rule counts by 2 parts, and the key has 1; send one after the other",
        "ERR unknown command 'GET'; see COMMAND LIST",
        "ERR 'TIER' has no value; send COST or TIER and one",
    ];
    assert_eq!(lines[..4], errors);
    assert_eq!(lines[4..], ["1", "3", "2", "-1", "20000", "-1", "store"]);
}

/// Goal: the third version of the protocol has the same answers.
/// Method: `redis-cli -3` with a permit, with none, and with a map.
#[test]
fn redis_cli_speaks_the_third_version() {
    let server = Server::new(
        "rules: [{id: api, key: user, limit: 3/minute}, {id: jobs, key: user, limit: 1 concurrent}]",
    );
    let ask = |words: &[&str]| cli(&server, &[&["-3"], words].concat());
    assert_eq!(
        ask(&["RK.CHECK", "api", "ann"]).lines(),
        ["1", "3", "2", "-1", "20000", "-1", "store", ""]
    );
    let hello = ask(&["HELLO", "3"]);
    assert!(hello.lines().contains(&"proto 3"), "{hello:?}");
    let held = ask(&["RK.CHECK", "jobs", "ann"]);
    let permit = held.lines()[7].to_owned();
    assert_eq!((held.lines()[0], permit.len()), ("1", 16));
    assert_eq!(ask(&["RK.CHECK", "jobs", "ann"]).lines()[0], "0");
    assert_eq!(ask(&["RK.RELEASE", &permit]).lines(), ["1"]);
    assert_eq!(ask(&["RK.CHECK", "jobs", "ann"]).lines()[0], "1");
}

/// Goal: what was reserved is settled, and what was cancelled is given back.
/// Method: two reservations by `redis-cli`, and what is left after each step.
#[test]
fn redis_cli_reserves_and_settles() {
    let server = Server::new("rules: [{id: tokens, key: user, limit: 1000/day}]");
    let left = || cli(&server, &["RK.PEEK", "tokens", "ann"]).lines()[2].to_owned();
    let reserve =
        || cli(&server, &["RK.RESERVE", "tokens", "ann", "COST", "400"]).lines()[8].to_owned();
    let (first, second) = (reserve(), reserve());
    assert_eq!(left(), "200");
    let refused = cli(&server, &["RK.RESERVE", "tokens", "ann", "COST", "400"]);
    assert_eq!((refused.lines()[0], refused.lines()[8]), ("0", ""));
    assert_eq!(cli(&server, &["RK.SETTLE", &first, "150"]).lines(), ["1"]);
    assert_eq!(left(), "450");
    assert_eq!(cli(&server, &["RK.CANCEL", &second]).lines(), ["1"]);
    assert_eq!(left(), "850");
    assert_eq!(cli(&server, &["RK.CANCEL", &second]).lines(), ["0"], "it was cancelled once");
}

/// Goal: a batch of any length is answered to its last command.
/// Method: `redis-cli --pipe` with many checks in one stream; then what is left.
#[test]
fn redis_cli_sends_a_batch_through_its_pipe() {
    let server = Server::new("rules: [{id: api, key: user, limit: 1000/day}]");
    let mut stream = String::new();
    for _ in 0..MANY {
        write!(stream, "*3\r\n$8\r\nRK.CHECK\r\n$3\r\napi\r\n$3\r\nann\r\n").unwrap();
    }
    let said = batch(&server, &["--pipe"], stream.as_bytes());
    assert_eq!(said.lines().last(), Some(&&*format!("errors: 0, replies: {MANY}")));
    same(&cli(&server, &["RK.PEEK", "api", "ann"]).lines()[..3], &["1", "1000", "500"]);
}

/// Goal: while the store is away each rule fails as it says, and the reply tells it.
/// Method: a store where nobody listens, and a rule of each kind; throttles pass.
#[test]
fn redis_cli_is_told_that_the_store_is_away() {
    let rules = "store: redis://127.0.0.1:1/0\nrules:\n  - {id: open, key: user, limit: 3/minute}\n  \
                 - {id: closed, key: user, limit: 3/minute, on_store_failure: deny}";
    let server = Server::new(rules);
    let open = cli(&server, &["RK.CHECK", "open", "ann"]);
    assert_eq!(open.lines(), ["1", "-1", "-1", "-1", "-1", "-1", "failed_open", ""]);
    let closed = cli(&server, &["RK.CHECK", "closed", "ann"]);
    assert_eq!(closed.lines(), ["0", "-1", "-1", "1000", "-1", "-1", "failed_closed", ""]);
    assert_eq!(
        cli(&server, &["CL.THROTTLE", "ann", "2", "3", "60"]).lines(),
        ["0", "3", "0", "-1", "0"]
    );
    assert_eq!(
        cli(&server, &["THROTTLE", "ann", "3", "3", "60"]).lines(),
        ["1", "3", "0", "0", "0"]
    );
}
