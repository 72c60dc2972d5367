//! Which form of a body the caller takes.
//!
//! Invariant: the time this takes is bounded, whatever was sent.

/// Bytes of `Accept` that are looked at.
const ACCEPT_MAX: usize = 1_024;

/// Whether the caller wants text: it names `text/plain` and no JSON in its `Accept`.
pub fn wants_text(accept: Option<&[u8]>) -> bool {
    let accept = accept.unwrap_or_default();
    let accept = &accept[..accept.len().min(ACCEPT_MAX)];
    let (mut text, mut json) = (false, false);
    for range in accept.split(|byte| *byte == b',') {
        let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let kind = parts.next().unwrap_or_default();
        if parts.any(is_refusal) {
            continue;
        }
        text |= kind.eq_ignore_ascii_case(b"text/plain");
        json |= kind.to_ascii_lowercase().ends_with(b"json");
    }
    text && !json
}

/// `q=0`, by which a form is not taken.
fn is_refusal(parameter: &[u8]) -> bool {
    match parameter {
        [b'q' | b'Q', b'=', b'0', rest @ ..] => rest.iter().all(|byte| matches!(byte, b'0' | b'.')),
        _ => false,
    }
}
