//! The body of a request on its way to an upstream: how it is framed, and how much is left.
//!
//! Invariant: an upstream never takes a part of a body for the whole: what was announced is sent in full, or
//! its connection is cut.

use super::head::line;
use super::outbox::Outbox;
use axum::http::HeaderMap;
use bytes::{BufMut, Bytes};

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
