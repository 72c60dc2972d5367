//! The server among peers that are slow, many or gone, and when it is asked to stop.

use crate::golden::assert_golden;
use crate::program::{self, Program};
use crate::server::Server;
use crate::wire::{check, connect, is_ended, read_reply, request, send};
use ratekeeper_server::serve::Bounds;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

const ALICE: &str = r#"{"rule":"token-bucket","key":"alice"}"#;

/// A bound short enough to wait for.
const SHORT: Duration = Duration::from_millis(200);

/// A bound that no test reaches.
const LONG: Duration = Duration::from_secs(3600);

/// A check in two pieces, the second so long.
fn pieces(second: usize) -> (String, String) {
    let mut first = request("POST /v1/check", "", ALICE);
    let second = first.split_off(first.len() - second);
    (first, second)
}

/// Cut within the body.
const IN_BODY: usize = 10;

/// Cut within the header.
const IN_HEADER: usize = ALICE.len() + 10;

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

/// Goal: at the limit of open files the server waits and goes on; it neither ends nor spins.
/// Method: a low limit while the program runs; more connections than that; its one warning; then room.
#[test]
fn a_server_out_of_file_descriptors_goes_on() {
    let server = Program::serve();
    let id = server.id().to_string();
    let lowered = Command::new("prlimit").args(["--nofile=32:32", "--pid", &id]).status();
    assert!(lowered.is_ok_and(|status| status.success()), "the limit is lowered");

    let crowd: Vec<_> = (0..40).map(|_| connect(server.address)).collect();
    let warning = server.err.recv_timeout(crate::wire::DEADLINE).expect("it warns");
    let warning: serde_json::Value = serde_json::from_str(&warning).expect("the log is JSON");
    assert_eq!(warning["level"], "WARN");
    let text = "cannot accept connections, trying on; raise `ulimit -n`";
    assert_eq!(warning["message"], text, "{warning}");
    let before = server.computed();
    let second = server.err.recv_timeout(2 * SHORT);
    assert!(second.is_err(), "it warns once while it lasts: {second:?}");
    let computed = server.computed() - before;
    assert!(computed < 20, "of 40 hundredths of a second it computes for {computed}");
    drop(crowd);
    assert_eq!(send(server.address, &request("GET /livez", "", "")).status, 200);
}

/// Goal: SIGTERM and SIGINT end the program with exit code 0, and with order: idle connections end,
/// the request under way is answered, nothing new is accepted.
/// Method: an idle connection, a silent one and two requests in part; the signal; the other parts.
#[test]
fn a_signal_stops_the_program_once_the_request_under_way_is_answered() {
    for signal in ["TERM", "INT"] {
        let mut server = Program::serve();
        let mut idle = connect(server.address);
        idle.write_all(request("GET /livez", "", "").as_bytes()).expect("the connection is open");
        assert_eq!(read_reply(&mut idle).status, 200);
        let mut silent = connect(server.address);
        let busy = [IN_BODY, IN_HEADER].map(|cut| {
            let (first, second) = pieces(cut);
            let mut stream = connect(server.address);
            stream.write_all(first.as_bytes()).expect("the connection is open");
            (stream, second)
        });
        // Accepted in order: once this one is answered, those before it are the server's.
        assert_eq!(check(server.address, ALICE).status, 200);

        server.signal(signal);
        assert!(program::closes(server.address), "{signal}: nothing new is accepted");
        assert!(is_ended(&mut idle) && is_ended(&mut silent), "{signal}: idle ones end");
        for (mut stream, second) in busy {
            stream.write_all(second.as_bytes()).expect("the connection is still open");
            let reply = read_reply(&mut stream);
            assert_eq!(reply.status, 200, "{signal}: what is under way is answered");
            assert!(is_ended(&mut stream), "{signal}: and then it ends");
        }
        let status = server.ended().expect("the program ends");
        assert_eq!(status.code(), Some(0), "{signal}");
        let last = server.last_words();
        assert_eq!(last, "stopping: requests under way have 10.0 s to finish\nstopped\n");
    }
}

/// Goal: a request that never ends does not keep the server from stopping.
/// Method: half a header and half a body, a short drain, and the end of both.
#[test]
fn a_request_that_never_ends_is_cut_when_the_server_stops() {
    // The peers have all the time they want, if it were not for the end.
    let (header, body, request) = (LONG, LONG, LONG);
    let bounds = Bounds { drain: SHORT, header, body, request, ..Bounds::default() };
    let mut server = Server::with(bounds);
    let mut header = connect(server.address);
    header.write_all(pieces(IN_HEADER).0.as_bytes()).expect("the connection is open");
    let mut body = connect(server.address);
    body.write_all(pieces(IN_BODY).0.as_bytes()).expect("the connection is open");
    assert_eq!(check(server.address, ALICE).status, 200);

    server.stop();
    assert!(server.closes() && server.is_over());
    assert!(is_ended(&mut header) && is_ended(&mut body));
}

/// Goal: the banner says what runs where, and what to try.
/// Method: the golden file, with the port put back to the default one.
#[test]
fn the_banner_says_what_runs_where() {
    let server = Program::serve();
    let banner = server.banner.join("\n").replace(&server.address.to_string(), "127.0.0.1:PORT");
    assert_golden("banner.txt", &format!("{banner}\n"));
}

/// Goal: an address that cannot be had is an error with its repair, exit code 2, and no banner.
/// Method: a port in use, an address of another machine, and slips of the keyboard.
#[test]
fn an_address_that_cannot_be_had_is_told_with_its_repair() {
    let holder = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let taken = holder.local_addr().expect("a listener has an address").to_string();
    let repair = "write an address and a port, such as `--listen 127.0.0.1:8080`";
    let table = [
        (&*taken, "another program has this port; stop it, or choose another port with `--listen "),
        ("192.0.2.1:80", "this machine does not have that address; write one it has, such as "),
        ("8080", repair),
        ("127.0.0.1", repair),
        ("127.0.0.1:70000", repair),
        ("", repair),
    ];
    for (listen, text) in table {
        let output = program::output(&["serve", "--listen", listen]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.starts_with(&format!("error: cannot listen on `{listen}`: ")), "{error}");
        assert!(error.contains(text), "{error}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{listen}");
    }
}

/// Goal: a reader of the banner who goes away does not take the server along.
/// Method: read where it listens and close its stdout; it still answers, and says goodbye to nobody.
#[test]
fn a_server_whose_output_is_closed_goes_on() {
    let mut server = Program::serve();
    server.close_output();
    assert_eq!(check(server.address, ALICE).status, 200);
    server.signal("TERM");
    let status = server.ended().expect("the program ends");
    assert_eq!(status.code(), Some(0));
}
