//! Requests that the parsers of HTTP let pass and we do not.
//!
//! Invariant: a request that passes names one host, or none where its version needs none, within the bounds of
//! its line and its fields.

use super::{HEADERS_MAX, LINE_MAX};
use crate::problem::Problem;
use axum::http::{HeaderValue, StatusCode, Version, header};
use hyper::Request;

/// What the parsers of both versions let pass and we do not. The host of a request is in its field `Host`,
/// wherever it was.
pub(crate) fn judge<B>(request: &mut Request<B>) -> Result<(), Problem> {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if request.method().as_str().len() + target > LINE_MAX {
        let detail = format!("the request line is longer than {LINE_MAX} bytes; send less in it");
        return Err(Problem::new(StatusCode::URI_TOO_LONG, detail));
    }
    if request.headers().len() > HEADERS_MAX {
        let detail = format!("the request has more than {HEADERS_MAX} header fields; send fewer");
        return Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, detail));
    }
    if let Some(host) = request.uri().authority()
        && let Ok(host) = HeaderValue::from_str(host.as_str())
    {
        request.headers_mut().insert(header::HOST, host);
    }
    let hosts = request.headers().get_all(header::HOST).iter().take(2).count();
    match hosts {
        0 if request.version() == Version::HTTP_11 => {
            let detail = "the request names no host; send the field `Host`";
            Err(Problem::new(StatusCode::BAD_REQUEST, detail))
        }
        0 | 1 => Ok(()),
        _ => {
            let detail = "the request names more than one host; send one field `Host`";
            Err(Problem::new(StatusCode::BAD_REQUEST, detail))
        }
    }
}
