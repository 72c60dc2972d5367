//! The program at its start, out of files, and when it is asked to stop.

use crate::connections::{ALICE, IN_BODY, IN_HEADER, LONG, SHORT, pieces};
use crate::golden::assert_golden;
use crate::program::{self, Program};
use crate::server::Server;
use crate::wire::{check, connect, is_ended, read_reply, request, send};
use ratekeeper_server::serve::Bounds;
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;

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
