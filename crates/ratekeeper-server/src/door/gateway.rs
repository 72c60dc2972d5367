//! The gateway: limits in front of an API that knows nothing of them.
//!
//! A request is read in one form (`judge`, the canonical path), its route is found and its caller identified;
//! then the tower layer decides, and what it admits is forwarded. Invariants: what the rules saw is what the
//! upstream gets; what they refuse, the upstream never sees.

mod alarm;
mod body;
mod failure;
mod fields;
mod figures;
mod forward;
mod head;
mod log;
mod passed;
mod routes;
mod set_up;
mod tunnel;
mod upstream;
#[cfg(test)]
mod tests;

pub use body::Broken;
pub use passed::Told;
pub(crate) use set_up::Sites;

use crate::app::App;
use crate::decisions::Asked;
use crate::life::Phase;
use crate::observe::{Door, through_at_once};
use crate::problem::Problem;
use crate::serve::{Answers, Arrival, Tunnels, judge};
use axum::http::{HeaderValue, Method, StatusCode, header};
use forward::{Forward, Opened};
use hyper::body::Incoming;
use hyper::{Request, Response};
use log::{Entry, Line, Log};
use passed::Passed;
use ratekeeper::identity::Verified;
use ratekeeper::layer::{self, Held, RateLimit, RateLimitLayer, Seen};
use ratekeeper::request::path::CanonicalPath;
use ratekeeper::rule::file::Auth;
use ratekeeper::{Decisions, Rejected};
use routes::Routes;
use std::sync::{Arc, PoisonError};
use tower::{Layer, Service};

/// The gateway; a clone is of the same.
#[derive(Clone)]
pub struct Gateway {
    inner: Arc<Inner>,
    limited: RateLimit<Forward>,
}

struct Inner {
    app: App,
    routes: Arc<Routes>,
    log: Option<Log>,
}

/// What is found out about a request before the limits, and goes with it.
#[derive(Clone)]
struct Routed {
    route: Option<usize>,
    arrival: Arrival,
    verified: Option<Verified>,
    /// Why the caller could not be identified.
    rejected: Option<Rejected>,
    entry: Option<Arc<Entry>>,
}

impl Routed {
    fn of<'a>(seen: &Seen<'a>) -> Option<&'a Routed> {
        seen.extensions().get()
    }
}

impl Gateway {
    fn new(app: App, routes: Arc<Routes>, log: Option<Log>) -> Gateway {
        let inner = Arc::new(Inner { app, routes, log });
        let deciding = Arc::clone(&inner);
        let layer = RateLimitLayer::new(inner.app.limiter.clone())
            .peer(|seen| Some(Routed::of(seen)?.arrival.peer))
            .user(|seen| Some(Routed::of(seen)?.verified.as_ref()?.user.clone()))
            .tier(|seen| Routed::of(seen)?.verified.as_ref()?.tier.clone())
            .decided(move |seen, request, decisions| deciding.decided(seen, request, decisions));
        let limited = layer.layer(Forward(Arc::clone(&inner)));
        Gateway { inner, limited }
    }
}

impl Answers for Gateway {
    type Body = Told;

    fn answer(
        &self,
        mut request: Request<Incoming>,
        arrival: &Arrival,
    ) -> impl Future<Output = Response<Told>> + Send + use<> {
        let judged = judge(&mut request);
        let mut line = self.inner.line(&request, arrival);
        let routed =
            judged.and_then(|()| self.inner.route(&mut request, arrival, line.as_deref_mut()));
        let (inner, mut limited) = (Arc::clone(&self.inner), self.limited.clone());
        let tunnels = arrival.tunnels.clone();
        let asked = routed.map(|route| {
            (route, through_at_once(Door::Gateway, || limited.call(request), layer::Answer::waits))
        });
        // In a box, since it would be moved several times before it is asked.
        Box::pin(async move {
            let (route, asking) = match asked {
                Ok(asked) => asked,
                Err(problem) => {
                    inner.routes.none.note(problem.status());
                    return Told::problem(&problem, line);
                }
            };
            let Ok(mut response) = asking.answer().await;
            inner.routes.counts(route).note(response.status());
            if tunnels.is_some() && inner.app.life.phase() >= Phase::Leaving {
                say_goodbye(&mut response);
            }
            hand_over(&mut response, tunnels.as_ref());
            Told::limited(response, line)
        })
    }
}

