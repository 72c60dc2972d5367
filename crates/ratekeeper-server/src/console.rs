//! The console: the web page at `/`, from files that are part of the program.
//!
//! Invariants: a browser that has the page asks no other server for anything, runs no script that is not a file of
//! ours, and shows the page in nobody's frame; what has its content in its name is kept for good, all else is asked for
//! again.

use crate::app::App;
use crate::hex::hex;
use crate::problem::Problem;
use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use rust_embed::{Embed, EmbeddedFile};
use std::borrow::Cow;

#[derive(Embed)]
#[folder = "console/"]
struct Files;

/// The page.
const PAGE: &str = "index.html";

/// What the page may load and do.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/", get(page)).route("/assets/{*path}", get(asset))
}

async fn page(headers: HeaderMap) -> Response {
    file(PAGE, &headers, "no-cache").into_response()
}

async fn asset(path: Result<Path<String>, PathRejection>, headers: HeaderMap) -> Response {
    let name = path.map_or_else(|_| String::new(), |Path(path)| format!("assets/{path}"));
    // What is compressed is no file of its own.
    let name = if name.ends_with(".gz") { "" } else { &name };
    file(name, &headers, "public, max-age=31536000, immutable").into_response()
}

/// A file as this browser takes it.
fn file(name: &str, asked: &HeaderMap, kept: &'static str) -> Result<Response, Problem> {
    let missing = || {
        let detail =
            "the console has no such file; reload the page, which may be of another version";
        Problem::new(StatusCode::NOT_FOUND, detail)
    };
    let plain = Files::get(name).ok_or_else(missing)?;
    let tag = tag(&plain);
    let small = takes_gzip(asked).then(|| Files::get(&format!("{name}.gz"))).flatten();
    let (is_small, body) = (small.is_some(), small.unwrap_or(plain).data);
    let known = asked.get_all(header::IF_NONE_MATCH).iter();
    let known = known.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let is_known = known.map(str::trim).any(|own| own == "*" || own == tag || own == &tag[2..]);
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        // Many who ask and do not read share the one copy that the program is made of.
        false => Response::new(Body::from(match body {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        })),
    };
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    };
    put(header::ETAG, &tag);
    put(header::CACHE_CONTROL, kept);
    put(header::VARY, "Accept-Encoding");
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::REFERRER_POLICY, "no-referrer");
    put(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    if !is_known {
        put(header::CONTENT_TYPE, kind(name));
        if is_small {
            put(header::CONTENT_ENCODING, "gzip");
        }
    }
    Ok(response)
}

/// Half of the hash of what is in it is enough to tell it from others. It is weak, since it is that of the file however
/// it is compressed.
fn tag(file: &EmbeddedFile) -> String {
    format!("W/\"{}\"", hex(&file.metadata.sha256_hash()[..16]))
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().trim_start_matches("q=").parse::<f32>();
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_ok_and(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: whoever asks for files and does not read them fills no memory.
    /// Method: every file is a part of the program, of which an answer needs no copy.
    #[test]
    fn files_are_not_copied() {
        assert!(Files::iter().count() >= 3);
        for name in Files::iter() {
            let file = Files::get(&name).expect("it is there");
            assert!(matches!(file.data, Cow::Borrowed(_)), "{name}");
        }
    }
}
