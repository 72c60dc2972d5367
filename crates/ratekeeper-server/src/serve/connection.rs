//! One connection, from its first byte to its end, in whichever version of HTTP its peer speaks.
//!
//! Libraries' defaults suit no server on a network: every bound is set here. Invariant: whatever a peer does
//! or leaves undone, its connection ends; how it ends concerns the peer alone.

use super::stream::{Patient, Requests};
use super::streams::Streams;
use super::work::{Sent, Work};
use super::{
    Answers, Arrival, BUFFER_MAX, Bounds, Encrypts, HEADER_BYTES_MAX, HEADERS_MAX, Tunnels,
};
use crate::socket::Socket;
use crate::tls::HANDSHAKE;
use axum::http::HeaderValue;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::TokioTimer;
use std::convert::Infallible;
use std::future::poll_fn;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// What went wrong with a body.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a peer that speaks HTTP/2 begins with (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Requests of one connection at a time.
const STREAMS_MAX: u32 = 128;

/// Requests that a peer has reset before they were looked at. Beyond it the connection ends.
const RESETS_MAX: usize = 20;

/// Requests that were reset because the peer broke the protocol. Beyond it the connection ends.
const FAULTS_MAX: usize = 1024;

/// What a peer may send ahead: of one request, and of all.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// How often a peer is asked whether it is there, and how long it may take to say so.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// Looks in the time after which a connection without work ends.
const LOOKS: u32 = 4;

/// Serves one connection until its peer, a bound or `stopped` ends it.
pub(super) async fn serve<A: Answers>(
    stream: TcpStream,
    tls: Option<Encrypts>,
    peer: IpAddr,
    answers: A,
    bounds: Bounds,
    mut stopped: watch::Receiver<()>,
) {
    let is_secure = tls.is_some();
    let first = async {
        let mut socket = secured(tls, stream).await?;
        let first = first(&mut socket, &bounds).await?;
        Some((socket, first))
    };
    let first = tokio::select! {
        first = first => first,
        _ = stopped.changed() => None,
    };
    let Some((socket, first)) = first else { return };
    let work = Work::default();
    let is_two = first == PREFACE;
    let tunnels = (!is_two).then(|| Tunnels(work.clone()));
    let Bounds { request: most, body, .. } = bounds;
    let peer_text = HeaderValue::try_from(peer.to_string());
    let peer_text = peer_text.unwrap_or(HeaderValue::from_static("unknown"));
    let arrival = Arrival { peer, peer_text, is_secure, most, body, tunnels };
    let answers = service(answers, arrival, work.clone());
    let stream = Patient::new(socket, first, &bounds);
    if is_two {
        // In a box, so that the other connections do not carry its size along.
        let streams = Streams::new(bounds.write, A::AT_ONCE);
        return Box::pin(two(stream, answers, streams, work, bounds, stopped)).await;
    }
    one(stream.one_by_one(Requests::new(&bounds, work.clone())), answers, work, bounds, stopped)
        .await;
}

/// The same connection, encrypted if it is to be, and its peer goes along.
pub(crate) async fn secured(tls: Option<Encrypts>, stream: TcpStream) -> Option<Socket> {
    match tls {
        None => Some(Socket::Plain(stream)),
        // In a box, so that the other connections do not carry its size along.
        Some(tls) => Box::pin(encrypted(tls, stream)).await,
    }
}

async fn encrypted(tls: Encrypts, stream: TcpStream) -> Option<Socket> {
    let greeted = timeout(HANDSHAKE, tls.0.accept(stream)).await.ok()?;
    greeted.ok().map(|stream| Socket::from(Box::new(stream)))
}

/// A connection on which requests come one after the other.
///
/// What HTTP needs for a connection is several times the size of the connection, and most of them are quiet:
/// it is put away when there has been nothing to do for a moment, and made again when something comes.
async fn one<A, B>(
    mut stream: Patient,
    mut answers: A,
    work: Work,
    bounds: Bounds,
    mut stopped: watch::Receiver<()>,
) where
    A: HttpService<Incoming, ResBody = Sent<B>, Error = Infallible>,
    Sent<B>: hyper::body::Body<Error: Into<BoxError>>,
    B: 'static,
{
    loop {
        let mut connection = http1::Builder::new()
            .header_read_timeout(None)
            .keep_alive(true)
            // Who closes its side is taken to be gone, and frees its place in a line.
            .half_close(false)
            .max_headers(HEADERS_MAX)
            .max_header_size(HEADER_BYTES_MAX)
            .max_buf_size(BUFFER_MAX)
            .serve_connection(stream, answers);
        match next(&mut connection, &work, &mut stopped).await {
            Next::Rest => {}
            Next::Over => {
                let Some(tunnel) = work.take_tunnel() else { return };
                let parts = connection.into_parts();
                let (socket, more) = parts.io.into_inner();
                return tunnel(socket, [&parts.read_buf, &more[..]].concat().into()).await;
            }
            Next::Stop => {
                Pin::new(&mut connection).graceful_shutdown();
                let _ = connection.await;
                return;
            }
        }
        let parts = connection.into_parts();
        (stream, answers) = (parts.io.after(&parts.read_buf), parts.service);
        let wakes = tokio::select! {
            wakes = stream.wakes(bounds.idle) => wakes,
            _ = stopped.changed() => false,
        };
        if !wakes {
            return;
        }
    }
}

