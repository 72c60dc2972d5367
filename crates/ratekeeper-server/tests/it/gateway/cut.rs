//! Upstreams that die or talk nonsense: their clients see a fault, never half an answer as a whole one.

use super::message::{Fault, Wire};
use super::site::{MANY, Site, get, of_upstream, post};
use super::upstream::{After, OK, Upstream};
use std::time::Duration;
use tokio::time::Instant;

/// Goal: an answer that breaks off at the upstream breaks off at the client; it stays charged, and the next
/// request goes to another upstream.
/// Method: an upstream that dies within its answer, by length and in chunks, beside one that is well.
#[test]
fn an_answer_that_breaks_off_is_never_whole() {
    for begun in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbeg",
    ] {
        let upstream = Upstream::acting(move |_, wire| {
            wire.send(begun);
            After::Close
        });
        let site = Site::before(&[&upstream], "[{id: all, key: ip, limit: 10/day}]");
        let mut wire = Wire::open(site.address);
        wire.send(get("/", ""));
        let answer = wire.answer("GET");
        assert!(matches!(answer, Err(Fault::Cut | Fault::Ended)), "{answer:?}");
        assert_eq!((upstream.seen().len(), site.left("all")), (1, 9), "once, and charged");
        site.becomes(&of_upstream("in_flight", &upstream, ""), 0.0);
    }
}

/// Goal: an upstream that is killed is left alone at once; whoever comes next is served by another.
/// Method: two upstreams, one of which is killed while it answers.
#[test]
fn after_a_kill_others_are_asked() {
    let dies = Upstream::acting(|_, wire| {
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun");
        let _ = wire.ends();
        After::Close
    });
    let lives = Upstream::saying(OK);
    let site = Site::before(&[&dies, &lives], MANY);
    let mut wire = Wire::open(site.address);
    // Whichever is asked first: one of the first two is.
    while dies.seen().is_empty() {
        wire = Wire::open(site.address);
        wire.send(get("/", ""));
        assert_eq!(wire.head().expect("the head comes").status(), 200);
        assert!(lives.seen().len() < 10, "both are asked");
    }
    dies.kill();
    let killed = Instant::now();
    assert_eq!(wire.exactly(100), Err(Fault::Cut));
    site.becomes(&of_upstream("healthy", &dies, ""), 0.0);
    assert!(killed.elapsed() <= Duration::from_secs(1), "{:?}", killed.elapsed());
    for _ in 0..20 {
        assert_eq!(site.get("/").status(), 200);
    }
    assert_eq!(dies.seen().len(), 1);
    assert_eq!(site.metric(&of_upstream("healthy", &lives, "")), Some(1.0));
}

/// Goal: an upstream that ends or talks nonsense before its answer is told to the client as 502; the request
/// stays charged, and was sent once.
/// Method: ends and nonsense of all kinds, with a POST, which is not tried again.
#[test]
fn nonsense_is_a_bad_gateway() {
    let long = format!("HTTP/1.1 200 OK\r\nX-A: {}\r\n\r\n", "a".repeat(1 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-A: 1\r\n".repeat(10_000));
    let gzip = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let said: [(&str, &str); 14] = [
        ("nothing", ""),
        ("half a head", "HTTP/1.1 200 OK\r\nContent-"),
        ("no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        ("another version", "HTTP/3.0 200 OK\r\n\r\n"),
        ("no status", "HTTP/1.1 OK\r\n\r\n"),
        ("a length of letters", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
        (
            "lengths that differ",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        ),
        ("a folded line", "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\n\r\n"),
        (
            "an agreement to nothing",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        ),
        ("another coding", gzip),
        ("another coding last", &gzip.replace("gzip, chunked", "chunked, gzip")),
        ("another coding alone", &gzip.replace("gzip, chunked", "gzip")),
        ("a field without an end", &long),
        ("fields without an end", &many),
    ];
    for (name, said) in said {
        let said = said.to_owned();
        let upstream = Upstream::acting(move |_, wire| {
            wire.send(&said);
            After::Close
        });
        let site = Site::before(&[&upstream], "[{id: all, key: ip, limit: 10/day}]");
        let answer = site.ask(&post("/", "", "x"));
        assert_eq!(answer.status(), 502, "{name}: {answer:?}");
        assert_eq!(answer.field("content-type"), Some("application/problem+json"), "{name}");
        assert_eq!(answer.json()["status"], 502, "{name}");
        assert!(
            !answer.text().contains("127.0.0.1"),
            "{name} tells where upstreams are: {answer:?}"
        );
        assert_eq!((upstream.seen().len(), site.left("all")), (1, 9), "{name}");
    }
}

/// Goal: an answer with two ways to tell its end is none.
/// Method: a length beside chunks: nothing of it may be taken for the next answer.
#[test]
fn an_answer_with_two_ends_is_none() {
    let upstream = Upstream::acting(|_, wire| {
        wire.send(
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        );
        After::Keep
    });
    let site = Site::before(&[&upstream], MANY);
    for _ in 0..3 {
        assert_eq!(site.get("/").status(), 502);
    }
}

/// Goal: a body where none may be is nobody's answer.
/// Method: an upstream that sends one with 204, 304 and to HEAD; the next answers are whole, and their own.
#[test]
fn a_body_where_none_may_be_is_dropped() {
    let upstream = Upstream::telling(|request| {
        let status = match request.start.split(' ').nth(1) {
            Some("/204") => "204 No Content",
            Some("/304") => "304 Not Modified",
            _ => "200 OK",
        };
        format!("HTTP/1.1 {status}\r\nContent-Length: 4\r\n\r\nevil")
    });
    let site = Site::before(&[&upstream], MANY);
    let mut wire = Wire::open(site.address);
    for (method, path, status) in
        [("GET", "/204", 204), ("HEAD", "/", 200), ("GET", "/304", 304), ("GET", "/", 200)]
    {
        wire.send(get(path, "").replacen("GET", method, 1));
        let answer = wire.answer(method).expect("an answer comes");
        assert_eq!(answer.status(), status, "{method} {path}");
        assert!(status != 204 || answer.field("content-length").is_none(), "{answer:?}");
        assert_eq!(answer.text(), if (method, path) == ("GET", "/") { "evil" } else { "" });
    }
    assert_eq!((wire.unused(), upstream.seen().len()), (0, 4));
}
