//! A body in chunks, taken apart as it comes (RFC 9112, 7.1).
//!
//! Invariant: what differs from the grammar by one byte is no body at all: where it ends could be read in two
//! ways. Lines and trailers have a bound.

use super::head::{Bad, FIELDS_MAX, field};
use axum::http::HeaderMap;
use bytes::{Buf, Bytes, BytesMut};

/// Most bytes of a line with the size of a chunk, and with whatever extends it.
const LINE_MAX: usize = 4 * 1024;

/// Most bytes of all trailers.
const TRAILERS_MAX: usize = 16 * 1024;

/// Where in a body of chunks the next byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Chunks {
    /// In the line with the size of the next chunk.
    #[default]
    Size,
    /// Within a chunk, of which so many are left.
    Within(u64),
    /// Between a chunk and its end of line.
    Behind,
    /// In the trailers.
    Trailers,
    /// Behind all of it.
    Over,
}

/// What comes next of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
    /// The body is over.
    End,
    /// Nothing before more is read.
    More,
}

impl Chunks {
    /// Takes the next piece of what was read.
    pub(super) fn next(&mut self, read: &mut BytesMut) -> Result<Piece, Bad> {
        loop {
            match *self {
                Chunks::Size => {
                    let Some(line) = line(read)? else { return Ok(Piece::More) };
                    *self = match size(&line)? {
                        0 => Chunks::Trailers,
                        size => Chunks::Within(size),
                    };
                }
                Chunks::Within(left) => {
                    let count = at_most(left, read);
                    if count == 0 {
                        return Ok(Piece::More);
                    }
                    let left = left - count as u64;
                    *self = if left == 0 { Chunks::Behind } else { Chunks::Within(left) };
                    return Ok(Piece::Data(read.split_to(count).freeze()));
                }
                Chunks::Behind => match read.get(..2) {
                    Some(b"\r\n") => {
                        read.advance(2);
                        *self = Chunks::Size;
                    }
                    Some(_) => return Err(Bad),
                    None => return Ok(Piece::More),
                },
                Chunks::Trailers => return self.trailers(read),
                Chunks::Over => return Ok(Piece::End),
            }
        }
    }

    fn trailers(&mut self, read: &mut BytesMut) -> Result<Piece, Bad> {
        let mut found = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let (length, trailers) = match httparse::parse_headers(read, &mut found) {
            Ok(httparse::Status::Complete((length, fields))) => {
                let mut trailers = HeaderMap::with_capacity(fields.len());
                for own in fields {
                    let value = Bytes::copy_from_slice(own.value);
                    let (name, value) = field(own.name.as_bytes(), value)?;
                    trailers.append(name, value);
                }
                (length, trailers)
            }
            Ok(httparse::Status::Partial) if read.len() < TRAILERS_MAX => return Ok(Piece::More),
            _ => return Err(Bad),
        };
        read.advance(length);
        *self = Chunks::Over;
        Ok(if trailers.is_empty() { Piece::End } else { Piece::Trailers(trailers) })
    }
}

/// So many bytes, or as many as were read.
pub(super) fn at_most(left: u64, read: &BytesMut) -> usize {
    usize::try_from(left).map_or(read.len(), |left| left.min(read.len()))
}

/// The next line without its end, if it is there.
fn line(read: &mut BytesMut) -> Result<Option<BytesMut>, Bad> {
    let within = &read[..read.len().min(LINE_MAX)];
    let Some(end) = within.iter().position(|byte| *byte == b'\n') else {
        return if within.len() == LINE_MAX { Err(Bad) } else { Ok(None) };
    };
    let mut line = read.split_to(end + 1);
    if !line.ends_with(b"\r\n") {
        return Err(Bad);
    }
    line.truncate(end - 1);
    Ok(Some(line))
}

/// The size that a line begins with; what extends it says nothing to us.
fn size(line: &[u8]) -> Result<u64, Bad> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = line[digits..].trim_ascii_start();
    // Some servers fill the line up with spaces.
    if !matches!(rest.first(), None | Some(b';')) || rest.contains(&b'\r') {
        return Err(Bad);
    }
    let text = std::str::from_utf8(&line[..digits]).map_err(|_| Bad)?;
    u64::from_str_radix(text, 16).map_err(|_| Bad)
}

#[cfg(test)]
mod tests;
