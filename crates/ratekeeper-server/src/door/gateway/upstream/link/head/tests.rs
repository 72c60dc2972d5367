//! Heads of requests and answers, whole, cut anywhere, and broken.

use super::super::chunks::Chunks;
use super::super::sends::Sent;
use super::{Answer, Bad, Ends, FIELDS_MAX, read, write};
use axum::http::{Method, Request, StatusCode};
use bytes::BytesMut;
use http_body_util::{Either, Empty, Full};
use hyper::body::Bytes;
use hyper::ext::ReasonPhrase;
use proptest::prelude::*;

const CHUNKED: Ends = Ends::Chunks(Chunks::Size);

fn answer(wire: &str, method: &Method) -> Result<Option<Answer>, Bad> {
    read(&mut BytesMut::from(wire), method)
}

/// Where an answer with this status and these fields ends, and whether another may follow it.
fn ends(status: &str, fields: &str, method: &Method) -> Result<(Ends, bool), Bad> {
    let wire = format!("HTTP/1.1 {status}\r\n{fields}\r\n");
    answer(&wire, method)
        .map(|answer| answer.expect("it is whole"))
        .map(|own| (own.ends, own.lasts))
}

/// Goal: an answer ends where RFC 9112 (6.3) says, or is none.
/// Method: each way to say it, and each way to say it twice.
#[test]
fn an_answer_has_one_end() {
    let get = |fields: &str| ends("200 OK", fields, &Method::GET);
    assert_eq!(get(""), Ok((Ends::Close, false)));
    assert_eq!(get("Content-Length: 5\r\n"), Ok((Ends::After(5), true)));
    assert_eq!(get("Content-Length: 5, 5\r\ncontent-length:5\r\n"), Ok((Ends::After(5), true)));
    assert_eq!(get("Transfer-Encoding: Chunked\r\n"), Ok((CHUNKED, true)));
    assert_eq!(get("Content-Length: 5\r\nConnection: x, Close\r\n"), Ok((Ends::After(5), false)));
    let faults = [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: 5,\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 5x\r\n",
        "Content-Length:\r\n",
        "Content-Length: 18446744073709551616\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ];
    for fault in faults {
        assert_eq!(get(fault), Err(Bad), "{fault}");
    }
    for status in ["204 No Content", "304 Not Modified", "100 Continue"] {
        let none = ends(status, "Content-Length: 5\r\n", &Method::GET);
        assert_eq!(none, Ok((Ends::After(0), true)), "{status}");
    }
    let head = ends("200 OK", "Transfer-Encoding: chunked\r\n", &Method::HEAD);
    assert_eq!(head, Ok((Ends::After(0), true)));
}

/// Goal: an old server's connection is used again only if it says so, and never has chunks.
/// Method: HTTP/1.0 with and without the word.
#[test]
fn old_servers_close() {
    let old = |fields: &str| answer(&format!("HTTP/1.0 200 OK\r\n{fields}\r\n"), &Method::GET);
    let lasts = |fields: &str| old(fields).unwrap().unwrap().lasts;
    assert!(!lasts("Content-Length: 1\r\n"));
    assert!(lasts("Content-Length: 1\r\nConnection: keep-alive\r\n"));
    assert!(!lasts("Connection: keep-alive\r\n"), "its end is that of the connection");
    assert!(old("Transfer-Encoding: chunked\r\n").is_err());
}

/// Goal: an answer is the same however it comes, and what follows it is left.
/// Method: all cuts of one, with a field of every kind.
#[test]
fn an_answer_is_read_whole_or_not_at_all() {
    let wire =
        b"HTTP/1.1 299 Quite Fine\r\nA: 1\r\na:2\r\nEmpty:\r\nContent-Length: 2, 2\r\n\r\nok";
    let length = wire.len() - 2;
    for cut in 0..length {
        let mut part = BytesMut::from(&wire[..cut]);
        assert!(read(&mut part, &Method::GET).unwrap().is_none(), "{cut}");
        assert_eq!(part.len(), cut, "nothing is taken");
    }
    let mut all = BytesMut::from(&wire[..]);
    let Answer { response, ends, .. } = read(&mut all, &Method::GET).unwrap().unwrap();
    assert_eq!((&all[..], ends), (&b"ok"[..], Ends::After(2)));
    assert_eq!(response.status().as_u16(), 299);
    let reason = response.extensions().get::<ReasonPhrase>().unwrap();
    assert_eq!(reason.as_bytes(), b"Quite Fine");
    let fields: Vec<(&str, &[u8])> =
        response.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let one = ("content-length", &b"2"[..]);
    assert_eq!(fields, [("a", &b"1"[..]), ("a", b"2"), ("empty", b""), one]);
}

/// Goal: the number of fields has a bound, and what is no field is none.
/// Method: as many as there may be, and one more; names and values that are none.
#[test]
fn fields_have_a_bound() {
    let many = |count: usize| ends("200 OK", &"a: b\r\n".repeat(count), &Method::GET);
    assert!(many(FIELDS_MAX).is_ok());
    assert_eq!(many(FIELDS_MAX + 1), Err(Bad));
    for fault in ["a b: c\r\n", "a : c\r\n", ": c\r\n", "a: b\0\r\n", "a: b\r\n c\r\n"] {
        assert_eq!(ends("200 OK", fault, &Method::GET), Err(Bad), "{fault:?}");
    }
    assert!(answer("HTTP/2.0 200 OK\r\n\r\n", &Method::GET).is_err());
    assert!(answer("HTTP/1.1 20 OK\r\n\r\n", &Method::GET).is_err());
    assert!(answer("SSH-2.0-OpenSSH\r\n", &Method::GET).is_err());
}

/// Goal: a request is written with one way to say where it ends, whatever fields it came with.
/// Method: bodies with and without a length.
#[test]
fn a_request_says_once_where_it_ends() {
    let written = |fields: &[(&str, &str)], body: &'static str| {
        let mut request = Request::post("/a?b=c");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (full, empty) = (Full::new(Bytes::from(body)), Empty::new());
        let body = if body.is_empty() { Either::Left(empty) } else { Either::Right(full) };
        let mut out = BytesMut::new();
        let sent = write(&request.body(body).unwrap(), &mut out);
        (sent, String::from_utf8(out.to_vec()).unwrap())
    };
    let line = "POST /a?b=c HTTP/1.1\r\n";
    let both = [("x", "1"), ("content-length", "2"), ("content-length", "2")];
    assert_eq!(
        written(&both, "ok"),
        (Sent::Length(2), format!("{line}x: 1\r\ncontent-length: 2\r\n\r\n"))
    );
    assert_eq!(
        written(&[("transfer-encoding", "chunked")], "ok"),
        (Sent::Chunks, format!("{line}transfer-encoding: chunked\r\n\r\n"))
    );
    assert_eq!(written(&[], ""), (Sent::Nothing, format!("{line}\r\n")));
    // Over HTTP/2 a body may end behind its header, and be none.
    let none = (Sent::Nothing, format!("{line}content-length: 0\r\n\r\n"));
    assert_eq!(written(&[("content-length", "0")], "never sent"), none);
    assert_eq!(
        written(&[("content-length", "0")], ""),
        (Sent::Nothing, format!("{line}content-length: 0\r\n\r\n"))
    );
}

proptest! {
    /// Goal: whatever an upstream says is an answer, the beginning of one, or a fault.
    /// Method: an answer with bytes changed anywhere.
    #[test]
    fn nothing_upsets_it(changes in proptest::collection::vec((0_usize..60, any::<u8>()), 0..4)) {
        let mut wire = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n".to_vec();
        for (at, byte) in changes {
            let at = at % wire.len();
            wire[at] = byte;
        }
        let mut left = BytesMut::from(&wire[..]);
        if let Ok(Some(own)) = read(&mut left, &Method::GET) {
            prop_assert!(own.response.status() != StatusCode::CONTINUE || own.ends == Ends::After(0));
            prop_assert!(wire.ends_with(&left));
        }
    }
}
