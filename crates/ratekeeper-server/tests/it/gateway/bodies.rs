//! Bodies on their way: as they come, in both directions.

use super::message::Wire;
use super::site::{MANY, Site, get, post};
use super::upstream::{After, OK, Upstream, free};
use crate::program::poll;
use crate::wire::DEADLINE;
use std::sync::mpsc::sync_channel;

/// Goal: a body keeps its bytes and its framing, in both directions.
/// Method: an upstream that gives back what it got; a length, chunks, nothing, all bytes that there are.
#[test]
fn bodies_pass_unchanged() {
    let upstream = Upstream::acting(|request, wire| {
        if request.has("transfer-encoding") {
            wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            for piece in request.body.chunks(7) {
                wire.send(format!("{:x}\r\n", piece.len()));
                wire.send([piece, b"\r\n"].concat());
            }
            wire.send("0\r\n\r\n");
        } else {
            let length = request.body.len();
            wire.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"));
            wire.send(&request.body);
        }
        After::Keep
    });
    let site = Site::before(&[&upstream], MANY);
    let all: Vec<u8> = (0..100_000_u32).map(|number| (number % 251) as u8).collect();
    for body in [&b""[..], b"x", &all] {
        let mut wire = Wire::open(site.address);
        let length = body.len();
        wire.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"));
        wire.send(body);
        let answer = wire.answer("POST").expect("an answer comes");
        assert_eq!(answer.field("content-length"), Some(length.to_string().as_str()));
        assert!(answer.body == body, "{length} bytes by length");

        wire.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        for piece in body.chunks(30_000) {
            wire.send([format!("{:X}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat());
        }
        wire.send("0\r\n\r\n");
        let answer = wire.answer("POST").expect("an answer comes");
        assert_eq!(answer.field("transfer-encoding"), Some("chunked"));
        assert!(answer.body == body, "{length} bytes in chunks");
    }
    let lengths: Vec<usize> = upstream.seen().iter().map(|seen| seen.body.len()).collect();
    assert_eq!(lengths, [0, 0, 1, 1, 100_000, 100_000]);
}

/// Goal: fields behind a body pass in both directions.
/// Method: both sides announce one and send it; the client says that it takes them.
#[test]
fn trailers_pass_in_both_directions() {
    let upstream = Upstream::saying(
        "HTTP/1.1 200 OK\r\nTrailer: X-Down\r\nTransfer-Encoding: chunked\r\n\r\n\
         2\r\nok\r\n0\r\nX-Down: 2\r\n\r\n",
    );
    let site = Site::before(&[&upstream], MANY);
    let answer = site.ask(
        "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nTrailer: X-Up\r\n\
         Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Up: 1\r\n\r\n",
    );
    let request = upstream.only();
    assert_eq!(request.body, b"abc");
    assert_eq!(request.trailers.len(), 1, "{request:?}");
    assert!(request.trailers[0].0.eq_ignore_ascii_case("x-up") && request.trailers[0].1 == "1");
    assert_eq!(request.field("te"), Some("trailers"));
    assert_eq!(answer.text(), "ok");
    assert_eq!(answer.trailers.len(), 1, "{answer:?}");
    assert!(answer.trailers[0].0.eq_ignore_ascii_case("x-down") && answer.trailers[0].1 == "2");
}

/// Goal: who asks whether to send a body is told so when the request is admitted, and not when it is
/// refused; the upstream is not asked.
/// Method: a rule of one; the request with `Expect` twice, its body sent after the 100.
#[test]
fn a_body_is_asked_for_when_the_request_is_admitted() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], "[{id: all, key: ip, limit: 1/day}]");
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    let mut wire = Wire::open(site.address);
    wire.send(head);
    assert_eq!(wire.answer("POST").expect("an answer comes").status(), 100);
    wire.send("body");
    assert_eq!(wire.answer("POST").expect("an answer comes").status(), 200);
    let request = upstream.only();
    assert_eq!((request.body.as_slice(), request.has("expect")), (&b"body"[..], false));

    let mut wire = Wire::open(site.address);
    wire.send(head);
    assert_eq!(wire.answer("POST").expect("an answer comes").status(), 429, "no 100 before it");
    assert_eq!(upstream.seen().len(), 1);
}

/// Goal: an answer is passed on piece by piece, while the rest of it is not there yet.
/// Method: an upstream that sends its second piece when the client has read the first.
#[test]
fn an_answer_is_passed_on_as_it_comes() {
    let (read, next) = sync_channel::<()>(1);
    let next = std::sync::Mutex::new(next);
    let upstream = Upstream::acting(move |_, wire| {
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
        let came = next.lock().expect("nobody failed").recv_timeout(DEADLINE);
        assert!(came.is_ok(), "the client has read the first piece");
        wire.send("3\r\ntwo\r\n0\r\n\r\n");
        After::Keep
    });
    let site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    wire.send(get("/", ""));
    assert_eq!(wire.head().expect("the head comes at once").status(), 200);
    assert_eq!(wire.exactly(8).expect("the first piece comes at once"), b"3\r\none\r\n");
    read.send(()).expect("the upstream waits");
    assert_eq!(wire.exactly(13).expect("the rest comes"), b"3\r\ntwo\r\n0\r\n\r\n");
}

