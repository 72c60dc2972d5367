//! A connection to an upstream on which requests go one after the other.
//!
//! It is driven by whoever has asked: the task that waits for an answer reads it, too, and is woken once for
//! both. Invariant: while nobody has asked, nobody drives it; it is looked at before it is used again.

use super::super::alarm::Alarm;
use super::super::body::Outgoing;
use super::super::failure::{Failed, Failure};
use super::Times;
use super::pool::Taken;
use crate::socket::Socket;
use axum::http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Uri, Version};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio::time::Instant;

/// Most bytes of an answer's header fields.
const HEADER_BYTES_MAX: usize = 64 * 1024;

/// Most bytes that are read ahead or left to write.
const BUFFER_MAX: usize = 256 * 1024;

/// Names the target of a request in the form that HTTP/1.1 has; without a host it is for `authority`.
pub(super) fn address(request: &mut Request<Outgoing>, authority: &str) {
    *request.version_mut() = Version::HTTP_11;
    // Without it, of some methods no body would be sent.
    if !request.body().is_end_stream() && !request.headers().contains_key(CONTENT_LENGTH) {
        request.headers_mut().insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    if request.uri().authority().is_none() && !request.headers().contains_key(HOST) {
        if let Ok(host) = HeaderValue::from_str(authority) {
            request.headers_mut().insert(HOST, host);
        }
    } else if let Some(host) = request.uri().authority()
        && let Ok(host) = HeaderValue::from_str(host.as_str())
    {
        request.headers_mut().insert(HOST, host);
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
    }
}

/// Whether an answer says in two ways where it ends.
fn has_two_ends(response: &Response<Incoming>) -> bool {
    let headers = response.headers();
    headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH)
}

/// A connection on which requests go one after the other.
pub(in super::super) struct Link {
    sender: SendRequest<Outgoing>,
    connection: Connection<TokioIo<Socket>, Outgoing>,
    /// Since when it is kept.
    pub(super) kept: Instant,
    /// Its place among the connections of the gateway.
    place: Taken,
    /// Rings when an answer does not begin in time.
    alarm: Alarm,
    is_over: bool,
    had_body: bool,
}

impl Link {
    /// A connection that nothing was sent on.
    pub(super) async fn new(socket: Socket, place: Taken) -> Result<Box<Link>, hyper::Error> {
        let (sender, connection) = http1::Builder::new()
            .max_header_size(HEADER_BYTES_MAX)
            .max_buf_size(BUFFER_MAX)
            .handshake(TokioIo::new(socket))
            .await?;
        let (kept, alarm) = (Instant::now(), Alarm::default());
        let (is_over, had_body) = (false, false);
        Ok(Box::new(Link { sender, connection, kept, place, alarm, is_over, had_body }))
    }

    /// Whether the last request had a body, of which some may not have been sent yet.
    pub(super) fn had_body(&self) -> bool {
        self.had_body
    }

    /// Whether another request can be sent: the server has not closed it, nor said anything unasked.
    pub(super) fn is_usable(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        !self.is_over && self.sender.is_ready()
    }

    /// Reads and writes what can be; whoever `context` is of is woken when there is more.
    pub(super) fn drive(&mut self, context: &mut Context<'_>) {
        if !self.is_over {
            self.is_over = Pin::new(&mut self.connection).poll(context).is_ready();
        }
    }

    /// Whether the connection has come to its end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Asks on this connection.
    pub(super) async fn ask(
        mut self: Box<Self>,
        request: Box<Request<Outgoing>>,
        times: Times,
    ) -> Result<(Response<Incoming>, Box<Link>), Failed> {
        let fate = request.body().fate();
        self.had_body = !fate.is_done();
        let Link { sender, connection, alarm, is_over, .. } = &mut *self;
        let mut answer = pin!(sender.try_send_request(*request));
        let asking = poll_fn(|context| {
            if !*is_over {
                *is_over = Pin::new(&mut *connection).poll(context).is_ready();
            }
            // Nothing but the connection moves it on, and that has just been asked.
            match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending if *is_over => Poll::Ready(None),
                polled => polled.map(Some),
            }
        });
        match fate.watch(alarm, times, asking).await {
            // Who reads the one would see another end than who reads the other.
            Ok(Some(Ok(response))) if has_two_ends(&response) => {
                Err(Failed { failure: Failure::Bad, unsent: None })
            }
            Ok(Some(Ok(response))) => Ok((response, self)),
            Ok(Some(Err(mut error))) => {
                let unsent = error.take_message().map(Box::new);
                Err(Failed { failure: fate.blame(error.error()), unsent })
            }
            Ok(None) => Err(Failed { failure: Failure::Closed, unsent: None }),
            Err(failure) => Err(Failed { failure, unsent: None }),
        }
    }

    /// Lets the connection go on by itself, until what is still to be sent on it is sent, and its answer read.
    pub(super) fn part<T>(self: Box<Self>) -> Option<T> {
        let Link { connection, place, .. } = *self;
        tokio::spawn(async move {
            let _ = connection.await;
            drop(place);
        });
        None
    }

    /// The connection itself, once it speaks HTTP no more, and what was read of it already.
    pub(in super::super) async fn into_socket(mut self: Box<Self>) -> (Socket, Bytes, Taken) {
        poll_fn(|context| {
            self.drive(context);
            if self.is_over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let Link { connection, place, .. } = *self;
        let parts = connection.into_parts();
        (parts.io.into_inner(), parts.read_buf, place)
    }
}
