//! A request's body: whether it says that it is JSON, and its bytes, bounded in size and time.
//!
//! Invariant: never more than [`BODY_MAX`] bytes are kept, whatever was declared.

use crate::admin::guard::{SEC_FETCH_SITE, is_same_site};
use crate::problem::Problem;
use axum::body::{Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::BodyExt;
use ratekeeper::decision::Wait;
use std::time::Duration;
use tokio::time::timeout;

/// Most bytes of a body. Beyond it: 413.
pub const BODY_MAX: u64 = 64 * 1024;

/// Most bytes of an oversized body that are read, and forgotten, before the answer. Closing on bytes
/// unread would reset the connection, and many clients would then miss the answer.
const LINGER_MAX: u64 = 1024 * 1024;

/// The whole body as text.
pub(super) async fn read<B>(request: Request<B>, pause: Duration) -> Result<String, Problem>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let (head, mut body) = request.into_parts();
    let waits = check_headers(&head.headers)?;
    let declared = body.size_hint().lower();
    if declared > LINGER_MAX || (waits && declared > BODY_MAX) {
        return Err(too_large());
    }
    let (mut bytes, mut seen) = (Vec::new(), 0_u64);
    while seen <= LINGER_MAX {
        let frame = match timeout(pause, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(bad("the body broke off; send the whole of it")),
            Err(_) => return Err(stalled(pause)),
        };
        let Ok(data) = frame.into_data() else { continue };
        seen = seen.saturating_add(data.len() as u64);
        if seen <= BODY_MAX {
            bytes.extend_from_slice(&data);
        }
        if body.is_end_stream() {
            break;
        }
    }
    if seen > BODY_MAX {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        bad(&format!("byte {at} of the body is not UTF-8; send JSON in UTF-8"))
    })
}

/// Whether whoever sends a body waits to be told so. A body without a declared type is taken for JSON; one of
/// another type is not, nor one from a page of another site.
fn check_headers(headers: &HeaderMap) -> Result<bool, Problem> {
    let refuse = |detail| Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    let (mut waits, mut browser) = (false, false);
    for (name, value) in headers {
        if name == header::CONTENT_TYPE && !is(value, "application/json") {
            return refuse(
                "the body is not declared as JSON; send `Content-Type: application/json`",
            );
        }
        if name == header::CONTENT_ENCODING && !is(value, "identity") {
            return refuse("the body is encoded; send it plain, without `Content-Encoding`");
        }
        waits |= name == header::EXPECT;
        browser |= name == header::ORIGIN || name == SEC_FETCH_SITE;
    }
    if browser && !is_same_site(headers) {
        let detail =
            "this came from a page of another site; ask from a program, or from this server's";
        return Err(Problem::new(StatusCode::FORBIDDEN, detail));
    }
    Ok(waits)
}

/// Whether a field says this, whatever it says beside it.
pub(super) fn is(value: &HeaderValue, wanted: &str) -> bool {
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes())
}

pub(super) fn bad(detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail)
}

fn too_large() -> Problem {
    let detail = format!("the body is larger than {BODY_MAX} bytes; send less at a time");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}

pub(super) fn stalled(pause: Duration) -> Problem {
    let detail = format!("nothing of the body came for {}; send it in one go", Wait(pause));
    Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
}
