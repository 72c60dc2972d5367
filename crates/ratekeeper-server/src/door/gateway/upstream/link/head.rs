//! Heads: of a request as bytes, and of an answer from bytes.
//!
//! Invariant: where the body of an answer ends is read in one way, or the answer is none (RFC 9112, 6.3).

use super::chunks::{Chunks, Piece, at_most};
use super::sends::Sent;
use axum::http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use axum::http::{Method, Request, Response, StatusCode, Version};
use bytes::{BufMut, Bytes, BytesMut};
use hyper::body::Body;
use hyper::ext::ReasonPhrase;
use std::fmt::Write;
use std::mem::MaybeUninit;

/// Most header fields of an answer, and of trailers.
pub(super) const FIELDS_MAX: usize = 100;

/// What an upstream sent is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bad;

/// Where the body of an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// After so many bytes.
    After(u64),
    Chunks(Chunks),
    /// With its connection.
    Close,
}

impl Ends {
    /// Takes the next piece of what was read.
    pub(super) fn next(&mut self, read: &mut BytesMut) -> Result<Piece, Bad> {
        let count = match self {
            Ends::After(0) => return Ok(Piece::End),
            Ends::After(left) => at_most(*left, read),
            Ends::Close => read.len(),
            Ends::Chunks(chunks) => {
                let piece = chunks.next(read);
                if matches!(piece, Ok(Piece::End | Piece::Trailers(_))) {
                    *self = Ends::After(0);
                }
                return piece;
            }
        };
        if let Ends::After(left) = self {
            *left -= count as u64;
        }
        match count {
            0 => Ok(Piece::More),
            count => Ok(Piece::Data(read.split_to(count).freeze())),
        }
    }
}

/// An answer without its body.
pub(super) struct Answer {
    pub(super) response: Response<()>,
    pub(super) ends: Ends,
    /// Whether its connection can be used for another request.
    pub(super) lasts: bool,
}

/// Writes the head of a request; how its body is to be sent.
pub(super) fn write(request: &Request<impl Body>, out: &mut BytesMut) -> Sent {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    for part in [request.method().as_str(), " ", target, " HTTP/1.1\r\n"] {
        out.put_slice(part.as_bytes());
    }
    let mut length = None;
    for (name, value) in request.headers() {
        if name == CONTENT_LENGTH {
            // Several are the same one: whoever has read the request has seen to that.
            length = value.to_str().ok().and_then(|text| text.parse().ok()).or(length);
        } else if name != TRANSFER_ENCODING {
            line(name, value, out);
        }
    }
    let sent = match (request.body().is_end_stream(), length) {
        (true, _) | (false, Some(0)) => Sent::Nothing,
        (false, Some(length)) => Sent::Length(length),
        (false, None) => Sent::Chunks,
    };
    if sent == Sent::Chunks {
        out.put_slice(b"transfer-encoding: chunked\r\n");
    } else if let Some(length) = length {
        let _ = write!(out, "content-length: {length}\r\n");
    }
    out.put_slice(b"\r\n");
    sent
}

/// Writes a field.
pub(super) fn line(name: &HeaderName, value: &HeaderValue, out: &mut BytesMut) {
    for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
        out.put_slice(part);
    }
}

/// A field from its parts.
pub(super) fn field(name: &[u8], value: Bytes) -> Result<(HeaderName, HeaderValue), Bad> {
    let name = HeaderName::from_bytes(name).map_err(|_| Bad)?;
    Ok((name, HeaderValue::from_maybe_shared(value).map_err(|_| Bad)?))
}

