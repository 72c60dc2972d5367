//! Behind the limits: finds the upstream for a request, asks it, and passes its answer on.
//!
//! Invariant: whoever gets here was admitted, and gets one answer: the upstream's, or a problem that says what
//! is wrong. A request is sent on again only if nothing of it was sent, its method is idempotent, and the
//! budget has room.

use super::body::Outgoing;
use super::failure::{Failed, Failure};
use super::log::Entry;
use super::passed::Passed;
use super::routes::Route;
use super::tunnel::Open;
use super::upstream::{Answered, Times, Upstream};
use super::{Inner, Routed, fields};
use crate::problem::Problem;
use axum::http::uri::{InvalidUri, PathAndQuery};
use axum::http::{StatusCode, Uri, Version, header};
use hyper::body::Incoming;
use hyper::{Request, Response};
use ratekeeper::rule::file::Auth;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::time::Instant;
use tower::Service;

/// Asks upstreams.
#[derive(Clone)]
pub(super) struct Forward(pub(super) Arc<Inner>);

/// A connection that is to be handed over after its answer, until somebody takes it.
#[derive(Clone)]
pub(super) struct Opened(pub(super) Arc<Mutex<Option<Open>>>);

impl Service<Request<Incoming>> for Forward {
    type Response = Response<Passed>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Passed>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let (inner, prepared) = (Arc::clone(&self.0), self.0.prepare(request));
        Box::pin(async move {
            let answered = match prepared {
                Ok(prepared) => inner.ask(prepared).await,
                Err(problem) => Err(problem),
            };
            Ok(answered.unwrap_or_else(|problem| Passed::problem(&problem)))
        })
    }
}

/// A request that upstreams of a route may be asked.
struct Prepared {
    route: usize,
    request: Box<Request<Outgoing>>,
    entry: Option<Arc<Entry>>,
}

impl Inner {
    /// Makes of a request what upstreams get of it.
    fn prepare(&self, mut request: Request<Incoming>) -> Result<Prepared, Problem> {
        let Some(routed) = request.extensions_mut().remove::<Routed>() else {
            let detail = "the gateway has lost the route of this request; tell whoever runs it";
            return Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail));
        };
        let route = self.admits(&routed)?;
        if fields::goes_in_circles(request.headers()) {
            let detail = "the request has passed too many gateways; it may go in circles";
            return Err(Problem::new(StatusCode::LOOP_DETECTED, detail));
        }
        fields::outgoing(&mut request, &routed, &self.app.limiter);
        let request = Box::new(request.map(|body| Outgoing::new(body, &routed.arrival)));
        Ok(Prepared { route, request, entry: routed.entry })
    }

    /// The route, if there is one, and the caller may take it.
    fn admits(&self, routed: &Routed) -> Result<usize, Problem> {
        let own = |number: usize| Some((number, self.routes.all.get(number)?));
        let Some((number, route)) = routed.route.and_then(own) else {
            let detail = "no route is for this path; see that it is spelt right";
            return Err(Problem::new(StatusCode::NOT_FOUND, detail));
        };
        if let Some(rejected) = &routed.rejected {
            return Err(Problem::new(StatusCode::BAD_REQUEST, rejected.to_string()));
        }
        if route.auth == Auth::Required && routed.verified.is_none() {
            let detail = "this path needs an API key or a token that is valid; send one";
            return Err(Problem::new(StatusCode::UNAUTHORIZED, detail));
        }
        Ok(number)
    }

    /// Asks upstreams of the route until one answers, or none may be asked any more.
    async fn ask(&self, prepared: Prepared) -> Result<Response<Passed>, Problem> {
        let Prepared { route, mut request, entry } = prepared;
        let route = &self.routes.all[route];
        route.budget.earn();
        let mut times = Times::new(&route.timeouts);
        let again = request.method().is_idempotent();
        let wants_upgrade = request.headers().contains_key(header::UPGRADE);
        let mut tried = Vec::new();
        loop {
            let Some(upstream) = route.choose(&tried) else {
                let detail = "no server behind is well; try again later";
                return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
            };
            let answered = upstream.ask(request, times).await;
            let failed = match answered {
                Ok(Answered::Streams(mut response)) => {
                    noted(route, entry.as_deref(), &upstream, times.begun);
                    fields::incoming(response.headers_mut());
                    *response.version_mut() = Version::HTTP_11;
                    return Ok(response.map(Passed::Streams));
                }
                Ok(Answered::Upgraded(response, link, under_way)) if wants_upgrade => {
                    noted(route, entry.as_deref(), &upstream, times.begun);
                    let open = Open { link, under_way, held: None, times };
                    return Ok(switching(response, open));
                }
                // It switches to what nobody has asked for.
                Ok(Answered::Upgraded(..)) => Failed { failure: Failure::Bad, unsent: None },
                Err(failed) => failed,
            };
            upstream.failed(failed.failure, route.has_other(&upstream));
            match failed.unsent {
                Some(unsent) if again && route.has_other(&upstream) && route.budget.take() => {
                    upstream.retries.fetch_add(1, Ordering::Relaxed);
                    (request, times) = (unsent, times.asked_now());
                    tried.push(upstream);
                }
                _ => return Err(failed.failure.problem()),
            }
        }
    }
}

/// Notes an answer.
fn noted(route: &Route, entry: Option<&Entry>, upstream: &Upstream, begun: Instant) {
    upstream.answered();
    let took = begun.elapsed();
    route.counts.seconds.record(took);
    if let Some(entry) = entry {
        entry.answered(&upstream.name, took);
    }
}

/// The answer after which another protocol is spoken.
fn switching(mut response: Response<()>, open: Open) -> Response<Passed> {
    fields::switching(response.headers_mut());
    response.extensions_mut().insert(Opened(Arc::new(Mutex::new(Some(open)))));
    response.map(|()| Passed::Text(None))
}

/// The target with this path and nothing before it, if it is another.
pub(super) fn target(uri: &Uri, path: &str) -> Result<Option<Uri>, InvalidUri> {
    if uri.path() == path && uri.authority().is_none() {
        return Ok(None);
    }
    let target = match uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}"))?,
        None => PathAndQuery::try_from(path)?,
    };
    Ok(Some(Uri::from(target)))
}
