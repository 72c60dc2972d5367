//! Connections: accepted, bounded, timed, and ended in order.
//!
//! Invariant: the loop ends when it is told to and never otherwise, whatever accepting a connection fails
//! with.

mod answers;
mod connection;
pub(crate) mod crowd;
mod judge;
mod stream;
mod streams;
mod work;

pub use answers::{Answers, Arrival, Tunnels};
pub(crate) use answers::{Busy, Tunnel};
pub(crate) use judge::judge;

use crate::observe::logs::Sample;
pub(crate) use connection::secured;
use connection::serve;
use crowd::Crowd;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Most bytes of a request's line and header fields. Beyond it: 431, and the connection ends.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;

/// Most bytes of a request's method and target. Beyond it: 414.
pub const LINE_MAX: usize = 8 * 1024;

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
    /// Without a request, before a connection is put away until the next.
    pub rest: Duration,
    /// Between two pieces of a body. Beyond it: 408.
    pub body: Duration,
    /// From the end of the header to the start of the answer. Beyond it: 408.
    pub request: Duration,
    /// For the peer to make room for more of its answers. Beyond it the connection ends.
    pub write: Duration,
    /// Of a connection on which requests are not one after the other, give or take a tenth. Beyond it no
    /// more are taken.
    pub age: Duration,
    /// To finish what is under way when the server stops. Beyond it the connections are cut.
    pub drain: Duration,
}

impl Bounds {
    /// The same for an API and for each of so many doors beside it: one of eight connections is the API's, so
    /// that a crowd elsewhere keeps nobody from it, and the others have the same part of the rest.
    pub fn shared(self, beside: usize) -> (Bounds, Bounds) {
        if beside == 0 {
            return (self, self);
        }
        let api = (self.connections / 8).max(1);
        let other = ((self.connections - api) / beside).max(1);
        (Bounds { connections: api, ..self }, Bounds { connections: other, ..self })
    }
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            connections: 10_000,
            per_address: 256,
            header: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            rest: Duration::from_secs(1),
            body: Duration::from_secs(10),
            request: Duration::from_secs(30),
            write: Duration::from_secs(10),
            age: Duration::from_secs(3600),
            drain: Duration::from_secs(10),
        }
    }
}

/// Where connections come in.
#[derive(Debug)]
pub struct Entrance {
    /// Where they are accepted.
    pub listener: TcpListener,
    /// Encrypts them, if they are to be.
    pub tls: Option<Encrypts>,
}

/// Encrypts connections.
#[derive(Clone)]
pub struct Encrypts(pub TlsAcceptor);

impl std::fmt::Debug for Encrypts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encrypts")
    }
}

impl From<TcpListener> for Entrance {
    fn from(listener: TcpListener) -> Entrance {
        Entrance { listener, tls: None }
    }
}

/// Serves `answers` at `entrance` until `shutdown`; then stops accepting, lets the requests under way
/// finish within `bounds.drain`, and cuts what is left. `is_many` says whether an address is that of many
/// callers, such as a proxy's.
pub async fn run(
    entrance: impl Into<Entrance>,
    answers: impl Answers,
    bounds: Bounds,
    is_many: impl Fn(IpAddr) -> bool,
    shutdown: impl Future<Output = ()>,
) {
    let Entrance { listener, tls } = entrance.into();
    accept(listener, bounds, is_many, shutdown, |stream, peer, stopped| {
        serve(stream, tls.clone(), peer, answers.clone(), bounds, stopped)
    })
    .await;
}

/// Accepts connections until `shutdown`, each of which is served by a task of its own, until it is told to stop.
pub(crate) async fn accept<F>(
    listener: TcpListener,
    bounds: Bounds,
    is_many: impl Fn(IpAddr) -> bool,
    shutdown: impl Future<Output = ()>,
    serve: impl Fn(TcpStream, IpAddr, watch::Receiver<()>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
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
                    // Answers are small and complete: none should wait for the next.
                    let _ = stream.set_nodelay(true);
                    let serving = serve(stream, peer, stopped.clone());
                    crowd.enter(connections.spawn(serving).id(), peer);
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
