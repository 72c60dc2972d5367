//! Carries spans to the collector, by HTTP.
//!
//! Invariant: the time that it takes and what it reads of an answer are bounded; what fails is told in samples,
//! without what was sent.

use crate::observe::logs::{Sample, plain};
use axum::http::{HeaderValue, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use std::pin::Pin;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// How long a collector may take, connecting included.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Most bytes of its answer.
const ANSWER_MAX: usize = 64 * 1024;

/// The port of a URL that has none.
const PORT: u16 = 80;

#[derive(Debug)]
pub(super) struct Client {
    /// Whoever sends is a thread outside.
    runtime: Handle,
    started: Instant,
    failures: Sample,
}

impl Client {
    pub(super) fn new(runtime: Handle) -> Client {
        Client { runtime, started: Instant::now(), failures: Sample::default() }
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let exchange = async { timeout(TIMEOUT, exchange(request)).await };
        let answer = self.runtime.spawn(exchange).await?;
        let answer = answer.unwrap_or_else(|_| Err("it did not answer in time".into()));
        let fault = match &answer {
            Ok(answer) if answer.status().is_success() => return Ok(answer.clone()),
            Ok(answer) => format!("it answered {}", answer.status()),
            Err(error) => plain(&error.to_string()),
        };
        if let Some(left_out) = self.failures.take(self.started.elapsed()) {
            tracing::warn!(fault, left_out, "the collector did not take traces");
        }
        answer
    }
}

/// What the trait's own macro would write for an `async fn`.
impl HttpClient for Client {
    fn send_bytes<'own, 'sent>(
        &'own self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'own: 'sent,
        Self: 'sent,
    {
        Box::pin(self.send(request))
    }
}

async fn exchange(mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let authority = request.uri().authority().ok_or("the URL has no host")?.clone();
    let stream =
        TcpStream::connect((authority.host(), authority.port_u16().unwrap_or(PORT))).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with this call, whatever becomes of it.
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>()?;
    request.headers_mut().insert(header::HOST, HeaderValue::from_str(authority.as_str())?);
    let (head, body) = sender.send_request(request.map(Full::new)).await?.into_parts();
    let body = Limited::new(body, ANSWER_MAX).collect().await?.to_bytes();
    Ok(Response::from_parts(head, body))
}
