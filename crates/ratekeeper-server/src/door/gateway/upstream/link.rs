//! A connection to an upstream on which requests go one after the other: HTTP/1.1.
//!
//! It is driven by whoever has asked: the task that waits for an answer also sends the request and reads the
//! answer, and is woken once for all of it. Invariants: while nobody has asked, nobody drives it; it is looked
//! at before it is used again. A request of which no byte was written, or taken of its body, can be sent
//! elsewhere.

mod apart;
mod chunks;
mod head;
mod outbox;
mod reads;
mod sends;

pub(super) use apart::Apart;

use super::super::alarm::Alarm;
use super::super::body::Outgoing;
use super::super::failure::{Failed, Failure};
use super::Times;
use super::pool::Taken;
use crate::socket::Socket;
use axum::http::header::HOST;
use axum::http::{HeaderValue, StatusCode, Uri, Version};
use bytes::{Bytes, BytesMut};
use head::Ends;
use hyper::body::SizeHint;
use hyper::{Request, Response};
use outbox::Outbox;
use sends::{Sent, Stopped};
use std::future::poll_fn;
use std::mem;
use std::task::{Context, Poll, Waker};
use tokio::time::Instant;

/// Room for what is read at once, at first.
const ROOM: usize = 8 * 1024;

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
    /// Answers before the answer (103 and its like).
    early: usize,
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
            early: 0,
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
        if self.room > ROOM {
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
                let is_whole = self.out.written == 0 && fate.is_untouched();
                let unsent = self.request.take().filter(|_| is_whole);
                Err(Failed { failure, unsent })
            }
        }
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
