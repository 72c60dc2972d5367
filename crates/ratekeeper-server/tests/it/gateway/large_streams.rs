//! Large bodies over HTTP/2 on both sides: read as fast as they are taken, and never held as a whole.

use super::http2::{Own, call, client, runtime};
use super::large::{GROWTH_MAX, most};
use super::site::{MANY, Site};
use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// How long all of it may take on a machine that is busy.
const LONG: Duration = Duration::from_secs(120);

/// Pieces of a large body, and the bytes of one.
const PIECES: u64 = 4 * 1024;
const PIECE: usize = 64 * 1024;

/// Sends a large body, as fast as it is taken, and counts what was.
async fn pour(mut sender: Sender<Bytes, Infallible>, sent: Arc<AtomicU64>) {
    let piece = Bytes::from(vec![b'x'; PIECE]);
    for _ in 0..PIECES {
        if sender.send_data(piece.clone()).await.is_err() {
            return;
        }
        sent.fetch_add(PIECE as u64, Ordering::SeqCst);
    }
}

/// Reads a body and keeps nothing but its length.
async fn length(mut body: Incoming) -> u64 {
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { break };
        length += frame.into_data().map_or(0, |data| data.len() as u64);
    }
    length
}

/// `/down` sends a large body; all else tells how much it got.
async fn upstream(sent: Arc<AtomicU64>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).expect("an option can be set");
            let sent = sent.clone();
            let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
                let sent = sent.clone();
                async move {
                    let body: Own = if request.uri().path() == "/down" {
                        let (sender, channel) = Channel::new(1);
                        tokio::spawn(pour(sender, sent));
                        channel.boxed()
                    } else {
                        Full::from(length(request.into_body()).await.to_string()).boxed()
                    };
                    Ok::<_, Infallible>(Response::new(body))
                }
            });
            let build = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(build.serve_connection(TokioIo::new(stream), answer));
        }
    });
    address
}

/// Goal: a large body passes in each direction over HTTP/2, the program hardly grows, and who does not read
/// holds the other back.
/// Method: a quarter of a gigabyte down and up; then one that nobody reads, while another one passes.
#[test]
fn large_bodies_pass_as_streams() {
    let runtime = runtime();
    let sent = Arc::<AtomicU64>::default();
    let address = runtime.block_on(upstream(sent.clone()));
    let site = Site::to(&[format!("h2c://{address}")], "", "", MANY);
    let whole = PIECES * PIECE as u64;
    let passing = async {
        let mut sender = client(site.address).await;
        let empty = || Full::default().boxed();
        let small = sender.send_request(call("/up", empty())).await.expect("an answer comes");
        assert_eq!(length(small.into_body()).await, 1);
        let before = most(&site);

        let down = sender.send_request(call("/down", empty())).await.expect("an answer comes");
        assert_eq!(length(down.into_body()).await, whole);

        let (say, body) = Channel::new(1);
        tokio::spawn(pour(say, Arc::default()));
        let up = sender.send_request(call("/up", body.boxed())).await.expect("an answer comes");
        let told = up.into_body().collect().await.expect("the whole comes").to_bytes();
        assert_eq!(told, whole.to_string());

        sent.store(0, Ordering::SeqCst);
        let unread = sender.send_request(call("/down", empty())).await.expect("an answer comes");
        let (say, body) = Channel::new(1);
        tokio::spawn(pour(say, Arc::default()));
        let up = sender.send_request(call("/up", body.boxed())).await.expect("an answer comes");
        let told = up.into_body().collect().await.expect("the whole comes").to_bytes();
        assert_eq!(told, whole.to_string(), "others are not held up");
        let taken = sent.load(Ordering::SeqCst);
        assert!(taken < whole / 8, "{taken} bytes were taken for nobody");
        drop(unread);
        let grown = most(&site) - before;
        assert!(grown < GROWTH_MAX, "it grew by {grown} KiB");
    };
    let passing = async { tokio::time::timeout(LONG, passing).await };
    runtime.block_on(passing).expect("it flows");
}

/// Goal: clients that do not read their answers hold up nobody else, although all share one connection to the
/// upstream.
/// Method: more answers that nobody reads than the connection has room for; then a client that reads.
#[test]
fn who_does_not_read_holds_up_nobody_else() {
    let runtime = runtime();
    let address = runtime.block_on(upstream(Arc::default()));
    let site = Site::to(&[format!("h2c://{address}")], "", "", MANY);
    runtime.block_on(async {
        let mut sender = client(site.address).await;
        let mut unread = Vec::new();
        for _ in 0..60 {
            let request = call("/down", Full::default().boxed());
            unread.push(sender.send_request(request).await.expect("an answer comes"));
        }
        let mut other = client(site.address).await;
        let asked = async {
            let request = call("/up", Full::from("x").boxed());
            let answer = other.send_request(request).await.expect("an answer comes");
            length(answer.into_body()).await
        };
        let answered = tokio::time::timeout(crate::wire::DEADLINE, asked).await;
        assert_eq!(answered.expect("it is not held up"), 1);
        drop(unread);
    });
}
