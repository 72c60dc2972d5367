//! Header fields of HTTP/2 on their way to HTTP/1.1, which writes some of them otherwise.

use super::http2::{Own, client, full, runtime};
use super::site::{MANY, Site};
use super::upstream::{OK, Upstream};
use http_body_util::BodyExt;
use http_body_util::channel::Channel;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::HeaderName;
use std::convert::Infallible;

/// Goal: an upstream reads one host and one line of cookies, as HTTP/1.1 has them.
/// Method: another host in a field, cookies in several; RFC 9113, 8.2.3 and 8.3.1.
#[test]
fn hosts_and_cookies_are_one_line() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    runtime().block_on(async {
        let mut sender = client(site.address).await;
        let request = Request::get("http://api.example/a?b")
            .header("host", "evil.example")
            .header("cookie", "a=1")
            .header("cookie", "b=2")
            .header("cookie", "c=3")
            .body(full(""))
            .expect("a request");
        let answer = sender.send_request(request).await.expect("an answer comes");
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.into_body().collect().await.expect("the whole").to_bytes(), "ok");
    });
    let request = upstream.only();
    assert_eq!(request.field("host"), Some("api.example"));
    assert_eq!(request.field("x-forwarded-host"), Some("api.example"));
    assert_eq!(request.all("cookie"), ["a=1; b=2; c=3"]);
}

/// Goal: a body that turns out to be none is none, also where its length was said to be none.
/// Method: a length of 0 and an end that comes behind the header; what curl does with `-d ''`.
#[test]
fn nothing_is_a_whole_body() {
    let upstream = Upstream::saying(OK);
    let site = Site::before(&[&upstream], MANY);
    runtime().block_on(async {
        let mut sender = client(site.address).await;
        let (body, end) = {
            let (end, body) = Channel::<Bytes, Infallible>::new(1);
            (Own::new(body), end)
        };
        let request = Request::post("http://api.example/a").header("content-length", "0");
        let answer = sender.send_request(request.body(body).expect("a request"));
        let (answer, ()) = tokio::join!(answer, async { drop(end) });
        assert_eq!(answer.expect("an answer comes").status(), 200);
    });
    assert_eq!(upstream.only().all("content-length"), ["0"]);
}

/// Goal: an answer without a body, and trailers that concern a connection, break nothing.
/// Method: a length beside 204; trailers of every kind.
#[test]
fn what_an_answer_may_not_have_is_taken_away() {
    let upstream = Upstream::telling(|request| {
        match request.start.contains("/none") {
        true => "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n".into(),
        false => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\n\
                  X-Sum: 7\r\nConnection: close\r\nX-Ratekeeper-User: root\r\n\r\n"
            .into(),
    }
    });
    let site = Site::before(&[&upstream], MANY);
    runtime().block_on(async {
        let mut sender = client(site.address).await;
        let get = |path: &str| {
            Request::get(format!("http://api.example{path}")).body(full("")).expect("a request")
        };
        let none = sender.send_request(get("/none")).await.expect("an answer comes");
        assert_eq!(none.status(), 204);
        assert!(none.into_body().collect().await.expect("it ends").to_bytes().is_empty());
        let answer = sender.send_request(get("/")).await.expect("an answer comes");
        let body = answer.into_body().collect().await.expect("the whole");
        let trailers = body.trailers().cloned().expect("there are some");
        let names: Vec<&str> = trailers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["x-sum"]);
        assert_eq!(body.to_bytes(), "ok");
    });
}