/// What becomes of a connection.
enum Next {
    /// There is nothing to do, and all is sent.
    Rest,
    /// It has come to its end.
    Over,
    /// The server stops.
    Stop,
}

/// Drives a connection until something becomes of it.
async fn next(
    connection: &mut (impl Future + Unpin),
    work: &Work,
    stopped: &mut watch::Receiver<()>,
) -> Next {
    let told = stopped.clone();
    let (mut stop, mut asked) = (pin!(stopped.changed()), false);
    poll_fn(|context| match Pin::new(&mut *connection).poll(context) {
        Poll::Ready(_) => Poll::Ready(Next::Over),
        Poll::Pending if work.is_over() => Poll::Ready(Next::Rest),
        // Asked once, it wakes this task when it comes; until then there is no need to ask again.
        Poll::Pending if asked && told.has_changed().is_ok_and(|changed| !changed) => Poll::Pending,
        Poll::Pending => {
            asked = true;
            stop.as_mut().poll(context).map(|_| Next::Stop)
        }
    })
    .await
}

/// The first bytes: the preface of HTTP/2, or the first that differ from it.
async fn first(stream: &mut Socket, bounds: &Bounds) -> Option<Vec<u8>> {
    let mut bytes = [0; PREFACE.len()];
    let (mut count, mut until) = (0, Instant::now() + bounds.idle);
    loop {
        let read = timeout_at(until, stream.read(&mut bytes[count..])).await;
        if count == 0 {
            until = Instant::now() + bounds.header;
        }
        count += read.ok()?.ok().filter(|read| *read > 0)?;
        if count == PREFACE.len() || !PREFACE.starts_with(&bytes[..count]) {
            return Some(bytes[..count].to_vec());
        }
    }
}

/// A connection on which many requests are under way at a time.
async fn two<A, B>(
    stream: Patient,
    answers: A,
    streams: Streams,
    work: Work,
    bounds: Bounds,
    mut stopped: watch::Receiver<()>,
) where
    A: HttpService<Incoming, ResBody = Sent<B>, Error = Infallible> + Send,
    A::Future: Send + 'static,
    Sent<B>: hyper::body::Body<Data: Send, Error: Into<BoxError>>,
    B: Send + 'static,
{
    let connection = http2::Builder::new(streams.clone())
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX as u32)
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_local_error_reset_streams(FAULTS_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(BUFFER_MAX)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .serve_connection(stream, answers);
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        _ = streams.drive(connection.as_mut()) => return,
        _ = stopped.changed() => {}
        () = is_over(&work, &bounds) => {}
    }
    // What the peer does not take is not waited for.
    connection.as_mut().graceful_shutdown();
    let _ = timeout(bounds.drain, streams.drive(connection)).await;
}

/// Waits until nothing has got on for long, or the connection is old.
async fn is_over(work: &Work, bounds: &Bounds) {
    let (born, old) = (Instant::now(), spread(bounds.age));
    let (mut moves, mut quiet) = (work.moves(), 0);
    while quiet < LOOKS && born.elapsed() < old {
        sleep(bounds.idle / LOOKS).await;
        let now = work.moves();
        quiet = if now == moves { quiet + 1 } else { 0 };
        moves = now;
    }
}

/// A time up to a tenth shorter or longer, so that connections that began together do not end together.
fn spread(time: Duration) -> Duration {
    let chance = std::hash::RandomState::new().hash_one(()) % 201;
    time / 1000 * (900 + chance as u32)
}

/// Answers requests, and notes what is under way.
fn service<A: Answers>(
    answers: A,
    arrival: Arrival,
    work: Work,
) -> impl HttpService<Incoming, ResBody = Sent<A::Body>, Error = Infallible, Future: Send + 'static> + Send
{
    service_fn(move |request: Request<Incoming>| {
        let under_way = work.begin();
        let answer = answers.answer(request, &arrival);
        async move { Ok(answer.await.map(|body| under_way.answer(body))) }
    })
}
