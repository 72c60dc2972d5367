//! Shaping: the gateway is kept waiting until its client's turn.

use super::forwarded;
use crate::program::poll;
use crate::server::Server;
use crate::wire::{check, connect, read_reply, request};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const RULES: &str = "
identity: {trusted_proxies: [127.0.0.1]}
rules:
  - {id: paced, key: ip, limit: 1/second burst 5, algorithm: leaky_bucket, mode: shaping}
";

/// Asks, and waits until the server has it in line: `behind` others are before it.
fn stand(server: &Server, behind: u64) -> TcpStream {
    let mut stream = connect(server.address);
    let bytes = request("GET /v1/authorize", &forwarded("/", "192.0.2.1"), "");
    stream.write_all(bytes.as_bytes()).expect("the request can be sent");
    assert!(poll(|| (left(server) == 5 - behind - 1).then_some(())).is_some(), "it is in line");
    stream
}

/// Units that are left of the burst.
fn left(server: &Server) -> u64 {
    let body = r#"{"request":{"method":"GET","path":"/","ip":"192.0.2.1"},"cost":0}"#;
    check(server.address, body).json()["remaining"].as_u64().expect("a figure")
}

/// Whether nothing has come yet.
fn waits(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("it can be asked");
    let waits =
        matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
    stream.set_nonblocking(false).expect("it can be asked");
    waits
}

/// Goal: requests pass one by one at the pace of the rule, in the order in which they came.
/// Method: four of them; each step of the clock lets one pass and no other.
#[test]
fn requests_are_held_until_their_turn_in_order() {
    let server = Server::by(RULES);
    let mut streams: Vec<TcpStream> = (0..4).map(|number| stand(&server, number)).collect();
    for turn in 0..4 {
        if turn > 0 {
            assert!(streams[turn..].iter_mut().all(waits), "nobody passes before turn {turn}");
            server.clock.advance(Duration::from_secs(1));
        }
        assert_eq!(read_reply(&mut streams[turn]).status, 200);
    }
}

/// Goal: a gateway that hangs up leaves no gap: whoever is behind moves up.
/// Method: three in line; the second hangs up, and the third has its turn.
#[test]
fn who_hangs_up_frees_its_place() {
    let server = Server::by(RULES);
    let mut first = stand(&server, 0);
    assert_eq!(read_reply(&mut first).status, 200);
    let second = stand(&server, 1);
    let mut third = stand(&server, 2);
    drop(second);
    assert!(poll(|| (left(&server) == 3).then_some(())).is_some(), "its unit is back");
    assert!(waits(&mut third));
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(read_reply(&mut third).status, 200, "a second earlier than it was told first");
}

/// Goal: a line that is full refuses at once, with the time to come back.
/// Method: one more than the burst.
#[test]
fn who_finds_the_line_full_is_refused_at_once() {
    let server = Server::by(RULES);
    let streams: Vec<TcpStream> = (0..5).map(|number| stand(&server, number)).collect();
    let reply = super::get(&server, "/", "192.0.2.1");
    assert_eq!((reply.status, reply.field("retry-after")), (429, Some("1")));
    assert_eq!(
        super::get(&server, "/", "192.0.2.2").status,
        200,
        "another client has its own line"
    );
    drop(streams);
}
