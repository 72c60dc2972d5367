//! A connection to an upstream on which requests go one after the other: HTTP/1.1.
//!
//! It is driven by whoever has asked: the task that waits for an answer also sends the request and reads the
//! answer, and is woken once for all of it. Invariants: while nobody has asked, nobody drives it; it is looked
//! at before it is used again. A request of which no byte was written can be sent elsewhere.

mod apart;
mod chunks;
mod head;
mod outbox;
mod sent;

pub(super) use apart::Apart;

use super::super::alarm::Alarm;
use super::super::body::Outgoing;
use super::super::failure::{Failed, Failure};
use super::Times;
use super::pool::Taken;
use crate::socket::Socket;
use axum::http::header::{HOST, HeaderMap};
use axum::http::{HeaderValue, Method, StatusCode, Uri, Version};
use bytes::{Bytes, BytesMut};
use chunks::Piece;
use head::{Answer, Bad, Ends};
use hyper::body::{Body, Frame, SizeHint};
use hyper::{Request, Response};
use outbox::Outbox;
use sent::{Sent, Stopped};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};
use std::{io, mem};
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

/// Most bytes of an answer's head.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Room for what is read at once: at first, and where a connection has much to say.
const ROOM: usize = 8 * 1024;
const ROOM_MAX: usize = 64 * 1024;

