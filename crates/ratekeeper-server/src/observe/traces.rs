//! Traces: a span for each question that a door asks, sent to a collector by OpenTelemetry's protocol.
//!
//! Nothing is traced unless the environment names a collector, by the variables that all programs with
//! OpenTelemetry know. Invariants: a decision never waits for the collector, since spans go through a bounded queue
//! to a thread, and what does not fit is left out; keys are told as hashes.

mod client;

use super::{Door, sketch};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use client::Client;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Span as _, SpanKind, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, Key, KeyValue};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{self as sdk, SdkTracer, SdkTracerProvider};
use ratekeeper::Decision;
use std::cell::RefCell;
use std::env;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;

/// The name of this service, unless the environment gives it another.
const SERVICE: &str = "ratekeeper";

/// How long the end of a process waits for the spans that are on their way.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// Where spans begin, if they do: one for a process, as the log is.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

tokio::task_local! {
    static PARENT: Context;
}

/// The way to the collector.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Begins to trace, if the environment names a collector; or says what is wrong with what it names.
    pub fn start() -> Result<Option<Traces>, String> {
        let Some((name, url)) = endpoint() else { return Ok(None) };
        let wrong = |fault: &str| format!("`{name}` {fault}; write such as http://127.0.0.1:4318");
        if !url.starts_with("http://") || url.contains('@') {
            let fault = "is not the plain http URL of a collector, which sends on by TLS";
            return Err(wrong(fault));
        }
        let client = Client::new(Handle::current());
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary);
        let exporter = exporter.build().map_err(|error| wrong(&error.to_string()))?;
        let traces =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource());
        let traces = traces.build();
        // Somebody else in this process may trace already, which is as good.
        let _ = TRACER.set(traces.tracer(SERVICE));
        tracing::info!("traces are sent to where `{name}` says");
        Ok(Some(Traces(traces)))
    }

    /// Sends what is on its way, for a moment.
    pub async fn finish(self) {
        let finish = move || self.0.shutdown_with_timeout(LAST_SPANS);
        // Whoever ends has nobody to tell what was lost.
        let _ = tokio::task::spawn_blocking(finish).await;
    }
}

/// The collector, and the variable that names it.
fn endpoint() -> Option<(&'static str, String)> {
    let is_off = env::var("OTEL_SDK_DISABLED").is_ok_and(|off| off.eq_ignore_ascii_case("true"));
    let names = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    let found = names.into_iter().find_map(|name| Some((name, env::var(name).ok()?)));
    found.filter(|(_, url)| !is_off && !url.is_empty())
}

/// Who traces.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let said = Resource::builder().build().get(&Key::new("service.name"));
    let is_named = said.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let builder = Resource::builder().with_attribute(version);
    if is_named { builder.build() } else { builder.with_service_name(SERVICE).build() }
}

/// What is decided for a request belongs to the trace that its field `traceparent` names.
pub async fn follow(request: Request, next: Next) -> Response {
    match TRACER.get().and_then(|_| parent(request.headers())) {
        Some(parent) => PARENT.scope(parent, next.run(request)).await,
        None => next.run(request).await,
    }
}

fn parent(headers: &HeaderMap) -> Option<Context> {
    let propagator = TraceContextPropagator::new();
    let context = propagator.extract_with_context(&Context::new(), &HeaderExtractor(headers));
    context.has_active_span().then_some(context)
}

/// Begins the span of a question, if it is to be traced; it ends with the value.
pub(super) fn begin(door: Door) -> Option<Span> {
    let tracer = TRACER.get()?;
    let parent = PARENT.try_with(Context::clone).unwrap_or_else(|_| Context::new());
    let builder = tracer.span_builder("decision").with_kind(SpanKind::Server);
    let span = builder.start_with_context(tracer, &parent);
    span.is_recording().then(|| Span(RefCell::new(Open { span, door, seen: None })))
}

/// A question on its way.
pub(super) struct Span(RefCell<Open>);

struct Open {
    span: sdk::Span,
    door: Door,
    seen: Option<Seen>,
}

/// What the rule said that decided.
struct Seen {
    rule: Arc<str>,
    key: Option<String>,
    decision: Decision,
}

impl Span {
    /// One of the rules has decided. What is told is the decision that the answer has: the refusal with the
    /// longest wait, or else what leaves least.
    pub(super) fn note(&self, rule: &Arc<str>, who: Option<u64>, decision: &Decision) {
        // Nothing in here calls back.
        let Ok(mut open) = self.0.try_borrow_mut() else { return };
        if open.seen.as_ref().is_none_or(|seen| is_weightier(decision, &seen.decision)) {
            let (rule, key) = (Arc::clone(rule), who.map(sketch::hash));
            open.seen = Some(Seen { rule, key, decision: *decision });
        }
    }
}

fn is_weightier(one: &Decision, other: &Decision) -> bool {
    let wait = |own: &Decision| own.retry_after().unwrap_or(Duration::MAX);
    match (one.is_refused(), other.is_refused()) {
        (true, true) => wait(one) > wait(other),
        (false, false) => one.remaining() < other.remaining(),
        (refused, _) => refused,
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let span = &mut self.span;
        span.set_attribute(KeyValue::new("ratekeeper.door", self.door.name()));
        if let Some(Seen { rule, key, decision }) = self.seen.take() {
            let outcome = if decision.is_refused() { "refused" } else { "allowed" };
            span.set_attribute(KeyValue::new("ratekeeper.outcome", outcome));
            span.set_attribute(KeyValue::new("ratekeeper.rule", rule));
            span.set_attribute(KeyValue::new("ratekeeper.source", decision.source().name()));
            if let Some(key) = key {
                span.set_attribute(KeyValue::new("ratekeeper.key", key));
            }
            if let Some(wait) = decision.retry_after() {
                span.set_attribute(KeyValue::new("ratekeeper.retry_after", wait.as_secs_f64()));
            }
        }
        span.end();
    }
}
