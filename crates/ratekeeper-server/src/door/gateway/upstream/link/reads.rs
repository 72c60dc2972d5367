//! An answer on its way from an upstream.
//!
//! Invariant: no more is read than is asked for, so that a slow caller slows its upstream down.

use super::super::super::failure::Failure;
use super::chunks::Piece;
use super::head::{self, Answer, Bad, Ends};
use super::{Link, is_switching};
use axum::http::{Method, Response};
use bytes::Bytes;
use hyper::body::Frame;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncReadExt;

/// Most bytes of an answer's head.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Most answers before the answer (103 and its like). Beyond it: 502.
const EARLY_MAX: usize = 64;

/// Room for what is read at once, where a connection has much to say.
const ROOM_MAX: usize = 64 * 1024;

impl Link {
    /// Reads until there is an answer, of which only the body is missing. What comes before it (103 and its
    /// like) is passed over.
    pub(super) fn poll_answer(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Response<()>, Failure>> {
        loop {
            let method = self.request.as_ref().map_or(&Method::GET, |request| request.method());
            let answer = head::read(&mut self.read, method).map_err(|Bad| Failure::Bad)?;
            if let Some(Answer { response, ends, lasts }) = answer {
                (self.ends, self.lasts) = (ends, self.lasts && lasts);
                if !response.status().is_informational() || is_switching(&response) {
                    return Poll::Ready(Ok(response));
                }
                self.early += 1;
                if self.early > EARLY_MAX {
                    return Poll::Ready(Err(Failure::Bad));
                }
            } else if self.read.len() >= HEAD_BYTES_MAX {
                return Poll::Ready(Err(Failure::Bad));
            } else if ready!(self.poll_fill(context)).unwrap_or(0) == 0 {
                return Poll::Ready(Err(Failure::Closed));
            }
        }
    }

    /// The next piece of the answer; none behind its end.
    pub(in super::super) fn poll_piece(
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
    pub(super) fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
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
}
