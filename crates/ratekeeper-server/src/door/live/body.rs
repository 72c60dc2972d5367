//! Bodies of rules: YAML or JSON, larger than others, and still bounded in size and time.
//!
//! Invariant: never more than [`RULES_MAX`] bytes are kept, whatever was declared.

use crate::door::body::{bad, is, stalled};
use crate::problem::Problem;
use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt;
use ratekeeper::rule::file::BYTES_MAX;
use std::time::Duration;
use tokio::time::timeout;

/// Most bytes of a body with rules. Beyond it: 413.
pub const RULES_MAX: usize = BYTES_MAX;

/// How bodies of rules may be declared.
const KINDS: [&str; 5] =
    ["application/yaml", "application/x-yaml", "text/yaml", "text/plain", "application/json"];

/// The whole body as text.
pub(super) async fn read(request: Request, pause: Duration) -> Result<String, Problem> {
    let (head, mut body) = request.into_parts();
    check_headers(&head.headers)?;
    let too_large = || {
        let detail = format!("the body is larger than {} MiB; send less", RULES_MAX >> 20);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    if body.size_hint().lower() > RULES_MAX as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    loop {
        let frame = match timeout(pause, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(bad("the body broke off; send the whole of it")),
            Err(_) => return Err(stalled(pause)),
        };
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > RULES_MAX {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        bad(&format!("byte {at} of the body is not UTF-8; send YAML or JSON in UTF-8"))
    })?;
    // Nothing at all is a variable that was never set more often than it is a wish for no rules.
    match text.trim_ascii() {
        "" | "null" | "~" => Err(bad("the body is empty; send a rule file, as YAML or JSON")),
        _ => Ok(text),
    }
}

fn check_headers(headers: &HeaderMap) -> Result<(), Problem> {
    let refuse = |detail| Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    let known = |value: &HeaderValue| KINDS.iter().any(|kind| is(value, kind));
    if !headers.get_all(header::CONTENT_TYPE).iter().all(known) {
        return refuse(
            "the body is not declared as YAML or JSON; send `Content-Type: application/yaml`",
        );
    }
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(|value| is(value, "identity")) {
        return refuse("the body is encoded; send it plain, without `Content-Encoding`");
    }
    Ok(())
}
