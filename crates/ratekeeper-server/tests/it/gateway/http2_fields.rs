//! Header fields of HTTP/2 on their way to HTTP/1.1, which writes some of them otherwise.

use super::http2::{client, full, runtime};
use super::site::{MANY, Site};
use super::upstream::{OK, Upstream};
use http_body_util::BodyExt;
use hyper::Request;

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