impl Inner {
    /// The line of a request in the access log, if there is one.
    fn line<B>(&self, request: &Request<B>, arrival: &Arrival) -> Option<Box<Line>> {
        let log = self.log.as_ref()?;
        let limiter = &self.app.limiter;
        let client = fields::client(request.headers(), arrival.peer, limiter);
        let client = client.unwrap_or(arrival.peer);
        Some(log.begin(request, client, limiter))
    }

    /// Brings a request into the form that rules and upstream see, finds its route and who sent it, and leaves
    /// that with it.
    fn route<B>(
        &self,
        request: &mut Request<B>,
        arrival: &Arrival,
        line: Option<&mut Line>,
    ) -> Result<Option<usize>, Problem> {
        if request.method() == Method::CONNECT {
            let detail = "the gateway opens no tunnels; send requests for paths";
            return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail));
        }
        let bad = |detail: String| Problem::new(StatusCode::BAD_REQUEST, detail);
        head::form(request).map_err(|detail| bad(detail.to_owned()))?;
        let path =
            CanonicalPath::new(request.uri().path()).map_err(|error| bad(error.to_string()))?;
        let target = forward::target(request.uri(), path.as_str())
            .map_err(|_| bad("the target is none; send a path and perhaps a query".into()))?;
        head::host(request)?;
        let route = self.routes.find(&path);
        let auth = route.and_then(|number| self.routes.all.get(number)).map(|route| route.auth);
        let mut routed =
            Routed { route, arrival: arrival.clone(), verified: None, rejected: None, entry: None };
        if auth.is_some_and(|auth| auth != Auth::None) {
            let asked = ratekeeper::Request {
                peer: Some(arrival.peer),
                headers: request.headers(),
                ..ratekeeper::Request::new(request.method().as_str(), path.as_str())
            };
            match self.app.limiter.identify(&asked) {
                Ok(verified) => routed.verified = verified,
                Err(rejected) => routed.rejected = Some(rejected),
            }
        }
        if let Some(line) = line {
            let own = route.and_then(|number| self.routes.all.get(number));
            line.route(path.as_str(), own.map(|own| &*own.path));
            routed.entry = Some(Arc::clone(&line.entry));
        }
        if let Some(target) = target {
            *request.uri_mut() = target;
        }
        request.extensions_mut().insert(routed);
        Ok(route)
    }

    /// Keeps a refusal for who asks why, and notes every decision in the access log.
    fn decided(
        &self,
        seen: &Seen<'_>,
        request: &ratekeeper::Request<'_>,
        decisions: &Decisions,
    ) -> Option<String> {
        let limiter = &self.app.limiter;
        let asked = || Asked::about(limiter, request, decisions);
        let door = Door::Gateway.name();
        let note = || self.app.refusals.note(limiter.now(), door, decisions, asked);
        let id = if decisions.is_allowed() { None } else { note() };
        if let Some(entry) = Routed::of(seen).and_then(|routed| routed.entry.as_ref()) {
            entry.decided(decisions, id.as_deref());
        }
        id
    }
}

/// Has a caller take its next request elsewhere: one that is on its way when a quiet connection is closed would
/// get no answer.
fn say_goodbye<B>(response: &mut Response<B>) {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Hands the caller's connection over, if its answer says so; what its request holds goes with it.
fn hand_over(response: &mut Response<layer::Body<Passed>>, tunnels: Option<&Tunnels>) {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return;
    }
    let held = response.extensions_mut().remove::<Held>();
    let Some(Opened(opened)) = response.extensions_mut().remove() else { return };
    let open = opened.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(mut open), Some(tunnels)) = (open, tunnels) {
        open.held = held;
        tunnels.leave(tunnel::tunnel(open));
    }
}
