//! HTTP/2 on the API: spoken, and bounded whatever a peer sends.
//!
//! Frames are written by hand where a client would not send them (RFC 9113, 4.1 and 6).

use crate::server::Server;
use crate::wire::{DEADLINE, check, connect, is_ended, request, send};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ratekeeper_server::serve::Bounds;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A bound short enough to wait for.
const SHORT: Duration = Duration::from_millis(200);

/// Kinds of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// Flags of frames.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `GET http://localhost/livez`, by indices of the static table and two literals (RFC 7541).
const LIVEZ: &[u8] = b"\x82\x86\x04\x06/livez\x01\x09localhost";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A connection that has begun with these settings.
fn begin(address: SocketAddr, settings: &[u8]) -> TcpStream {
    let mut stream = connect(address);
    let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    hello.extend(frame(SETTINGS, 0, 0, settings));
    stream.write_all(&hello).expect("the connection is open");
    stream
}

/// Writes for as long as the peer takes it.
fn flood(stream: &mut TcpStream, frames: impl Iterator<Item = Vec<u8>>) -> usize {
    frames.take_while(|frame| stream.write_all(frame).is_ok()).count()
}

/// The next frame of this kind; its flags and payload.
fn next(stream: &mut TcpStream, wanted: u8) -> (u8, Vec<u8>) {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).expect("a frame comes");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).expect("its payload comes");
        if head[3] == wanted {
            return (head[4], payload);
        }
    }
}

/// Whether the server says with which fault the connection ends.
fn is_told(stream: &mut TcpStream, fault: u32) -> bool {
    let (_, payload) = next(stream, GOAWAY);
    payload[4..8] == fault.to_be_bytes()
}

/// Goal: whoever speaks HTTP/2 gets the same answers, many at a time, and the host it names is the host.
/// Method: a real client: a hundred checks on one connection; administration, which heeds the host.
#[test]
fn the_api_speaks_it() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(ask_all(server.address));
}

