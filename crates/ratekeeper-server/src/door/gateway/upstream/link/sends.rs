//! A request on its way to an upstream: how its body is framed, and how much is left.
//!
//! Invariant: an upstream never takes a part of a body for the whole: what was announced is sent in full, or
//! its connection is cut.

use super::super::super::body::Outgoing;
use super::Link;
use super::head::{self, line};
use super::outbox::Outbox;
use axum::http::{HeaderMap, Request};
use bytes::{BufMut, Bytes};
use hyper::body::{Body, Frame};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How a body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// There is nothing left of it, or there was none.
    Nothing,
    /// So many bytes are left.
    Length(u64),
    Chunks,
}

/// A request cannot be sent to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Its caller does not send all of it.
    ByCaller,
    /// The upstream takes no more.
    ByUpstream,
}

impl Sent {
    /// Sends a piece of the body; what is left then.
    pub(super) fn put(self, piece: Bytes, out: &mut Outbox) -> Result<Sent, Stopped> {
        match self {
            _ if piece.is_empty() => Ok(self),
            Sent::Nothing => Err(Stopped::ByCaller),
            Sent::Length(left) => {
                let left = left.checked_sub(piece.len() as u64).ok_or(Stopped::ByCaller)?;
                out.put(piece, b"");
                Ok(if left == 0 { Sent::Nothing } else { Sent::Length(left) })
            }
            Sent::Chunks => {
                out.put_chunk(piece);
                Ok(Sent::Chunks)
            }
        }
    }

    /// Sends the end of the body; what is left then.
    pub(super) fn end(self, trailers: &HeaderMap, out: &mut Outbox) -> Result<Sent, Stopped> {
        match self {
            Sent::Nothing => {}
            Sent::Length(_) => return Err(Stopped::ByCaller),
            Sent::Chunks => {
                out.buffer.put_slice(b"0\r\n");
                trailers.iter().for_each(|(name, value)| line(name, value, &mut out.buffer));
                out.buffer.put_slice(b"\r\n");
            }
        }
        Ok(Sent::Nothing)
    }
}

impl Link {
    /// Begins with a request.
    pub(super) fn begin(&mut self, request: Box<Request<Outgoing>>) {
        (self.out.written, self.early) = (0, 0);
        self.sent = head::write(&request, &mut self.out.buffer);
        self.request = Some(request);
    }

    /// Sends no more; what was begun cannot be followed by another request.
    pub(super) fn stop_sending(&mut self) {
        self.out.clear();
        (self.sent, self.lasts) = (Sent::Nothing, false);
    }

    /// Sends what there is of the request.
    pub(super) fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Stopped>> {
        loop {
            // What is there of the body travels with what is before it.
            let taken = self.poll_take(context)?;
            let written = ready!(self.out.poll_write(&mut self.socket, context));
            written.map_err(|_| Stopped::ByUpstream)?;
            if self.sent == Sent::Nothing {
                return Poll::Ready(Ok(()));
            }
            ready!(taken);
        }
    }

    /// Takes of the body what there is room for, if any of it is there.
    fn poll_take(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Stopped>> {
        while let Some(request) = &mut self.request
            && self.sent != Sent::Nothing
            && self.out.has_room()
        {
            let frame = ready!(Pin::new(request.body_mut()).poll_frame(context));
            let frame = frame.transpose().map_err(|_| Stopped::ByCaller)?;
            self.sent = match frame.map(Frame::into_data) {
                Some(Ok(data)) => self.sent.put(data, &mut self.out)?,
                Some(Err(frame)) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    self.sent.end(&trailers, &mut self.out)?
                }
                None => self.sent.end(&HeaderMap::new(), &mut self.out)?,
            };
        }
        Poll::Ready(Ok(()))
    }
}
