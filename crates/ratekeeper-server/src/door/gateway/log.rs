//! The access log: a line for each request, as JSON or in the combined format.
//!
//! Invariants: no query, no user, no key is in it; nothing in a line can begin another, or steer a terminal;
//! nobody waits for a line to be written.

use crate::observe::logs::{Format, Lines, Writer, plain};
use crate::reload::{moment, of_logs};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Version, header};
use ratekeeper::rule::file::AccessLog;
use ratekeeper::{Decisions, Limiter};
use serde::Serialize;
use std::fmt::Write;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// Lines on their way at most. Beyond it they are left out, and counted.
const LINES_MAX: usize = 16_384;

/// Where lines go.
pub(super) struct Log {
    form: AccessLog,
    writer: Writer,
}

impl Log {
    /// On standard output, if there is to be a log.
    pub(super) fn start(form: AccessLog) -> io::Result<Option<Log>> {
        if form == AccessLog::None {
            return Ok(None);
        }
        let format = if form == AccessLog::Json { Format::Json } else { Format::Human };
        let writer = Writer::with_room(LINES_MAX, io::stdout(), format)?;
        Ok(Some(Log { form, writer }))
    }

    /// The line of a request that has come; it is written when it is dropped.
    pub(super) fn begin<B>(
        &self,
        request: &Request<B>,
        client: IpAddr,
        limiter: &Limiter,
    ) -> Box<Line> {
        let headers = request.headers();
        Box::new(Line {
            form: self.form,
            lines: self.writer.lines(),
            at: limiter.now(),
            begun: Instant::now(),
            client,
            method: plain(request.method().as_str()),
            host: value(headers, &header::HOST),
            path: plain(request.uri().path()),
            protocol: protocol(request.version()),
            agent: value(headers, &header::USER_AGENT),
            referer: value(headers, &header::REFERER).map(|url| without_secrets(&url)),
            route: None,
            status: left(),
            bytes: 0,
            entry: Arc::default(),
        })
    }
}

/// The status of a request whose caller left before there was an answer, as nginx writes it.
fn left() -> StatusCode {
    StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST)
}

/// What is found out about a request on its way.
#[derive(Default)]
pub(super) struct Entry {
    decided: OnceLock<Decided>,
    answered: OnceLock<(Box<str>, Duration)>,
}

struct Decided {
    is_allowed: bool,
    rule: Option<String>,
    remaining: Option<u64>,
    id: Option<String>,
}

impl Entry {
    /// Rules were asked.
    pub(super) fn decided(&self, decisions: &Decisions, id: Option<&str>) {
        let _ = self.decided.set(Decided {
            is_allowed: decisions.is_allowed(),
            rule: decisions.rule().map(ToString::to_string),
            remaining: decisions.rule().map(|_| decisions.remaining()),
            id: id.map(str::to_owned),
        });
    }

    /// An upstream has answered.
    pub(super) fn answered(&self, upstream: &str, took: Duration) {
        let _ = self.answered.set((upstream.into(), took));
    }
}

/// A line in the making.
pub(super) struct Line {
    form: AccessLog,
    lines: Lines,
    /// In microseconds since the epoch.
    at: u64,
    begun: Instant,
    client: IpAddr,
    method: String,
    host: Option<String>,
    path: String,
    protocol: &'static str,
    agent: Option<String>,
    referer: Option<String>,
    route: Option<Box<str>>,
    status: StatusCode,
    bytes: u64,
    pub(super) entry: Arc<Entry>,
}

impl Line {
    pub(super) fn status(&mut self, status: StatusCode) {
        self.status = status;
    }

    pub(super) fn bytes(&mut self, count: usize) {
        self.bytes += count as u64;
    }

    /// The path as rules and upstream see it, and the route for it.
    pub(super) fn route(&mut self, path: &str, route: Option<&str>) {
        self.path = plain(path);
        self.route = route.map(Into::into);
    }

    /// What rules decided; nothing if the caller left before.
    fn decision(&self) -> Option<&'static str> {
        match self.entry.decided.get() {
            Some(decided) if decided.is_allowed => Some("allowed"),
            Some(_) => Some("refused"),
            None => (self.status != left()).then_some("rejected"),
        }
    }

    fn json(&self) -> String {
        let decided = self.entry.decided.get();
        let answered = self.entry.answered.get();
        let shown = Shown {
            time: time(self.at),
            ip: self.client,
            method: &self.method,
            host: self.host.as_deref(),
            path: &self.path,
            protocol: self.protocol,
            status: self.status.as_u16(),
            bytes: self.bytes,
            seconds: self.begun.elapsed().as_secs_f64(),
            route: self.route.as_deref(),
            upstream: answered.map(|(upstream, _)| &**upstream),
            upstream_seconds: answered.map(|(_, took)| took.as_secs_f64()),
            decision: self.decision(),
            rule: decided.and_then(|decided| decided.rule.as_deref()),
            remaining: decided.and_then(|decided| decided.remaining),
            id: decided.and_then(|decided| decided.id.as_deref()),
            user_agent: self.agent.as_deref(),
            referer: self.referer.as_deref(),
        };
        serde_json::to_string(&shown).unwrap_or_default()
    }

    fn combined(&self) -> String {
        let Line { client, method, path, protocol, bytes, .. } = self;
        let (status, date) = (self.status.as_u16(), of_logs(self.at / 1_000_000));
        let quoted = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or("-");
            text.replace('\\', "\\\\").replace('"', "\\\"")
        };
        let (referer, agent) = (quoted(&self.referer), quoted(&self.agent));
        let path = path.replace('"', "%22");
        let request = format!("{method} {path} {protocol}");
        // What is not of the format stands behind it, where its readers look no more.
        let rule = self.entry.decided.get().and_then(|decided| decided.rule.as_deref());
        let (decision, rule) = (self.decision().unwrap_or("-"), rule.unwrap_or("-"));
        format!(
            "{client} - - [{date}] \"{request}\" {status} {bytes} \"{referer}\" \"{agent}\" {decision} {rule}"
        )
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut line = match self.form {
            AccessLog::Combined => self.combined(),
            _ => self.json(),
        };
        line.push('\n');
        self.lines.send(line.into_bytes());
    }
}

/// A line as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    time: String,
    ip: IpAddr,
    method: &'a str,
    host: Option<&'a str>,
    path: &'a str,
    protocol: &'static str,
    status: u16,
    bytes: u64,
    seconds: f64,
    route: Option<&'a str>,
    upstream: Option<&'a str>,
    upstream_seconds: Option<f64>,
    decision: Option<&'static str>,
    rule: Option<&'a str>,
    remaining: Option<u64>,
    id: Option<&'a str>,
    user_agent: Option<&'a str>,
    referer: Option<&'a str>,
}

/// A moment in microseconds since the epoch, to the millisecond.
fn time(at: u64) -> String {
    let mut time = moment(at / 1_000_000);
    time.pop();
    let _ = write!(time, ".{:03}Z", at / 1_000 % 1_000);
    time
}

fn value(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).map(HeaderValue::as_bytes).map(|value| plain(&String::from_utf8_lossy(value)))
}

/// An address of a page without what follows its `?`, and without a login.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_at(url.find("//").map_or(0, |at| at + 2));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{host}{path}")
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}
