//! Calls about many rules, on a server with one thread to answer all.
//!
//! Invariant: nobody waits for them but who asked; what is told is the order of answers, not their time.

use crate::live::{call, daily, put};
use crate::program::poll;
use crate::server::Server;
use crate::wire::{Reply, connect, read_reply, request, send};
use ratekeeper_server::reload::CALLS_MAX;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};

/// Enough that reading them takes a hundred times as long as a decision.
const MANY: usize = 5_000;

/// Others that have to be answered meanwhile. Where all wait for one another, there are one or two.
const OTHERS: usize = 5;

fn many(limit: u32) -> String {
    let rules = (0..MANY).map(|number| {
        format!("  - {{id: r{number}, match: {{path: /p{number}}}, key: ip, limit: 5/minute}}\n")
    });
    daily(limit) + &rules.collect::<String>()
}

/// Sends a call, and does something else, again and again, until its answer is there; how often, and the answer.
fn meanwhile(address: SocketAddr, bytes: &str, other: impl Fn() -> Reply) -> (usize, Reply) {
    let mut stream = connect(address);
    stream.write_all(bytes.as_bytes()).expect("the call can be sent");
    let mut count = 0;
    while !is_answered(&stream) {
        let reply = other();
        assert_eq!(reply.status, 200, "{}", reply.body);
        count += 1;
    }
    (count, read_reply(&mut stream))
}

fn is_answered(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("it can be set");
    let seen = stream.peek(&mut [0]);
    stream.set_nonblocking(false).expect("it can be set");
    match seen {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
            false
        }
    }
}

/// Goal: whoever asks about many rules, or changes them, holds up nobody who wants a decision.
/// Method: each call on a server with one thread; while its answer is not there, decisions on another connection,
/// counted.
#[test]
fn calls_about_many_rules_hold_nobody_up() {
    let server = Server::on_one_thread(&daily(1_000_000));
    let large = many(1_000_001);
    let reply = call(server.address, "PUT /v1/rules", "", &large);
    assert_eq!(reply.status, 200, "{}", reply.body);
    let json = "Content-Type: application/json\r\n";
    let request_of = r#"{"request":{"method":"GET","path":"/p7","ip":"192.0.2.7"}}"#;
    let own = r#"{"rule":"api","key":"acme","limit":"5000/day"}"#;
    for (line, fields, body) in [
        ("GET /v1/rules", "", ""),
        ("GET /v1/rules", "Accept: application/yaml\r\n", ""),
        ("GET /v1/overrides", "", ""),
        ("POST /v1/rules/validate", "", &*large),
        ("POST /v1/rules/diff", "", &*large),
        ("POST /v1/rules/explain", json, request_of),
        ("PUT /v1/rules", "", &*large),
        ("PUT /v1/rules/r7", json, r#"{"key":"ip","limit":"6/minute"}"#),
        ("DELETE /v1/rules/r7", "", ""),
        ("PUT /v1/overrides", json, own),
        ("POST /v1/releases/2/restore", "", ""),
    ] {
        let mut stream = connect(server.address);
        let question = request("POST /v1/check", json, r#"{"rule":"api","key":"alice"}"#);
        let bytes = request(line, fields, body);
        let ask = std::cell::RefCell::new(&mut stream);
        let (count, reply) = meanwhile(server.address, &bytes, || {
            let mut stream = ask.borrow_mut();
            stream.write_all(question.as_bytes()).expect("the question goes out");
            read_reply(&mut stream)
        });
        assert_eq!(reply.status, 200, "{line}: {}", &reply.body[..reply.body.len().min(500)]);
        // A text that is there as it is, and a walk that is soon over, leave no time for so many.
        let takes_long = !fields.contains("application/yaml") && !line.ends_with("explain");
        assert!(!takes_long || count >= OTHERS, "{line}: {count} decisions meanwhile");
    }
}

/// Goal: a switch is in effect at once, also while many rules are made ready.
/// Method: send them, and while that is not answered, turn a switch to and fro, each time with a look at a decision.
#[test]
fn a_switch_waits_for_no_change() {
    let server = Server::on_one_thread(&daily(1));
    assert_eq!(crate::live::ask(server.address, "alice", 1)["allowed"], true);
    let turn = || {
        for (rollout, allowed) in [("off", true), ("100%", false)] {
            let body = format!(r#"{{"rollout":"{rollout}"}}"#);
            let reply = put(server.address, "/v1/switches/api", &body);
            assert_eq!(reply.status, 200, "{}", reply.body);
            assert_eq!(crate::live::ask(server.address, "alice", 1)["allowed"], allowed);
        }
        put(server.address, "/v1/switches/api", "null")
    };
    let bytes = request("PUT /v1/rules", "", &many(1));
    let (count, reply) = meanwhile(server.address, &bytes, turn);
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(count >= OTHERS, "{count} turns meanwhile");
}

/// Goal: only so many calls about rules are under way at a time, with what they send; who comes beyond that is told
/// so, and when to come again; switches and decisions are no such calls.
/// Method: callers that send the beginning of a body and no more; then another call, until they have gone.
#[test]
fn calls_about_rules_are_bounded() {
    let server = Server::on_one_thread(&daily(1));
    let head = "PUT /v1/rules HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nrules";
    let waiting: Vec<TcpStream> = (0..CALLS_MAX)
        .map(|_| {
            let mut stream = connect(server.address);
            stream.write_all(head.as_bytes()).expect("it can be sent");
            stream
        })
        .collect();
    let get = || send(server.address, &request("GET /v1/rules", "", ""));
    let refused = poll(|| Some(get()).filter(|reply| reply.status != 200));
    let refused = refused.expect("there is no place left before the deadline");
    assert_eq!(
        (refused.status, refused.field("retry-after")),
        (503, Some("1")),
        "{}",
        refused.body
    );
    assert!(refused.body.contains("nothing has changed"), "{}", refused.body);
    assert_eq!(put(server.address, "/v1/switches/api", r#"{"rollout":"off"}"#).status, 200);
    assert_eq!(crate::live::ask(server.address, "alice", 1)["allowed"], true);
    drop(waiting);
    assert!(poll(|| (get().status == 200).then_some(())).is_some(), "there are places again");
}
