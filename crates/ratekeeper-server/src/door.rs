//! The doors: each turns bytes into a question for the limiter and its decision into bytes.
//!
//! Invariant: a door decides nothing. Every answer that is not a decision, or what became of one, is a
//! problem body.

mod body;
mod written;
mod field;
mod described;
mod question;
mod answer;
mod check;
mod reserve;
mod health;
mod sign_in;
mod top;
mod stream;
mod playground;
mod authorize;
pub mod envoy;
pub mod gateway;
pub mod resp;
mod live;

pub(crate) use answer::{Answer, Outcome, json};
pub(crate) use authorize::skipped;
pub use authorize::{AUTHORIZE_ENVOY_PREFIX, AUTHORIZE_NGINX_PATH, AUTHORIZE_PATH};
pub use body::BODY_MAX;
pub(crate) use described::is_token_byte;
pub use described::{HOST_MAX, METHOD_MAX, USER_MAX};
pub use field::COST_MAX;
pub use live::{OVERRIDES_PATH, RELEASES_PATH, RULES_MAX, RULES_PATH, SWITCHES_PATH};
pub use playground::{PLAYGROUND_KEYS, Playground};
pub use question::PARTS_MAX;
pub(crate) use sign_in::token as entered_token;
pub(crate) use stream::keep_time;
pub(crate) use top::rows;
pub use written::{DEPTH_MAX, ITEMS_MAX};

use crate::admin;
use crate::app::App;
use crate::problem::Problem;
use crate::serve::{Answers, Arrival, judge};
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use ratekeeper::layer::Peer;
use std::time::Duration;
use tokio::time::timeout;

/// Where checks are asked.
pub const CHECK_PATH: &str = "/v1/check";

/// Where an estimate is charged, to be settled or cancelled.
pub const RESERVE_PATH: &str = "/v1/reserve";

/// Where a hold is settled at its true price.
pub const SETTLE_PATH: &str = "/v1/settle";

/// Where a hold is given back.
pub const CANCEL_PATH: &str = "/v1/cancel";

/// Where a permit is given back.
pub const RELEASE_PATH: &str = "/v1/release";

/// All doors of a listener; a clone is of the same.
#[derive(Clone)]
pub struct Doors {
    router: TowerToHyperService<Router>,
    /// Where checks are answered without a look at the other paths: most requests are checks. Traces follow the
    /// long way.
    checks: Option<App>,
}

impl Doors {
    /// Every path that the server answers.
    pub fn all(app: App) -> Doors {
        Doors::of(public().merge(admin::routes(&app)), app, true)
    }

    /// Those of a listener that is not for administration.
    pub fn public(app: App) -> Doors {
        Doors::of(public(), app, true)
    }

    /// Those of a listener that is for nothing else.
    pub fn admin(app: App) -> Doors {
        Doors::of(admin::routes(&app).merge(health::routes()), app, false)
    }

    fn of(routes: Router<App>, app: App, has_checks: bool) -> Doors {
        let checks = (has_checks && cfg!(not(feature = "otel"))).then(|| app.clone());
        let routes = routes.fallback(unknown_path).method_not_allowed_fallback(wrong_method);
        Doors { router: TowerToHyperService::new(routes.with_state(app)), checks }
    }

    /// Answers a request of this peer.
    pub fn answer<B>(
        &self,
        mut request: Request<B>,
        peer: Option<Peer>,
    ) -> impl Future<Output = Response> + use<B>
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
    {
        let is_check = request.method() == Method::POST && request.uri().path() == CHECK_PATH;
        let answer = match self.checks.as_ref().filter(|_| is_check) {
            Some(app) => Ok((app.clone(), request)),
            None => {
                peer.map(|peer| request.extensions_mut().insert(peer));
                // In a box, so that checks do not carry its size along.
                Err(Box::pin(self.router.call(request)))
            }
        };
        async move {
            match answer {
                Ok((app, request)) => check::answer(&app, request).await.into_response(),
                Err(answer) => match answer.await {
                    Ok(answer) => answer,
                    Err(never) => match never {},
                },
            }
        }
    }
}

impl Answers for Doors {
    type Body = Body;

    fn answer(
        &self,
        mut request: Request<Incoming>,
        arrival: &Arrival,
    ) -> impl Future<Output = Response> + Send + use<> {
        let (peer, most) = (Peer(arrival.peer), arrival.most);
        let answer = judge(&mut request).map(|()| Doors::answer(self, request, Some(peer)));
        async move {
            match answer {
                Ok(answer) => {
                    timeout(most, answer).await.unwrap_or_else(|_| too_slow(most).into_response())
                }
                Err(problem) => problem.into_response(),
            }
        }
    }
}

/// Whole seconds, rounded up.
fn seconds(time: Duration) -> i64 {
    let seconds = time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

fn too_slow(limit: Duration) -> Problem {
    let limit = ratekeeper::decision::Wait(limit);
    let detail = format!("the request took longer than {limit}; send it faster");
    Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
}

fn public() -> Router<App> {
    let routes = Router::new()
        .merge(health::routes())
        .route(CHECK_PATH, post(check::check))
        .route(RESERVE_PATH, post(reserve::reserve))
        .route(SETTLE_PATH, post(reserve::settle))
        .route(CANCEL_PATH, post(reserve::cancel))
        .route(RELEASE_PATH, post(reserve::release))
        .merge(authorize::routes());
    #[cfg(feature = "otel")]
    let routes = routes.layer(axum::middleware::from_fn(crate::observe::traces::follow));
    routes
}

/// Paths of administration, which a guard stands before.
pub(crate) fn admin_routes() -> Router<App> {
    top::routes().merge(stream::routes()).merge(playground::routes()).merge(live::admin_routes())
}

async fn unknown_path() -> Problem {
    let detail = "there is no such path; see `GET /openapi.json` for those that there are";
    Problem::new(StatusCode::NOT_FOUND, detail)
}

async fn wrong_method() -> Problem {
    let detail = "this path does not take that method; use one that the field `Allow` names";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}
