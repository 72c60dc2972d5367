//! Upstreams of HTTP/2 that hang, die and come back: one connection is shared, and nothing is left behind on it.

use super::http2::{call, client, full, runtime};
use super::message::Wire;
use super::site::{MANY, Site, get, post};
use super::upstream::apart;
use crate::program::poll;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

const RULES: &str =
    "[{id: all, key: ip, limit: 10000/day}, {id: few, key: ip, limit: 4 concurrent}]";

/// More than all buffers between an upstream and a client hold.
const LARGE: usize = 16 << 20;

/// What an upstream has seen.
#[derive(Default)]
struct Book {
    /// Connections on which a request came.
    connections: AtomicUsize,
    requests: AtomicUsize,
    /// Requests to `/hang` that were given up.
    left: AtomicUsize,
}

/// Counts that a request was given up.
struct Guard(Arc<Book>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::SeqCst);
    }
}

/// An upstream with a runtime of its own, so that it can be killed.
struct Two {
    address: SocketAddr,
    book: Arc<Book>,
    runtime: Runtime,
}

impl Two {
    fn start(address: SocketAddr) -> Two {
        let (runtime, book) = (runtime(), Arc::<Book>::default());
        let listener = runtime.block_on(TcpListener::bind(address)).expect("the address is free");
        let address = listener.local_addr().expect("a listener has an address");
        let ours = book.clone();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (ours, is_used) = (ours.clone(), AtomicBool::new(false));
                let answer = hyper::service::service_fn(move |request| {
                    let is_first = !is_used.swap(true, Ordering::SeqCst);
                    ours.connections.fetch_add(usize::from(is_first), Ordering::SeqCst);
                    answer(request, ours.clone())
                });
                let build = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(build.serve_connection(TokioIo::new(stream), answer));
            }
        });
        Two { address, book, runtime }
    }

    fn before(&self, gateway: &str) -> Site {
        Site::to(&[format!("h2c://{}", self.address)], gateway, "", RULES)
    }

    fn kill(self) {
        self.runtime.shutdown_background();
        assert!(crate::program::closes(self.address), "nobody listens any more");
    }

    fn count(&self, of: impl Fn(&Book) -> &AtomicUsize) -> usize {
        of(&self.book).load(Ordering::SeqCst)
    }

    fn has_left(&self, count: usize) -> bool {
        poll(|| (self.count(|book| &book.left) == count).then_some(())).is_some()
    }
}

async fn answer(
    request: Request<Incoming>,
    book: Arc<Book>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    book.requests.fetch_add(1, Ordering::SeqCst);
    if request.uri().path() == "/hang" {
        let _guard = Guard(book);
        std::future::pending::<()>().await;
    }
    if request.uri().path() == "/large" {
        return Ok(Response::new(Full::from(vec![b'x'; LARGE])));
    }
    // A body that is not whole is not answered as if it were.
    let status = if request.into_body().collect().await.is_ok() { 200 } else { 400 };
    let answer = Response::builder().status(status).body(Full::from("ok"));
    Ok(answer.expect("an answer"))
}

/// Goal: who leaves cancels its own request on the shared connection, and no other.
/// Method: a client of HTTP/1.1 that closes, one of HTTP/2 that resets, and one who stays.
#[test]
fn who_leaves_cancels_one_of_many() {
    let upstream = Two::start(apart());
    let site = upstream.before("");
    let hang = || {
        let mut wire = Wire::open(site.address);
        wire.send(get("/hang", ""));
        wire
    };
    let arrives = |count: usize| {
        poll(|| (upstream.count(|book| &book.requests) == count).then_some(())).is_some()
    };
    let (stays, leaves) = (hang(), hang());
    assert!(arrives(2));
    let runtime = runtime();
    let mut sender = runtime.block_on(client(site.address));
    let asked = runtime.spawn(async move {
        let _ = sender.send_request(call("/hang", full("x"))).await;
        drop(sender);
    });
    assert!(arrives(3));
    site.has_left("few", 1);
    drop(leaves);
    assert!(upstream.has_left(1), "the one that closed is given up");
    site.has_left("few", 2);
    asked.abort();
    assert!(upstream.has_left(2), "the one that was reset is given up");
    site.has_left("few", 3);
    assert_eq!(site.get("/").text(), "ok");
    assert_eq!(upstream.count(|book| &book.connections), 1, "all share one connection");
    drop(stays);
    assert!(upstream.has_left(3));
    assert_eq!(site.left("all"), 9_996);
}

