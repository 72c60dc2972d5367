//! Connections whose peers are slow, many or too much.

use crate::program;
use crate::server::Server;
use crate::wire::{connect, is_ended, read_reply, request, send};
use ratekeeper_server::serve::Bounds;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub(crate) const ALICE: &str = r#"{"rule":"token-bucket","key":"alice"}"#;

/// A bound short enough to wait for.
pub(crate) const SHORT: Duration = Duration::from_millis(200);

/// A bound that no test reaches.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// A check in two pieces, the second so long.
pub(crate) fn pieces(second: usize) -> (String, String) {
    let mut first = request("POST /v1/check", "", ALICE);
    let second = first.split_off(first.len() - second);
    (first, second)
}

/// Cut within the body.
pub(crate) const IN_BODY: usize = 10;

/// Cut within the header.
pub(crate) const IN_HEADER: usize = ALICE.len() + 10;

/// Goal: a header that never ends holds no connection.
/// Method: send half a header, as the first of a connection and as a later one; beside it, connections on
/// which nothing comes.
#[test]
fn a_header_that_does_not_come_ends_the_connection() {
    let slow = |stream: &mut TcpStream| {
        stream.write_all(b"POST /v1/check HTTP/1.1\r\nHost: lo").expect("the connection is open");
    };
    let server = Server::with(Bounds { header: SHORT, idle: LONG, ..Bounds::default() });
    let mut first = connect(server.address);
    slow(&mut first);
    let mut later = connect(server.address);
    later.write_all(request("GET /livez", "", "").as_bytes()).expect("the connection is open");
    assert_eq!(read_reply(&mut later).status, 200);
    slow(&mut later);
    assert!(is_ended(&mut first) && is_ended(&mut later));
    let server = Server::with(Bounds { header: LONG, idle: SHORT, ..Bounds::default() });
    let mut silent = connect(server.address);
    let mut idle = connect(server.address);
    idle.write_all(request("GET /livez", "", "").as_bytes()).expect("the connection is open");
    assert_eq!(read_reply(&mut idle).status, 200);
    assert!(is_ended(&mut silent), "silent");
    assert!(is_ended(&mut idle), "idle");
}

/// Goal: the preface of HTTP/2 has no more time than a header.
/// Method: send it letter by letter, each well within the bound; it is ended before it is through.
#[test]
fn a_preface_letter_by_letter_ends_the_connection() {
    let server = Server::with(Bounds { header: SHORT, idle: LONG, ..Bounds::default() });
    let mut slow = connect(server.address);
    let written = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r".iter().take_while(|byte| {
        std::thread::sleep(SHORT / 4);
        slow.write_all(&[**byte]).is_ok()
    });
    let count = written.count();
    assert!(count < 23, "all letters were taken");
}

