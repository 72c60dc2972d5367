//! Requests of HTTP/2 that are reset: the upstream hears of it, the charge stays.

use super::http2::{call, client, full, runtime};
use super::message::Wire;
use super::site::{Site, of_upstream};
use super::upstream::{After, Upstream};
use crate::program::poll;
use http_body_util::BodyExt;
use hyper::Request;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const RULES: &str =
    "[{id: all, key: ip, limit: 1000/day}, {id: few, key: ip, limit: 4 concurrent}]";

/// An upstream that says this and waits for the end; how often that came.
fn patient(said: &'static str) -> (Upstream, Arc<AtomicUsize>) {
    let left = Arc::<AtomicUsize>::default();
    let ours = left.clone();
    let wait = move |wire: &mut Wire| usize::from(wire.ends());
    let upstream = Upstream::acting(move |_, wire| {
        wire.send(said);
        ours.fetch_add(wait(wire), Ordering::SeqCst);
        After::Close
    });
    (upstream, left)
}

/// Goal: a reset before the answer cancels the request at the upstream; it stays charged, its permit is free,
/// and the other requests of the connection go on.
/// Method: three requests on one connection, of which one is dropped.
#[test]
fn a_reset_cancels_one_request() {
    let (upstream, left) = patient("");
    let site = Site::before(&[&upstream], RULES);
    let runtime = runtime();
    let sender = runtime.block_on(client(site.address));
    let mut asked: Vec<_> = (0..3)
        .map(|_| {
            let mut sender = sender.clone();
            runtime.spawn(async move { sender.send_request(call("/", full("x"))).await.is_ok() })
        })
        .collect();
    assert!(poll(|| (upstream.seen().len() == 3).then_some(())).is_some(), "all arrive");
    site.has_left("few", 1);
    asked.remove(1).abort();
    assert!(poll(|| (left.load(Ordering::SeqCst) == 1).then_some(())).is_some(), "it is told");
    site.has_left("few", 2);
    site.becomes(&of_upstream("in_flight", &upstream, ""), 2.0);
    assert_eq!((site.left("all"), upstream.open()), (997, 2));
    assert!(asked.iter().all(|other| !other.is_finished()), "the others go on");
}

/// Goal: a reset within the answer cancels the rest of it.
/// Method: read the head and a piece, and drop the body.
#[test]
fn a_reset_within_the_answer_cancels_the_rest() {
    let (upstream, left) = patient("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun");
    let site = Site::before(&[&upstream], RULES);
    let runtime = runtime();
    runtime.block_on(async {
        let mut sender = client(site.address).await;
        let request = Request::get("http://api.example/").body(full("")).expect("a request");
        let answer = sender.send_request(request).await.expect("an answer comes");
        let mut body = answer.into_body();
        let piece = body.frame().await.expect("there is more").expect("it comes");
        assert_eq!(piece.into_data().expect("it is data"), "begun");
    });
    assert!(poll(|| (left.load(Ordering::SeqCst) == 1).then_some(())).is_some(), "it is told");
    site.has_left("few", 4);
    assert_eq!(site.left("all"), 999);
}

/// Goal: an answer that breaks off at the upstream is reset at the client, not ended, and the other requests
/// of the connection go on.
/// Method: an upstream that dies within one answer and not within the next: errors, then a whole one.
#[test]
fn an_answer_that_breaks_off_is_reset() {
    let upstream = Upstream::acting(|request, wire| {
        if request.start.contains("/whole") {
            // Without a word of its end, the next request might meet it on its way.
            wire.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        } else {
            wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n");
        }
        After::Close
    });
    let site = Site::before(&[&upstream], RULES);
    runtime().block_on(async {
        let mut sender = client(site.address).await;
        for (path, is_whole) in [("/cut", false), ("/whole", true), ("/cut", false)] {
            let url = format!("http://api.example{path}");
            let request = Request::get(url).body(full("")).expect("a request");
            // A reset can overtake the head of its answer.
            let whole = match sender.send_request(request).await {
                Ok(answer) => {
                    assert_eq!(answer.status(), 200, "{path}");
                    answer.into_body().collect().await.is_ok()
                }
                Err(_) => false,
            };
            assert_eq!(whole, is_whole, "{path}");
        }
    });
    assert_eq!(upstream.seen().len(), 3);
}