/// Goal: a request is passed on piece by piece, and an answer that comes before its end reaches the client.
/// Method: an upstream that answers the head; the client sends the rest only then.
#[test]
fn a_request_is_passed_on_as_it_comes() {
    let upstream = Upstream::raw(free(), |wire, number, book| {
        let Ok(mut request) = wire.head() else { return };
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n");
        if wire.framed(&mut request).is_ok() {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            book.note(number, request);
            wire.send(format!("4\r\n{body}\r\n0\r\n\r\n"));
        }
    });
    let site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    let whole = post("/", "", "late");
    wire.send(&whole[..whole.len() - 4]);
    assert_eq!(wire.head().expect("the head comes at once").status(), 200);
    assert_eq!(wire.exactly(10).expect("a piece comes at once"), b"5\r\nearly\r\n");
    wire.send("late");
    assert_eq!(wire.exactly(14).expect("the rest comes"), b"4\r\nlate\r\n0\r\n\r\n");
    assert_eq!(upstream.only().body, b"late");
}

/// Goal: a body is passed on whatever the method is.
/// Method: methods that usually have none, with chunks and with a length.
#[test]
fn every_method_may_have_a_body() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    for method in ["GET", "DELETE", "OPTIONS", "PATCH"] {
        for (field, body) in [
            ("Content-Length: 5", "hello"),
            ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
        ] {
            let head = format!("{method} / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
            assert_eq!(site.ask(&(head + body)).status(), 200);
        }
    }
    let bodies: Vec<Vec<u8>> = upstream.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies, vec![b"hello".to_vec(); 8]);
}

/// Goal: an answer that is whole before its request is does not cut the request off.
/// Method: an upstream that answers the head, without a body, and then reads; the client sends megabytes only
/// when it has the answer, and the next request passes as well.
#[test]
fn an_early_answer_does_not_cut_its_request_off() {
    const LENGTH: usize = 3_000_000;
    let upstream = Upstream::raw(free(), |wire, number, book| {
        while let Ok(mut request) = wire.head() {
            wire.send("HTTP/1.1 204 No Content\r\n\r\n");
            if wire.framed(&mut request).is_err() {
                return;
            }
            book.note(number, request);
        }
    });
    let site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    wire.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {LENGTH}\r\n\r\n"));
    assert_eq!(wire.answer("POST").expect("an early answer comes").status(), 204);
    assert!(wire.send(vec![b'x'; LENGTH]), "the rest is taken");
    let whole = || upstream.seen().first().is_some_and(|seen| seen.body.len() == LENGTH);
    assert!(poll(|| whole().then_some(())).is_some(), "all of it reaches the upstream");
    assert_eq!(site.get("/").status(), 204);
}

/// Goal: an answer that ends with its connection reaches the client as a whole one.
/// Method: an upstream of HTTP/1.0, which says no length.
#[test]
fn an_answer_that_ends_with_its_connection_is_whole() {
    let upstream = Upstream::acting(|_, wire| {
        wire.send("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end");
        After::Close
    });
    let site = Site::before(&[&upstream], MANY);
    let answer = site.get("/");
    assert_eq!((answer.status(), answer.text()), (200, "until the end"));
    assert!(answer.start.starts_with("HTTP/1.1 "), "{answer:?}");
}

/// Goal: what an upstream says before its answer is no answer.
/// Method: 100 and 103, then the answer; the next request gets its own.
#[test]
fn words_before_an_answer_are_none() {
    let upstream = Upstream::saying(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    );
    let site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    for _ in 0..3 {
        wire.send(post("/", "", "x"));
        let mut answer = wire.answer("POST").expect("an answer comes");
        while answer.status() < 200 {
            answer = wire.answer("POST").expect("an answer comes");
        }
        assert_eq!((answer.status(), answer.text()), (200, "ok"));
    }
    assert_eq!(upstream.seen().len(), 3);
}

/// Goal: a client of HTTP/1.0 gets an answer that it can read, and no chunks.
/// Method: an upstream that answers in chunks.
#[test]
fn an_old_client_gets_no_chunks() {
    let upstream = Upstream::saying(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    );
    let site = Site::before(&[&upstream], MANY);
    let answer = site.ask("GET /old HTTP/1.0\r\nHost: a\r\n\r\n");
    assert_eq!((answer.status(), answer.text()), (200, "ok"));
    assert_eq!(answer.field("transfer-encoding"), None);
    assert_eq!(upstream.only().start, "GET /old HTTP/1.1");
}

/// Goal: an upstream that says that it closes is not asked on the same connection again.
/// Method: two requests to one that says so and leaves the connection open.
#[test]
fn a_connection_that_is_said_to_close_is_not_used_again() {
    let upstream =
        Upstream::saying("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    let site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    for _ in 0..2 {
        wire.send(get("/", ""));
        let answer = wire.answer("GET").expect("its own connection goes on");
        assert_eq!((answer.status(), answer.field("connection")), (200, None));
    }
    assert_eq!((upstream.seen().len(), upstream.accepted()), (2, 2));
}
