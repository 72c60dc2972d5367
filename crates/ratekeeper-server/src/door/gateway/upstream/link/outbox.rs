//! What is still to be written to an upstream.
//!
//! Invariant: bytes leave in the order in which they were put in, each once. Small pieces travel with what is
//! before them; large ones are not copied.

use crate::socket::Socket;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::fmt::Write;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// Pieces up to this size are copied, so that a request and its short body are one packet.
const COPIED_MAX: usize = 4 * 1024;

/// Bytes on their way: first `buffer`, then `piece`, then `tail`.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) buffer: BytesMut,
    piece: Bytes,
    tail: &'static [u8],
    /// Whether something was written that may not have left yet.
    lingers: bool,
    /// Bytes of the request that were written.
    pub(super) written: u64,
}

impl Outbox {
    /// Whether all has been taken by the connection.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.piece.is_empty() && self.tail.is_empty() && !self.lingers
    }

    /// How far it is, if the upstream is waited for.
    pub(super) fn stuck_at(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.written)
    }

    /// Whether another piece may be put in.
    pub(super) fn has_room(&self) -> bool {
        self.piece.is_empty() && self.tail.is_empty() && self.buffer.len() <= COPIED_MAX
    }

    /// Forgets what has not left.
    pub(super) fn clear(&mut self) {
        *self = Outbox { written: self.written, ..Outbox::default() };
    }

    /// Puts in a piece, with `after` behind it; only where there is room.
    pub(super) fn put(&mut self, piece: Bytes, after: &'static [u8]) {
        if piece.len() <= COPIED_MAX {
            self.buffer.put_slice(&piece);
            self.buffer.put_slice(after);
        } else {
            (self.piece, self.tail) = (piece, after);
        }
    }

    /// Puts in a piece as a chunk.
    pub(super) fn put_chunk(&mut self, piece: Bytes) {
        let _ = write!(self.buffer, "{:x}\r\n", piece.len());
        self.put(piece, b"\r\n");
    }

    /// Writes all that is there.
    pub(super) fn poll_write(
        &mut self,
        socket: &mut Socket,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let slices = [&self.buffer[..], &self.piece, self.tail].map(IoSlice::new);
            if slices.iter().all(|slice| slice.is_empty()) {
                break;
            }
            let mut socket = Pin::new(&mut *socket);
            let written = match self.piece.is_empty() && self.tail.is_empty() {
                true => ready!(socket.as_mut().poll_write(context, &self.buffer))?,
                false => ready!(socket.as_mut().poll_write_vectored(context, &slices))?,
            };
            if written == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            self.lingers = true;
            self.written += written as u64;
            self.advance(written);
        }
        if self.lingers {
            ready!(Pin::new(socket).poll_flush(context))?;
            self.lingers = false;
        }
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, written: usize) {
        let of_buffer = written.min(self.buffer.len());
        self.buffer.advance(of_buffer);
        let of_piece = (written - of_buffer).min(self.piece.len());
        self.piece.advance(of_piece);
        self.tail = &self.tail[(written - of_buffer - of_piece).min(self.tail.len())..];
    }
}
