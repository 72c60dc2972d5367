//! A connection to an upstream that many requests share: HTTP/2.
//!
//! Invariant: a request that is given up resets its stream and nothing else.

use super::super::alarm::Alarm;
use super::super::body::Outgoing;
use super::super::failure::{Failed, Failure};
use super::pool::Taken;
use super::{Answered, Source, Streamed, Times, UnderWay};
use crate::socket::Socket;
use axum::http::header::HOST;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Uri, Version};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What an upstream may send ahead of one answer.
const STREAM_WINDOW: u32 = 128 * 1024;

/// Most requests that share a connection; many servers take no more.
const STREAMS_MAX: usize = 100;

/// What an upstream may send ahead of all: as much as of each, so that callers who take nothing keep nobody
/// else's answer away.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * STREAMS_MAX as u32;

/// Most bytes of an answer's header fields.
const HEADER_BYTES_MAX: u32 = 64 * 1024;

/// Most bytes of one request that wait to be sent.
const BUFFER_MAX: usize = 256 * 1024;

/// How often an upstream is asked whether it is there, and how long it may take to say so.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// Sends requests on the connection.
pub(super) type Sender = SendRequest<Outgoing>;

/// The connections that requests share.
#[derive(Default)]
pub(super) struct Shared(Mutex<Vec<Several>>);

/// A connection, and a token that each of its requests has a clone of.
struct Several {
    sender: Sender,
    token: Arc<()>,
}

/// A place on a connection, which a request has until it is over.
#[derive(Clone)]
pub(super) struct Seat(Sender, Arc<()>);

impl Shared {
    /// A place on the connection with the fewest requests, if one has room.
    pub(super) fn get(&self) -> Option<Seat> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|own| !own.sender.is_closed());
        seat(&shared)
    }

    /// Shares a new connection; not if another has got room meanwhile, since requests come in swarms.
    pub(super) fn set(&self, sender: Sender) -> Seat {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seat) = seat(&shared) {
            return seat;
        }
        let token = Arc::new(());
        let seat = Seat(sender.clone(), Arc::clone(&token));
        shared.push(Several { sender, token });
        seat
    }
}

/// A place on one of these connections.
fn seat(shared: &[Several]) -> Option<Seat> {
    let open = shared.iter().filter(|own| !own.sender.is_closed());
    let requests = |own: &&Several| Arc::strong_count(&own.token) - 1;
    let least = open.min_by_key(requests).filter(|own| requests(own) < STREAMS_MAX)?;
    Some(Seat(least.sender.clone(), Arc::clone(&least.token)))
}

/// Begins to speak HTTP/2.
pub(super) async fn connect(socket: Socket, place: Taken) -> Result<Sender, hyper::Error> {
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(HEADER_BYTES_MAX)
        .max_send_buf_size(BUFFER_MAX)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .handshake(TokioIo::new(socket))
        .await?;
    tokio::spawn(async move {
        let _ = connection.await;
        drop(place);
    });
    Ok(sender)
}

/// Names the target of a request in the form that HTTP/2 has.
pub(super) fn address(request: &mut Request<Outgoing>, scheme: &'static str, authority: &str) {
    *request.version_mut() = Version::HTTP_2;
    if request.uri().authority().is_some() {
        return;
    }
    let host = request.headers_mut().remove(HOST);
    let host = host.as_ref().map_or(authority.as_bytes(), HeaderValue::as_bytes);
    let path = request.uri().path_and_query().cloned();
    let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
    let uri = Uri::builder().scheme(scheme).authority(host).path_and_query(path);
    if let Ok(uri) = uri.build() {
        *request.uri_mut() = uri;
    }
}

/// Asks on a connection that others may be asking on.
pub(super) async fn ask(
    Seat(mut sender, token): Seat,
    request: Box<Request<Outgoing>>,
    times: Times,
    under_way: UnderWay,
) -> Result<Answered, Failed> {
    let under_way = under_way.with(token);
    let fate = request.body().fate();
    let asking = sender.try_send_request(*request);
    match fate.watch(&mut Alarm::default(), times, asking).await {
        Ok(Ok(response)) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
            Err(Failed { failure: Failure::Bad, unsent: None })
        }
        Ok(Ok(response)) => {
            let streamed = |body| Streamed::new(Source::Two(body), times, under_way);
            Ok(Answered::Streams(response.map(streamed)))
        }
        Ok(Err(mut error)) => {
            let unsent = error.take_message().map(Box::new);
            let failure = fate.fault().unwrap_or_else(|| Failure::of(error.error()));
            Err(Failed { failure, unsent })
        }
        Err(failure) => Err(Failed { failure, unsent: None }),
    }
}