/// Names the target of a request in the form that HTTP/1.1 has; without a host it is for `authority`.
pub(super) fn address(request: &mut Request<Outgoing>, authority: &str) {
    *request.version_mut() = Version::HTTP_11;
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

/// A connection on which requests go one after the other.
pub(in super::super) struct Link {
    socket: Socket,
    /// What was read and not used.
    read: BytesMut,
    room: usize,
    out: Outbox,
    /// The request, until all of it was sent or it was answered.
    request: Option<Box<Request<Outgoing>>>,
    sent: Sent,
    ends: Ends,
    /// Whether another request can follow the answer.
    lasts: bool,
    /// Since when it is kept.
    pub(super) kept: Instant,
    /// Its place among the connections of the gateway.
    place: Taken,
    /// Rings when an answer does not begin in time.
    alarm: Alarm,
}

impl Link {
    /// A connection that nothing was sent on.
    pub(super) fn new(socket: Socket, place: Taken) -> Box<Link> {
        Box::new(Link {
            socket,
            read: BytesMut::new(),
            room: ROOM,
            out: Outbox::default(),
            request: None,
            sent: Sent::Nothing,
            ends: Ends::After(0),
            lasts: true,
            kept: Instant::now(),
            place,
            alarm: Alarm::default(),
        })
    }

    /// Whether the last request is over, and another may follow it.
    pub(super) fn is_free(&self) -> bool {
        self.lasts && self.is_over() && !self.is_sending() && self.read.is_empty()
    }

    /// The same, and the server has not closed the connection since, nor said anything unasked.
    pub(super) fn is_usable(&mut self) -> bool {
        let nobody = &mut Context::from_waker(Waker::noop());
        self.is_free() && self.poll_fill(nobody).is_pending()
    }

    /// Keeps no more memory than a quiet connection needs.
    pub(super) fn shrink(&mut self) {
        if self.read.capacity() > 2 * ROOM {
            (self.read, self.room) = (BytesMut::new(), ROOM);
        }
    }

    /// Whether some of the request has still to be sent.
    pub(super) fn is_sending(&self) -> bool {
        self.sent != Sent::Nothing || !self.out.is_empty()
    }

    /// Whether all of the answer was read.
    pub(super) fn is_over(&self) -> bool {
        self.ends == Ends::After(0)
    }

    /// How much of the answer is left, as far as it is known.
    pub(super) fn size_hint(&self) -> SizeHint {
        match self.ends {
            Ends::After(left) => SizeHint::with_exact(left),
            Ends::Chunks(_) | Ends::Close => SizeHint::default(),
        }
    }

    /// Asks on this connection.
    pub(super) async fn ask(
        mut self: Box<Self>,
        request: Box<Request<Outgoing>>,
        times: Times,
    ) -> Result<(Response<()>, Box<Link>), Failed> {
        let fate = request.body().fate();
        self.begin(request);
        let mut alarm = mem::take(&mut self.alarm);
        let asking = poll_fn(|context| {
            match self.poll_send(context) {
                Poll::Ready(Err(Stopped::ByCaller)) => {
                    return Poll::Ready(Err(fate.fault().unwrap_or(Failure::Left)));
                }
                // It may have answered why.
                Poll::Ready(Err(Stopped::ByUpstream)) => self.stop_sending(),
                _ => {}
            }
            self.poll_answer(context)
        });
        let answered = fate.watch(&mut alarm, times, asking).await;
        self.alarm = alarm;
        match answered.flatten() {
            // It cannot go on with what it has not even read the request for.
            Ok(response) if is_switching(&response) && self.is_sending() => {
                Err(Failed { failure: Failure::Bad, unsent: None })
            }
            Ok(response) => {
                if !self.is_sending() {
                    self.request = None;
                }
                Ok((response, self))
            }
            Err(failure) => {
                let unsent = self.request.take().filter(|_| !self.out.has_written);
                Err(Failed { failure, unsent })
            }
        }
    }

    /// Begins with a request.
    fn begin(&mut self, request: Box<Request<Outgoing>>) {
        self.out.has_written = false;
        self.sent = head::write(&request, &mut self.out.buffer);
        self.request = Some(request);
    }

    /// Sends no more; what was begun cannot be followed by another request.
    fn stop_sending(&mut self) {
        self.out.clear();
        (self.sent, self.lasts) = (Sent::Nothing, false);
    }

    /// Sends what there is of the request.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Stopped>> {
        loop {
            let written = ready!(self.out.poll_write(&mut self.socket, context));
            written.map_err(|_| Stopped::ByUpstream)?;
            let body = self.request.as_mut().filter(|_| self.sent != Sent::Nothing);
            let Some(body) = body.map(|request| request.body_mut()) else {
                return Poll::Ready(Ok(()));
            };
            match ready!(Pin::new(body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.sent = self.sent.put(data, &mut self.out)?,
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap_or_default();
                        self.sent = self.sent.end(&trailers, &mut self.out)?;
                    }
                },
                Some(Err(_)) => return Poll::Ready(Err(Stopped::ByCaller)),
                None => self.sent = self.sent.end(&HeaderMap::new(), &mut self.out)?,
            }
        }
    }

    /// Reads until there is an answer, of which only the body is missing. What comes before it (103 and its
    /// like) is passed over.
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Result<Response<()>, Failure>> {
        let method = self.request.as_ref().map_or(Method::GET, |request| request.method().clone());
        loop {
            let answer = head::read(&mut self.read, &method).map_err(|Bad| Failure::Bad)?;
            if let Some(Answer { response, ends, lasts }) = answer {
                (self.ends, self.lasts) = (ends, self.lasts && lasts);
                if !response.status().is_informational() || is_switching(&response) {
                    return Poll::Ready(Ok(response));
                }
            } else if self.read.len() >= HEAD_BYTES_MAX {
                return Poll::Ready(Err(Failure::Bad));
            } else if ready!(self.poll_fill(context)).map_or(0, |count| count) == 0 {
                return Poll::Ready(Err(Failure::Closed));
            }
        }
    }

    /// The next piece of the answer; none behind its end.
    pub(super) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        loop {
            match self.ends.next(&mut self.read) {
                Err(Bad) => return Poll::Ready(Some(Err(Failure::Bad))),
                Ok(Piece::End) => return Poll::Ready(None),
                Ok(Piece::Data(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Ok(Piece::Trailers(trailers)) => {
                    return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
                Ok(Piece::More) => {}
            }
            match ready!(self.poll_fill(context)) {
                Ok(0) if self.ends == Ends::Close => self.ends = Ends::After(0),
                Ok(0) | Err(_) => return Poll::Ready(Some(Err(Failure::Closed))),
                Ok(_) => {}
            }
        }
    }

    /// Reads what there is.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut spare = self.read.capacity() - self.read.len();
        if spare < self.room / 2 {
            self.read.reserve(self.room);
            spare = self.read.capacity() - self.read.len();
        }
        let count = ready!(pin!(self.socket.read_buf(&mut self.read)).poll(context))?;
        if count == spare {
            self.room = (2 * self.room).min(ROOM_MAX);
        }
        Poll::Ready(Ok(count))
    }

    /// The connection itself, once it speaks HTTP no more, and what was read of it already.
    pub(in super::super) fn into_socket(self: Box<Self>) -> (Socket, Bytes, Taken) {
        let Link { socket, read, place, .. } = *self;
        (socket, read.freeze(), place)
    }
}

/// Whether something other than HTTP follows an answer.
pub(super) fn is_switching<B>(response: &Response<B>) -> bool {
    response.status() == StatusCode::SWITCHING_PROTOCOLS
}