async fn ask_all(address: SocketAddr) {
    let stream = tokio::net::TcpStream::connect(address).await.expect("it goes well");
    let build = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (sender, connection) = build.handshake(TokioIo::new(stream)).await.expect("it goes well");
    let connection = tokio::spawn(connection);
    let ask = |method: &str, url: &str, body: &'static str| {
        let request = hyper::Request::builder().method(method).uri(url);
        let body = Full::new(Bytes::from_static(body.as_bytes()));
        let (mut sender, request) = (sender.clone(), request.body(body).expect("it goes well"));
        async move {
            let answer = sender.send_request(request).await.expect("it goes well");
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await.expect("it goes well").to_bytes();
            (status, String::from_utf8(body.to_vec()).expect("it goes well"))
        }
    };
    let alice = r#"{"rule":"token-bucket","key":"alice"}"#;
    let asking: Vec<_> =
        (0..100).map(|_| tokio::spawn(ask("POST", "http://localhost/v1/check", alice))).collect();
    let mut allowed = 0;
    for asked in asking {
        let (status, body) = asked.await.expect("it goes well");
        assert_eq!(status, 200, "{body}");
        allowed += usize::from(body.starts_with(r#"{"allowed":true"#));
    }
    assert_eq!(allowed, 10);
    assert_eq!(ask("GET", "http://localhost/v1/rules", "").await.0, 200);
    assert_eq!(ask("GET", "http://example.org/v1/rules", "").await.0, 403);
    drop(sender);
    connection.abort();
}

/// Goal: a peer that opens and resets requests over and over loses its connection (CVE-2023-44487), and
/// nobody else notices.
/// Method: thousands of pairs of frames; what the server says; another caller.
#[test]
fn a_flood_of_resets_ends_the_connection() {
    let server = Server::start();
    let mut stream = begin(server.address, b"");
    let pair = |number: u32| {
        let mut bytes = frame(HEADERS, END_HEADERS | END_STREAM, number, LIVEZ);
        bytes.extend(frame(RST_STREAM, 0, number, &8_u32.to_be_bytes()));
        bytes
    };
    // All at once, so that none is answered before it is reset.
    let all: Vec<u8> = (0..2_000).flat_map(|index| pair(2 * index + 1)).collect();
    let _ = stream.write_all(&all);
    assert!(is_told(&mut stream, 11), "ENHANCE_YOUR_CALM");
    assert!(is_ended(&mut stream));
    assert_eq!(send(server.address, &request("GET /livez", "", "")).status, 200);
}

/// Goal: a header that goes on and on in CONTINUATION frames ends the connection (RUSTSEC-2024-0332).
/// Method: a header that never ends, up to 64 MiB: the server stops to take it long before.
#[test]
fn a_header_without_an_end_ends_the_connection() {
    let server = Server::start();
    let mut stream = begin(server.address, b"");
    stream.write_all(&frame(HEADERS, END_STREAM, 1, LIVEZ)).expect("the connection is open");
    let mut line = b"\x00\x01a\x7f\x7e".to_vec();
    line.extend([b'b'; 253]);
    let piece = frame(CONTINUATION, 0, 1, &line.repeat(60));
    let most = (64 << 20) / piece.len();
    assert!(flood(&mut stream, std::iter::repeat_n(piece, most)) < most, "it takes all of it");
    assert!(is_ended(&mut stream));
    assert_eq!(send(server.address, &request("GET /livez", "", "")).status, 200);
}

/// Goal: a header that is too large, or has too many fields, is refused with 431.
/// Method: 64 fields and 65; 17 KiB.
#[test]
fn a_header_that_is_too_large_is_refused() {
    let server = Server::start();
    let mut stream = begin(server.address, b"");
    let mut ask = |number: u32, lines: &[u8]| {
        let header = [LIVEZ, lines].concat();
        let ask = frame(HEADERS, END_HEADERS | END_STREAM, number, &header);
        stream.write_all(&ask).expect("the connection is open");
        next(&mut stream, HEADERS).1
    };
    let lines = |count: usize| b"\x00\x01a\x01b".repeat(count);
    // The field `Host` is one of them.
    assert_eq!(ask(1, &lines(63))[0], 0x88, "200 by its index");
    let status = |header: &[u8], status: &[u8]| header.windows(3).any(|own| own == status);
    let refused = ask(3, &lines(65));
    assert!(status(&refused, b"431") || refused.contains(&0x83), "{refused:x?}");
    let long = [b"\x00\x01a\x7f\x7e".as_slice(), &[b'c'; 253]].concat();
    let refused = ask(5, &long.repeat(60));
    assert_ne!(refused[0], 0x88, "{refused:x?}");
}

/// Goal: more requests at a time than are allowed are refused, each by itself.
/// Method: what the server says that it takes; one request more than that, none of which ends.
#[test]
fn requests_of_one_connection_are_bounded() {
    let server = Server::start();
    let mut stream = begin(server.address, b"");
    let (_, settings) = next(&mut stream, SETTINGS);
    let most = settings.chunks(6).find(|own| own[..2] == [0, 3]).expect("it says how many");
    assert_eq!(most[2..], 128_u32.to_be_bytes());
    let check = b"\x83\x86\x04\x09/v1/check\x01\x09localhost";
    // The peer has to know the bound before it can be held to it.
    stream.write_all(&frame(SETTINGS, 1, 0, b"")).expect("the connection is open");
    for index in 0..129 {
        let ask = frame(HEADERS, END_HEADERS, 2 * index + 1, check);
        stream.write_all(&ask).expect("the connection is open");
    }
    let (_, reason) = next(&mut stream, RST_STREAM);
    assert_eq!(reason, 7_u32.to_be_bytes(), "REFUSED_STREAM");
}

/// Goal: a peer that only says that it is there, or does not take its answers, does not hold its connection.
/// Method: short bounds; pings, and a window of nothing.
#[test]
fn a_connection_without_work_ends() {
    let bounds = Bounds { idle: SHORT, drain: SHORT, ..Bounds::default() };
    let server = Server::with(bounds);
    let mut pings = begin(server.address, b"");
    pings.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout can be set");
    let ended = crate::program::poll(|| {
        let sent = pings.write_all(&frame(PING, 0, 0, b"are-you?"));
        let mut bytes = [0; 4096];
        (sent.is_err() || pings.read(&mut bytes).is_ok_and(|count| count == 0)).then_some(())
    });
    assert!(ended.is_some(), "pings hold the connection");

    let mut shut = begin(server.address, b"\x00\x04\x00\x00\x00\x00");
    let ask = frame(HEADERS, END_HEADERS | END_STREAM, 1, LIVEZ);
    shut.write_all(&ask).expect("the connection is open");
    assert_eq!(next(&mut shut, HEADERS).1[0], 0x88, "it is answered");
    shut.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
    assert!(is_ended(&mut shut), "an answer that is not taken holds the connection");
}

/// Goal: an old connection ends, and what is under way on it is answered.
/// Method: a short age; a request whose body comes after the server has said that it takes no more.
#[test]
fn an_old_connection_ends_in_order() {
    let bounds = Bounds { age: SHORT, idle: SHORT, ..Bounds::default() };
    let server = Server::with(bounds);
    let mut stream = begin(server.address, b"");
    let check = b"\x83\x86\x04\x09/v1/check\x01\x09localhost";
    stream.write_all(&frame(HEADERS, END_HEADERS, 1, check)).expect("the connection is open");
    let (_, first) = next(&mut stream, GOAWAY);
    assert_eq!(first[4..8], [0; 4], "without a fault");
    let body = br#"{"rule":"token-bucket","key":"alice"}"#;
    stream.write_all(&frame(DATA, END_STREAM, 1, body)).expect("the connection is open");
    assert_eq!(next(&mut stream, HEADERS).1[0], 0x88, "200 by its index");
    assert!(is_ended(&mut stream));
    let left = check_left(server.address);
    assert_eq!(left, 8, "it was charged once");
}

/// What `alice` has left after one more.
fn check_left(address: SocketAddr) -> u64 {
    let alice = r#"{"rule":"token-bucket","key":"alice"}"#;
    check(address, alice).json()["remaining"].as_u64().expect("a number")
}

/// Goal: an answer of which its peer takes nothing is given up, though the peer takes others on the same
/// connection.
/// Method: no room for any answer; a page is asked for, and pings go on so that the connection moves; the
/// page is reset.
#[test]
fn an_answer_that_is_not_taken_ends_alone() {
    let server = Server::with(Bounds { write: SHORT, ..Bounds::default() });
    // SETTINGS_INITIAL_WINDOW_SIZE of 0.
    let mut stream = begin(server.address, &[0, 4, 0, 0, 0, 0]);
    stream.write_all(&frame(HEADERS, END_STREAM | END_HEADERS, 1, LIVEZ)).unwrap();
    let (_, fields) = next(&mut stream, HEADERS);
    assert!(!fields.is_empty(), "its header needs no room");
    let mut number = 3;
    stream.set_read_timeout(Some(SHORT / 4)).unwrap();
    let reset = crate::program::poll(|| {
        // Another request, whose answer is reset by us: something moves.
        stream.write_all(&frame(HEADERS, END_STREAM | END_HEADERS, number, LIVEZ)).ok()?;
        stream.write_all(&frame(RST_STREAM, 0, number, &[0, 0, 0, 8])).ok()?;
        number += 2;
        let mut head = [0; 9];
        while stream.read_exact(&mut head).is_ok() {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            stream.read_exact(&mut payload).ok()?;
            if head[3] == RST_STREAM && head[8] == 1 {
                return Some(());
            }
        }
        None
    });
    assert!(reset.is_some(), "the page is given up");
}