/// Takes the answer to a request of this method of what was read, if all of its head is there.
pub(super) fn read(read: &mut BytesMut, method: &Method) -> Result<Option<Answer>, Bad> {
    if read.is_empty() {
        return Ok(None);
    }
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut parsed = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let status = config.parse_response_with_uninit_headers(&mut parsed, read, &mut fields);
    let httparse::Status::Complete(length) = status.map_err(|_| Bad)? else { return Ok(None) };
    let status = StatusCode::from_u16(parsed.code.unwrap_or(0)).map_err(|_| Bad)?;
    let (reason, is_11) = (reason(status, parsed.reason), parsed.version == Some(1));
    // Where the parts are, since they are to be kept without a copy.
    let start = read.as_ptr() as usize;
    let place = |part: &[u8]| {
        let at = part.as_ptr() as usize - start;
        (at, at + part.len())
    };
    let places = parsed.headers.iter().map(|field| {
        // An empty value may be a text that is nowhere.
        let value = if field.value.is_empty() { (0, 0) } else { place(field.value) };
        (place(field.name.as_bytes()), value)
    });
    let places: Vec<_> = places.collect();
    let head = read.split_to(length).freeze();
    let mut said = Said::default();
    let mut headers = HeaderMap::with_capacity(places.len() + FIELDS_ADDED);
    for (name, value) in &places {
        let (name, value) = field(&head[name.0..name.1], head.slice(value.0..value.1))?;
        said.note(&name, &value)?;
        headers.append(name, value);
    }
    if status == StatusCode::NO_CONTENT {
        // It says nothing, and over HTTP/2 breaks the answer.
        headers.remove(CONTENT_LENGTH);
    } else if said.lengths > 1 {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(said.length.unwrap_or(0)));
    }
    let ends = said.ends(status, method, is_11)?;
    let lasts = !said.closes && (is_11 || said.stays) && ends != Ends::Close;
    let mut response = Response::new(());
    (*response.status_mut(), *response.version_mut()) = (status, Version::HTTP_11);
    *response.headers_mut() = headers;
    if let Some(reason) = reason {
        response.extensions_mut().insert(reason);
    }
    Ok(Some(Answer { response, ends, lasts }))
}

/// Fields that limits and the caller's connection usually add to an answer.
const FIELDS_ADDED: usize = 6;

/// What an answer calls its status, where it is something of its own.
fn reason(status: StatusCode, said: Option<&str>) -> Option<ReasonPhrase> {
    let said = said.filter(|said| !said.is_empty() && status.canonical_reason() != Some(*said))?;
    ReasonPhrase::try_from(said.as_bytes()).ok()
}

/// What the fields of an answer say about its end.
#[derive(Default)]
struct Said {
    length: Option<u64>,
    /// How often it is said.
    lengths: usize,
    is_chunked: bool,
    closes: bool,
    stays: bool,
}

impl Said {
    fn note(&mut self, name: &HeaderName, value: &HeaderValue) -> Result<(), Bad> {
        if name == CONTENT_LENGTH {
            // A list of the same length several times is one.
            for part in value.to_str().map_err(|_| Bad)?.split(',') {
                let digits = part.trim_matches([' ', '\t']);
                let is_number =
                    !digits.is_empty() && digits.bytes().all(|own| own.is_ascii_digit());
                self.lengths += 1;
                let length = digits.parse().ok().filter(|_| is_number).ok_or(Bad)?;
                if self.length.replace(length).is_some_and(|other| other != length) {
                    return Err(Bad);
                }
            }
        } else if name == TRANSFER_ENCODING {
            // Another coding would have to be undone here, since it is not the caller's.
            if self.is_chunked || !value.as_bytes().eq_ignore_ascii_case(b"chunked") {
                return Err(Bad);
            }
            self.is_chunked = true;
        } else if name == CONNECTION {
            for word in value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                self.closes |= word.eq_ignore_ascii_case(b"close");
                self.stays |= word.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        Ok(())
    }

    fn ends(&self, status: StatusCode, method: &Method, is_11: bool) -> Result<Ends, Bad> {
        let has_none = method == Method::HEAD
            || status.is_informational()
            || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        match (self.is_chunked, self.length) {
            // Who reads the one would see another end than who reads the other.
            (true, Some(_)) => Err(Bad),
            (true, None) if !is_11 => Err(Bad),
            _ if has_none => Ok(Ends::After(0)),
            (true, None) => Ok(Ends::Chunks(Chunks::default())),
            (false, Some(length)) => Ok(Ends::After(length)),
            (false, None) => Ok(Ends::Close),
        }
    }
}

#[cfg(test)]
mod tests;
