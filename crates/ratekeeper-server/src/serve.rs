//! Connections: accepted, bounded, timed, and ended in order.
//!
//! Libraries' defaults suit no server on a network, so the loop is our own. Invariant: the loop ends
//! when it is told to and never otherwise, whatever accepting a connection fails with; and whatever a
//! peer does or leaves undone, its connection ends.

pub(crate) mod crowd;
mod stream;

use crate::observe::logs::Sample;
use crate::problem::Problem;
use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use crowd::Crowd;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioTimer;
use hyper_util::service::TowerToHyperService;
use ratekeeper::layer::Peer;
use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;
use stream::{Patient, Work};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// Most bytes of a request's line and header fields. Beyond it: 431, and the connection ends.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;

/// Most header fields of a request. Beyond it: 431, and the connection ends.
pub const HEADERS_MAX: usize = 64;

/// Most bytes that are read ahead or left to write for one connection.
const BUFFER_MAX: usize = 32 * 1024;

/// How long to wait after accepting failed, as it does at the limit of open files: long enough not to
/// spin, short enough not to be felt.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How much and how long at most. Tests set smaller ones.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at a time. At the bound new ones wait in the system's backlog until one ends.
    pub connections: usize,
    /// Connections of one address at a time, unless it is one of many's. Beyond it new ones are closed.
    pub per_address: usize,
    /// To send a whole header, counted from its first piece. Beyond it the connection ends.
    pub header: Duration,
    /// To begin with the next header. Beyond it the connection ends.
    pub idle: Duration,
    /// Between two pieces of a body. Beyond it: 408.
    pub body: Duration,
    /// From the end of the header to the start of the answer. Beyond it: 408.
    pub request: Duration,
    /// For the peer to make room for more of its answers. Beyond it the connection ends.
    pub write: Duration,
    /// To finish what is under way when the server stops. Beyond it the connections are cut.
    pub drain: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            connections: 10_000,
            per_address: 256,
            header: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            body: Duration::from_secs(10),
            request: Duration::from_secs(30),
            write: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}

/// Serves `app` on `listener` until `shutdown`; then stops accepting, lets the requests under way
/// finish within `bounds.drain`, and cuts what is left. `is_many` says whether an address is that of many
/// callers, such as a proxy's.
pub async fn run(
    listener: TcpListener,
    app: Router,
    bounds: Bounds,
    is_many: impl Fn(IpAddr) -> bool,
    shutdown: impl Future<Output = ()>,
) {
    let (stop, stopped) = watch::channel(());
    // The set counts the connections, ends them with itself, and reports each that has ended.
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let (mut healthy, failures, started) = (true, Sample::default(), Instant::now());
    let mut crowd = Crowd::new(bounds.per_address);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(ended) = connections.join_next_with_id() => crowd.leave(ended),
            accepted = listener.accept(), if connections.len() < bounds.connections => match accepted {
                Ok((stream, peer)) => {
                    healthy = true;
                    let peer = peer.ip().to_canonical();
                    if !is_many(peer) && crowd.is_full(peer) {
                        continue;
                    }
                    let serve = serve(stream, peer, app.clone(), bounds, stopped.clone());
                    crowd.enter(connections.spawn(serve).id(), peer);
                }
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    // Once for each spell: at the limit of open files it fails twenty times a second.
                    if std::mem::take(&mut healthy)
                        && let Some(left_out) = failures.take(started.elapsed())
                    {
                        let text = "cannot accept connections, trying on; raise `ulimit -n`";
                        tracing::warn!(%error, left_out, "{text}");
                    }
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    stop.send_replace(());
    let finished = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(bounds.drain, finished).await;
}

/// Errors that one connection brought with it: it is gone, and the next one may be had at once.
fn is_of_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    )
}

/// One connection, from its first byte to its end. How it ends concerns the peer alone.
async fn serve(
    stream: TcpStream,
    peer: IpAddr,
    app: Router,
    bounds: Bounds,
    mut stopped: watch::Receiver<()>,
) {
    // Answers are small and complete: none should wait for the next.
    let _ = stream.set_nodelay(true);
    let app = TowerToHyperService::new(app);
    let work = Work::default();
    let busy = work.clone();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        let (answer, busy) = (app.call(request), busy.clone());
        busy.set(true);
        async move {
            let answer = timeout(bounds.request, answer).await;
            busy.set(false);
            Ok::<Response, Infallible>(match answer {
                Ok(Ok(answer)) => answer,
                Ok(Err(never)) => match never {},
                Err(_) => too_slow(bounds.request).into_response(),
            })
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.idle)
        .keep_alive(true)
        .max_headers(HEADERS_MAX)
        .max_header_size(HEADER_BYTES_MAX)
        .max_buf_size(BUFFER_MAX)
        .serve_connection(Patient::new(stream, &bounds, work), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

fn too_slow(limit: Duration) -> Problem {
    let limit = ratekeeper::decision::Wait(limit);
    let detail = format!("the request took longer than {limit}; send it faster");
    Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
}
