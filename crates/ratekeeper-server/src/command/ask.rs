//! The client of the commands that ask a running server.
//!
//! Invariant: the wait, the answer's size and what is shown of a URL are bounded: five seconds (more for
//! administration), one mebibyte (more for whole rule files), and never a password or a token.

use super::Failure;
use crate::args::URL_DEFAULT;
use crate::config::{Fault, Faults};
use crate::door::CHECK_PATH;
use axum::body::Body;
use http_body_util::{BodyExt, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, IF_MATCH};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::io::ErrorKind;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a server may take to decide, connecting included.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long it may take for what administrators ask: longer than it lets any request take, so that its own answer
/// says what is known.
pub(super) const ADMIN_TIMEOUT: Duration = Duration::from_secs(35);

/// Most bytes of an answer. Beyond it, it is not one of ours.
const ANSWER_MAX: usize = 1024 * 1024;

/// What is asked of a server.
#[derive(Default)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    /// The body, and what it is declared as.
    pub(super) body: Option<(&'static str, String)>,
    /// What the answer should be.
    pub(super) accept: Option<&'static str>,
    /// The release that the caller has seen.
    pub(super) seen: Option<u64>,
    /// By which administrators are known.
    pub(super) token: Option<String>,
    /// Most bytes of the answer, beyond those of a decision.
    pub(super) more: usize,
}

/// Sends a check to the server at `url` and returns the decision, in JSON.
pub(super) async fn ask(url: &str, question: String) -> Result<String, Failure> {
    let (method, path) = (Method::POST, CHECK_PATH.to_owned());
    let body = Some(("application/json", question));
    call(url, Call { method, path, body, ..Call::default() }, ANSWER_TIMEOUT).await
}

/// Makes a call and returns what is answered, if that is no problem.
pub(super) async fn call(url: &str, call: Call, limit: Duration) -> Result<String, Failure> {
    let target = target(url, &call.path)?;
    let answer = timeout(limit, exchange(url, &target, call)).await;
    let (status, body) = answer.unwrap_or_else(|_| {
        let seconds = limit.as_secs();
        Err(Failure::new(format!(
            "{url} did not answer within {seconds} s; try again, or look at its load"
        )))
    })?;
    if status == StatusCode::OK {
        return Ok(body);
    }
    let problem: Problem = serde_json::from_str(&body).map_err(|_| stranger(url))?;
    if !problem.errors.is_empty() {
        return Err(Faults { listed: problem.errors, more: problem.more }.into());
    }
    let took = if status == StatusCode::ACCEPTED { "took" } else { "did not take" };
    let (code, detail) = (status.as_u16(), problem.detail);
    Err(Failure::new(format!("{url} {took} the call ({code}): {detail}")))
}

/// What of a problem body is shown.
#[derive(Deserialize)]
struct Problem {
    detail: String,
    /// What is wrong with rules, if that is what it is about.
    #[serde(default)]
    errors: Vec<Fault>,
    #[serde(default)]
    more: usize,
}

/// The answer is none of ours.
pub(super) fn stranger(url: &str) -> Failure {
    Failure::new(format!("what answers at {url} is not a ratekeeper server; correct `--url`"))
}

/// A server, as three places need it: to connect, in the field `Host`, and in the request line.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    address: String,
    host: String,
    path: String,
}

fn target(url: &str, path: &str) -> Result<Target, Failure> {
    let fail = |fault: &str| {
        let repair = format!("write `--url {URL_DEFAULT}`, or the like");
        Err(Failure::new(format!("`--url` or `RATEKEEPER_URL` {fault}; {repair}")))
    };
    let Ok(uri) = url.parse::<Uri>() else { return fail("is not a URL") };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return fail("does not begin with http://");
    };
    match scheme {
        "http" => {}
        "https" => return fail("is an https URL, which this version does not support"),
        _ => return fail("does not begin with http://"),
    }
    if authority.as_str().contains('@') {
        return fail("holds a user name or password, which no server here asks for");
    }
    if authority.host().is_empty() || uri.query().is_some() {
        return fail("is more or less than the address of a server");
    }
    // A library's `port` would take one out of range for none.
    let port = match authority.as_str().strip_prefix(authority.host()) {
        None | Some("") => 80,
        Some(written) => match written.strip_prefix(':').map(str::parse::<u16>) {
            Some(Ok(port)) => port,
            _ => return fail("has no valid port"),
        },
    };
    let path = format!("{}{path}", uri.path().trim_end_matches('/'));
    let address = format!("{}:{port}", authority.host());
    Ok(Target { address, host: authority.to_string(), path })
}

async fn exchange(url: &str, target: &Target, call: Call) -> Result<(StatusCode, String), Failure> {
    let broken = |error: hyper::Error| {
        Failure::new(format!("{url} broke off ({error}); is it a ratekeeper server?"))
    };
    let stream = TcpStream::connect(&target.address).await.map_err(|error| {
        let repair = match error.kind() {
            ErrorKind::ConnectionRefused => {
                "start one with `ratekeeper serve`, or name another with `--url`"
            }
            _ => "correct `--url`, or start one with `ratekeeper serve`",
        };
        Failure::new(format!("no server answers at {url} ({error}); {repair}"))
    })?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // It ends with the runtime, which lives for one question.
    tokio::spawn(connection);
    let mut request =
        Request::builder().method(call.method).uri(&target.path).header(HOST, &target.host);
    let (kind, body) = call.body.unzip();
    let seen = call.seen.map(|number| format!("\"{number}\""));
    let token = call.token.map(|token| format!("Bearer {token}"));
    let fields = [
        (CONTENT_TYPE, kind),
        (ACCEPT, call.accept),
        (IF_MATCH, seen.as_deref()),
        (AUTHORIZATION, token.as_deref()),
    ];
    for (name, value) in fields {
        request = value.into_iter().fold(request, |request, value| request.header(&name, value));
    }
    let request = request
        .body(Body::from(body.unwrap_or_default()))
        .map_err(|error| Failure::new(format!("`--url` cannot be asked: {error}; correct it")))?;
    let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
    let body =
        Limited::new(body, ANSWER_MAX + call.more).collect().await.map_err(|_| stranger(url))?;
    let text = String::from_utf8(body.to_bytes().into()).map_err(|_| stranger(url))?;
    Ok((head.status, text))
}
