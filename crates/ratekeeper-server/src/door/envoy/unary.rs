//! A call of gRPC that is one message each way, over HTTP/2.
//!
//! A message is a byte that says whether it is compressed, its length in four, and itself; the answer's status
//! follows in a trailer. The library for gRPC does the same for any stream of messages; for one of each this is
//! less work. Invariant: what is read is bounded before it is kept; the first message is answered, whole, and what
//! comes behind it in another frame is not read.

use super::ask::MESSAGE_MAX;
use crate::serve::HEADERS_MAX;
use axum::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, Request, Response, Version};
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::pin::Pin;
use std::task::{Context, Poll};
use tonic::{Code, Status};

/// What is before a message.
const PREFIX: usize = 5;

/// The media type of calls; what may follow says how the message is written.
const GRPC: &str = "application/grpc";
const PROTO: [&str; 2] = ["application/grpc", "application/grpc+proto"];

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// The message of a call.
pub(super) async fn read(request: Request<Incoming>) -> Result<Bytes, Status> {
    let (head, mut body) = request.into_parts();
    let field = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    // What follows a `;` says nothing of how a message is written.
    let kind = field(CONTENT_TYPE).unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is_grpc = PROTO.iter().any(|own| kind.eq_ignore_ascii_case(own));
    // Over HTTP/1.1 nobody would be told how it went: that is in a trailer.
    if head.method != Method::POST || head.version != Version::HTTP_2 || !is_grpc {
        let text = format!("this is no call of gRPC; send POST over HTTP/2, content-type {GRPC}");
        return Err(Status::invalid_argument(text));
    }
    if head.headers.len() > HEADERS_MAX {
        let text = format!("the call has more than {HEADERS_MAX} header fields; send fewer");
        return Err(Status::invalid_argument(text));
    }
    if field(ENCODING).is_some_and(|own| own != "identity") {
        return Err(Status::unimplemented("messages are not compressed here; send them plain"));
    }
    let mut read = next(&mut body).await?;
    // The usual case is that all of it came at once.
    if length(&read)?.is_none_or(|length| read.len() < PREFIX + length) {
        let mut more = BytesMut::from(&read[..]);
        while length(&more)?.is_none_or(|length| more.len() < PREFIX + length) {
            let piece = next(&mut body).await?;
            if piece.is_empty() {
                return Err(Status::invalid_argument("the message is not whole; send all of it"));
            }
            more.extend_from_slice(&piece);
        }
        read = more.freeze();
    }
    if length(&read)?.is_some_and(|length| read.len() > PREFIX + length) {
        return Err(Status::invalid_argument("there is more than one message; send one"));
    }
    Ok(read.slice(PREFIX..))
}

/// The next piece of a body; an empty one at its end.
async fn next(body: &mut Incoming) -> Result<Bytes, Status> {
    loop {
        match body.frame().await {
            None => return Ok(Bytes::new()),
            Some(Err(_)) => return Err(Status::cancelled("the call has broken off")),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) if data.is_empty() => {}
                Ok(data) => return Ok(data),
                Err(_) => return Ok(Bytes::new()),
            },
        }
    }
}

/// How long the message is, if that is there.
fn length(bytes: &[u8]) -> Result<Option<usize>, Status> {
    let Some((prefix, _)) = bytes.split_first_chunk::<PREFIX>() else { return Ok(None) };
    let [compressed, length @ ..] = *prefix;
    if compressed != 0 {
        return Err(Status::unimplemented("messages are not compressed here; send them plain"));
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MESSAGE_MAX {
        let text = format!("the message has {length} bytes; send at most {MESSAGE_MAX}");
        return Err(Status::invalid_argument(text));
    }
    Ok(Some(length))
}

/// Bytes of a message that are sent as one frame. The library for HTTP/2 sends larger ones by themselves, each with a
/// call of the system before and after it; smaller ones leave with whatever else is to be sent.
const PIECE: usize = 255;

/// Bytes of a usual message.
const USUAL: usize = 256;

/// Where a message is written, behind its prefix.
pub(super) fn begin() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(USUAL);
    bytes.extend_from_slice(&[0; PREFIX]);
    bytes
}

/// An answer of the message that was written there.
pub(super) fn answer(mut bytes: Vec<u8>) -> Response<Reply> {
    let length = u32::try_from(bytes.len() - PREFIX).unwrap_or(u32::MAX);
    bytes[1..PREFIX].copy_from_slice(&length.to_be_bytes());
    let mut response = Response::new(Reply::Message(bytes.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(GRPC));
    response
}

/// An answer without one.
pub(super) fn failed(status: &Status) -> Response<Reply> {
    let response = status.clone().into_http::<tonic::body::Body>();
    response.map(Reply::Other)
}

/// The body of an answer.
pub enum Reply {
    /// The message, with its prefix.
    Message(Bytes),
    /// How it went, after the message.
    Trailer,
    /// Nothing any more.
    Over,
    /// Whatever the library for gRPC says.
    Other(tonic::body::Body),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let (frame, next) = match &mut *self {
            Reply::Message(bytes) if bytes.len() > PIECE => {
                return Poll::Ready(Some(Ok(Frame::data(bytes.split_to(PIECE)))));
            }
            Reply::Message(bytes) => (Frame::data(std::mem::take(bytes)), Reply::Trailer),
            Reply::Trailer => {
                let mut trailer = HeaderMap::with_capacity(1);
                trailer.insert(STATUS, HeaderValue::from_static("0"));
                (Frame::trailers(trailer), Reply::Over)
            }
            Reply::Over => return Poll::Ready(None),
            Reply::Other(body) => return Pin::new(body).poll_frame(context),
        };
        *self = next;
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Reply::Message(_) | Reply::Trailer => false,
            Reply::Over => true,
            Reply::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        // An answer of gRPC does not say its length: that is before each message.
        match self {
            Reply::Other(body) => body.size_hint(),
            _ => SizeHint::default(),
        }
    }
}

/// The status of a call that nobody answers.
pub(super) fn unknown() -> Response<Reply> {
    failed(&Status::new(Code::Unimplemented, "there is no such method here"))
}