/// Goal: a connection that was put away goes on where it was, and an answer that takes long is not idle.
/// Method: a rest of nothing: requests with pauses between them and within; a stream of events beyond the bound
/// of idle ones.
#[test]
fn a_connection_that_rests_goes_on() {
    let rest = Duration::from_millis(1);
    let server = Server::with(Bounds { rest, ..Bounds::default() });
    let mut stream = connect(server.address);
    let mut ask = |pieces: &[&str]| {
        for piece in pieces {
            std::thread::sleep(20 * rest);
            stream.write_all(piece.as_bytes()).expect("the connection is open");
        }
        assert_eq!(read_reply(&mut stream).status, 200);
    };
    for cut in [IN_HEADER, IN_BODY, 0] {
        let (first, second) = pieces(cut);
        ask(&[&first, &second]);
    }
    let server = Server::with(Bounds { rest, header: SHORT, ..Bounds::default() });
    let mut slow = connect(server.address);
    slow.write_all(request("GET /livez", "", "").as_bytes()).expect("the connection is open");
    assert_eq!(read_reply(&mut slow).status, 200);
    std::thread::sleep(20 * rest);
    slow.write_all(b"GET /livez HT").expect("the connection is open");
    assert!(is_ended(&mut slow), "a header after a rest may take as long as any");

    let server = Server::with(Bounds { rest, idle: SHORT, ..Bounds::default() });
    let mut events = connect(server.address);
    events.write_all(request("GET /v1/stream", "", "").as_bytes()).expect("the connection is open");
    let mut text = String::new();
    while text.matches("data:").count() < 3 {
        let mut piece = [0; 4096];
        let count = events.read(&mut piece).expect("events come");
        assert!(count > 0, "the stream is cut: {text}");
        text.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
}

/// Goal: an answer that its peer takes late is taken whole, although nothing else happens meanwhile.
/// Method: more answers than the system keeps between us; a long rest; then all of them are read.
#[test]
fn an_answer_that_is_taken_late_is_whole() {
    let rest = Duration::from_millis(1);
    let server = Server::with(Bounds { rest, ..Bounds::default() });
    let mut stream = connect(server.address);
    let (ask, last) = (
        request("GET /openapi.json", "", ""),
        request("GET /openapi.json", "Connection: close\r\n", ""),
    );
    let body = send(server.address, &ask).body;
    let count = (8 << 20) / body.len();
    let mut writer = stream.try_clone().expect("a socket can be shared");
    let asks = ask.repeat(count) + &last;
    let asking = std::thread::spawn(move || writer.write_all(asks.as_bytes()));
    std::thread::sleep(SHORT);
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("all answers come");
    asking.join().expect("no panic").expect("all was asked");
    assert_eq!(answers.matches(&body).count(), count + 1);
}

/// Goal: who opens many connections keeps nobody else out, and has room again when some end.
/// Method: as many as one address may have, one more, and one less.
#[test]
fn connections_of_one_address_are_bounded() {
    let server = Server::with(Bounds { per_address: 3, ..Bounds::default() });
    let ask = |stream: &mut TcpStream| {
        stream.write_all(request("GET /livez", "", "").as_bytes()).expect("the connection is open");
        assert_eq!(read_reply(stream).status, 200);
    };
    let mut open: Vec<TcpStream> = (0..3).map(|_| connect(server.address)).collect();
    open.iter_mut().for_each(ask);
    assert!(is_ended(&mut connect(server.address)), "the fourth is closed");
    drop(open.pop());
    let again = || {
        let mut stream = connect(server.address);
        let _ = stream.write_all(request("GET /livez", "", "").as_bytes());
        let mut first = [0; 1];
        stream.read_exact(&mut first).ok()
    };
    assert!(program::poll(again).is_some(), "there is room for another");
    open.iter_mut().for_each(ask);
}

/// Goal: a body that never ends is answered with 408 and holds no connection.
/// Method: send a whole header and half a body, with a short bound for the pause, then for the whole.
#[test]
fn a_body_that_does_not_come_is_answered_with_408() {
    let pause = Bounds { body: SHORT, ..Bounds::default() };
    let whole = Bounds { request: SHORT, ..Bounds::default() };
    let paused = "nothing of the body came for 0.2 s; send it in one go";
    let took = "the request took longer than 0.2 s; send it faster";
    for (bounds, detail) in [(pause, paused), (whole, took)] {
        let server = Server::with(bounds);
        let mut stream = connect(server.address);
        stream.write_all(pieces(IN_BODY).0.as_bytes()).expect("the connection is open");
        let reply = read_reply(&mut stream);
        assert_eq!((reply.status, reply.json()["detail"].as_str()), (408, Some(detail)));
        assert!(is_ended(&mut stream));
    }
}

/// Goal: a peer that asks without reading the answers loses its connection.
/// Method: send requests until sending fails.
#[test]
fn a_peer_that_does_not_read_loses_its_connection() {
    let server = Server::with(Bounds { write: SHORT, ..Bounds::default() });
    let mut stream = connect(server.address);
    let many = request("GET /livez", "", "").repeat(1_000);
    let sent = (0..100_000).try_for_each(|_| stream.write_all(many.as_bytes()));
    let error = sent.expect_err("nobody takes so many").kind();
    assert!(matches!(error, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{error:?}");
}

/// Goal: too many header fields, or too large ones, are refused with 431.
/// Method: one more than allowed, and a field of 16 KiB; beside them the most that is allowed.
#[test]
fn a_header_that_is_too_large_is_refused_with_431() {
    let server = Server::start();
    let fields = |count: usize| "A: b\r\n".repeat(count - 2);
    assert_eq!(send(server.address, &request("GET /livez", &fields(64), "")).status, 200);
    assert_eq!(send(server.address, &request("GET /livez", &fields(65), "")).status, 431);
    let field = |size: usize| format!("A: {}\r\n", "b".repeat(size));
    assert_eq!(send(server.address, &request("GET /livez", &field(16_000), "")).status, 200);
    assert_eq!(send(server.address, &request("GET /livez", &field(16_384), "")).status, 431);
}

/// Goal: a request line that is too long is refused with 414.
/// Method: as long as allowed, and one byte more.
#[test]
fn a_request_line_that_is_too_long_is_refused_with_414() {
    let server = Server::start();
    let ask = |length: usize| {
        let line = format!("GET /livez?{}", "x".repeat(length - "GET/livez?".len()));
        send(server.address, &request(&line, "", "")).status
    };
    assert_eq!((ask(8_192), ask(8_193)), (200, 414));
}

/// Goal: a request has one host, and that of its target is the one (RFC 9112, 3.2).
/// Method: none, two, and another in the target than in the field, where the host decides who may look.
#[test]
fn a_request_has_one_host() {
    let server = Server::start();
    let ask = |target: &str, fields: &str| {
        let text = format!("GET {target} HTTP/1.1\r\n{fields}\r\n");
        send(server.address, &text).status
    };
    assert_eq!(ask("/livez", "Host: a\r\n"), 200);
    assert_eq!((ask("/livez", ""), ask("/livez", "Host: a\r\nHost: a\r\n")), (400, 400));
    assert_eq!(ask("http://example.org/v1/rules", "Host: localhost\r\n"), 403);
    assert_eq!(ask("http://localhost/v1/rules", "Host: example.org\r\n"), 200);
    assert_eq!(send(server.address, "GET /livez HTTP/1.0\r\n\r\n").status, 200);
}

/// Goal: connections beyond the bound wait, and are served when others end.
/// Method: a bound of two; the third connection's request is answered only after one has ended.
#[test]
fn connections_beyond_the_bound_wait_for_their_turn() {
    let server = Server::with(Bounds { connections: 2, ..Bounds::default() });
    let live = request("GET /livez", "", "");
    let ask = |stream: &mut TcpStream| {
        stream.write_all(live.as_bytes()).expect("the connection is open");
        read_reply(stream).status
    };
    let (mut first, mut second) = (connect(server.address), connect(server.address));
    assert_eq!((ask(&mut first), ask(&mut second)), (200, 200));

    let mut third = connect(server.address);
    third.write_all(live.as_bytes()).expect("the system takes it");
    third.set_read_timeout(Some(SHORT)).expect("a timeout can be set");
    let waits = third.peek(&mut [0]).expect_err("nobody answers yet").kind();
    assert!(matches!(waits, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{waits:?}");

    drop(first);
    third.set_read_timeout(Some(crate::wire::DEADLINE)).expect("a timeout can be set");
    assert_eq!(read_reply(&mut third).status, 200);
}
