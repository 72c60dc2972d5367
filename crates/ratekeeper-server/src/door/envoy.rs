//! Envoy's rate limit service, version 3: the way in which Envoy, Istio, Envoy Gateway and Contour ask.
//!
//! Invariants: every answer is a decision; an outage of the store is one, by each rule's policy. An error is for a call
//! that cannot be one, and nothing was charged then. Bounds on streams, resets and header fields are those of all
//! connections ([`serve`](crate::serve)).

mod ask;
mod health;
mod proto;
mod reply;
mod time;
mod unary;

#[doc(hidden)]
pub use ask::fuzz;
pub use ask::{DESCRIPTORS_MAX, ENTRIES_MAX, MESSAGE_MAX, VALUE_MAX};

use crate::app::App;
use crate::decisions;
use crate::observe::{Door, through, through_now};
use crate::serve::{Answers, Arrival};
use ask::Asked;
use axum::http::{Request, Response};
use health::Watched;
use hyper::body::Incoming;
use prost::Message;
use proto::RateLimitRequest;
use ratekeeper::Rejected;
use ratekeeper::decision::RuleResult;
use ratekeeper::limiter::Described;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tonic::Status;
use tonic::codegen::Service as _;
use tonic_health::pb::health_server::HealthServer;
pub use unary::Reply;

/// What the service is called.
pub const SERVICE_NAME: &str = "envoy.service.ratelimit.v3.RateLimitService";

/// Where it is asked.
const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// What is before all that is asked about health.
const HEALTH_PREFIX: &str = "/grpc.health.v1.Health/";

/// What Envoy asks; a clone is of the same.
#[derive(Clone)]
pub struct Rls {
    app: App,
    health: HealthServer<Watched>,
}

impl Rls {
    /// The service over these rules.
    pub fn new(app: App) -> Rls {
        let health = HealthServer::new(Watched::new(app.clone()));
        Rls { app, health: health.max_decoding_message_size(MESSAGE_MAX) }
    }
}

impl Answers for Rls {
    type Body = Reply;

    const AT_ONCE: bool = true;

    fn answer(
        &self,
        request: Request<Incoming>,
        arrival: &Arrival,
    ) -> impl Future<Output = Response<Reply>> + Send + use<> {
        // In boxes, since a stream's task is moved about before it runs.
        let answer: Pin<Box<dyn Future<Output = Response<Reply>> + Send>> =
            match request.uri().path() {
                PATH => Box::pin(limit(self.app.clone(), request, arrival.body)),
                path if path.starts_with(HEALTH_PREFIX) => {
                    let health = self.health.clone().call(request);
                    Box::pin(async {
                        match health.await {
                            Ok(answer) => answer.map(Reply::Other),
                            Err(never) => match never {},
                        }
                    })
                }
                _ => Box::pin(async { unary::unknown() }),
            };
        answer
    }
}

async fn limit(app: App, request: Request<Incoming>, most: Duration) -> Response<Reply> {
    let answer = should_rate_limit(&app, request, most).await;
    answer.unwrap_or_else(|status| unary::failed(&status))
}

/// `ShouldRateLimit`; the message has to come within so long.
async fn should_rate_limit(
    app: &App,
    request: Request<Incoming>,
    most: Duration,
) -> Result<Response<Reply>, Status> {
    let (time, begun) = (time::left(request.headers()), Instant::now());
    let message = timeout(most, unary::read(request))
        .await
        .unwrap_or_else(|_| Err(Status::deadline_exceeded("the message did not come in time")))?;
    let message = RateLimitRequest::decode(message).map_err(|error| {
        Status::invalid_argument(format!("the message cannot be read: {error}"))
    })?;
    let asked = Asked::read(&message).map_err(Status::invalid_argument)?;
    let prepared = app.limiter.prepare_descriptors(asked.domain, &asked.descriptors());
    let prepared = prepared.map_err(|rejected| unknown(&rejected))?;
    let decided = match prepared.decides_at_once() {
        true => through_now(Door::Envoy, || prepared.try_now()),
        false => Err(prepared),
    };
    let described = match decided {
        Ok(described) => described,
        // In a box, so that most calls do not carry its size along.
        Err(prepared) => {
            let left = time.saturating_sub(begun.elapsed());
            Box::pin(through(Door::Envoy, prepared.check_within(left))).await
        }
    };
    let now = app.limiter.now();
    let about = || who(app, &asked, &described);
    let id = app.refusals.note(now, Door::Envoy.name(), described.decisions(), about);
    Ok(reply::of(&described, id.as_deref(), now))
}

/// A rule counts by what Envoy does not tell.
fn unknown(rejected: &Rejected) -> Status {
    Status::failed_precondition(format!("a rule of this domain cannot be asked: {rejected}"))
}

/// Who was refused: the key under the rule that refused, of the first descriptor that it refused.
fn who(app: &App, asked: &Asked<'_>, described: &Described) -> decisions::Asked {
    let rule = described.decisions().rule();
    let is_own = |result: &RuleResult| rule == Some(result.rule()) && result.is_refused();
    let refused = described
        .parts()
        .position(|part| part.iter().any(|result| is_own(result) && !result.is_shadow()));
    let request = refused.map(|number| asked.request(number));
    let key = request.zip(rule).and_then(|(request, rule)| app.limiter.key_of(rule, &request));
    decisions::Asked { key: key.unwrap_or_default(), ..decisions::Asked::default() }
}