/// Goal: one request that hangs costs its own time, not the connection of the others.
/// Method: a short time for the first byte; another request after it, on the same connection.
#[test]
fn one_that_hangs_is_given_up_alone() {
    let upstream = Two::start(apart());
    let site = upstream.before("  timeouts: {first_byte: 300ms}\n");
    assert_eq!(site.get("/").text(), "ok");
    assert_eq!(site.get("/hang").status(), 504);
    assert!(upstream.has_left(1), "it is told");
    assert_eq!(site.ask(&post("/", "", "x")).text(), "ok");
    assert_eq!(upstream.count(|book| &book.connections), 1);
    site.has_left("few", 4);
}

/// Goal: an upstream that dies takes what was under way with it, and is used again when it is back.
/// Method: kill it with a request under way; ask while it is away; start it again at its address.
#[test]
fn one_that_dies_is_used_again_when_it_is_back() {
    let upstream = Two::start(apart());
    let (site, address) = (upstream.before(""), upstream.address);
    let mut wire = Wire::open(site.address);
    wire.send(get("/hang", ""));
    assert!(poll(|| (upstream.count(|book| &book.requests) == 1).then_some(())).is_some());
    upstream.kill();
    assert_eq!(wire.answer("GET").expect("it is told").status(), 502);
    let status = site.get("/").status();
    assert!([502, 503].contains(&status), "{status}");
    site.has_left("few", 4);
    let again = Two::start(address);
    let back = poll(|| (site.get("/").status() == 200).then_some(()));
    assert!(back.is_some(), "it is asked again");
    assert!(again.count(|book| &book.connections) >= 1);
}

/// Goal: callers who take nothing of their answers keep nobody else's away, though they share a connection.
/// Method: forty who ask for more than all buffers hold, and read nothing; one who asks for little.
#[test]
fn who_takes_nothing_keeps_no_other_answer_away() {
    let upstream = Two::start(apart());
    let to = [format!("h2c://{}", upstream.address)];
    let site = Site::to(&to, "", "", MANY);
    let stalled: Vec<Wire> = (0..40)
        .map(|_| {
            let mut wire = Wire::open(site.address);
            wire.send(get("/large", ""));
            assert_eq!(wire.head().expect("the head comes").status(), 200);
            wire
        })
        .collect();
    assert_eq!(site.get("/").text(), "ok");
    assert_eq!(upstream.count(|book| &book.connections), 1, "all share one connection");
    drop(stalled);
}

/// Goal: where a connection has as many requests as it takes, another is opened.
/// Method: more requests that hang than share one, and one that does not.
#[test]
fn many_requests_have_more_connections() {
    let upstream = Two::start(apart());
    let to = [format!("h2c://{}", upstream.address)];
    let site = Site::to(&to, "", "", MANY);
    let hanging: Vec<Wire> = (0..130)
        .map(|_| {
            let mut wire = Wire::open(site.address);
            wire.send(get("/hang", ""));
            wire
        })
        .collect();
    let arrived = || upstream.count(|book| &book.requests) == hanging.len();
    assert!(poll(|| arrived().then_some(())).is_some(), "none waits for another to end");
    assert_eq!(site.get("/").text(), "ok");
    assert_eq!(upstream.count(|book| &book.connections), 2);
}
