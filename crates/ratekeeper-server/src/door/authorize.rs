//! Forward-auth: a gateway asks, for each request of its clients, whether it may pass.
//!
//! Invariant: only a gateway that `trusted_proxies` names is answered, so that nobody else can say who
//! calls, and for what. The path of the call is all that is chosen; nothing in a query or a header field
//! is an option. A status of 200 is for requests that pass, and for nothing else.

mod original;
mod reply;
mod skipped;

pub(crate) use skipped::skipped;

use crate::app::App;
use crate::decisions::Asked;
use crate::observe::{Door, through};
use crate::problem::Problem;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::any;
use original::Original;
use reply::Reply;

/// Where gateways ask that pass every refusal on: Caddy, Traefik, `HAProxy`.
pub const AUTHORIZE_PATH: &str = "/v1/authorize";

/// Where nginx asks: of refusals it knows 401 and 403 alone.
pub const AUTHORIZE_NGINX_PATH: &str = "/v1/authorize/nginx";

/// Where Envoy asks: the target of the request follows.
pub const AUTHORIZE_ENVOY_PREFIX: &str = "/v1/authorize/envoy";

pub(crate) fn routes() -> Router<App> {
    let envoy = |rest: &str| format!("{AUTHORIZE_ENVOY_PREFIX}/{rest}");
    Router::new()
        .route(AUTHORIZE_PATH, any(plain))
        .route(AUTHORIZE_NGINX_PATH, any(nginx))
        .route(&envoy(""), any(self::envoy))
        .route(&envoy("{*path}"), any(self::envoy))
}

async fn plain(State(app): State<App>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    ask(&app, parts, Original::forwarded).await.into_response()
}

async fn nginx(State(app): State<App>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    ask(&app, parts, Original::forwarded).await.for_nginx().into_response()
}

async fn envoy(State(app): State<App>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    ask(&app, parts, Original::behind_prefix).await.into_response()
}

/// Where the gateway says what its client asked for.
type Reads = fn(&Parts) -> Result<Original, Problem>;

/// Asks the rules; waits for the request's turn where one of them shapes. Dropped meanwhile, because the
/// gateway has hung up, it has left its line.
async fn ask(app: &App, mut parts: Parts, reads: Reads) -> Reply {
    let original = match trusted(app, &parts).and_then(|()| reads(&parts)) {
        Ok(original) => original,
        Err(problem) => return Reply::problem(&problem),
    };
    original.restore(&mut parts.headers);
    let request = original.request(&parts);
    let asking = app.limiter.admit_without_permits(&request);
    match through(Door::Authorize, asking).await {
        Ok(admission) => {
            let now = app.limiter.now();
            let asked = || Asked::about(&app.limiter, &request, &admission);
            let id = app.refusals.note(now, Door::Authorize.name(), &admission, asked);
            Reply::decided(&admission, id.as_deref(), now, &parts.headers)
        }
        Err(rejected) => Reply::rejected(&rejected),
    }
}

/// Whether this peer may speak for others. Being on this machine is no reason: so are its users.
fn trusted(app: &App, parts: &Parts) -> Result<(), Problem> {
    let peer = original::peer(parts);
    if peer.is_some_and(|peer| app.limiter.trusts(peer)) {
        return Ok(());
    }
    let who = peer.map_or_else(|| "who asks".into(), |peer| peer.to_canonical().to_string());
    let repair = "if this is your gateway, add its address there";
    let detail = format!("{who} is not in `identity.trusted_proxies`; {repair}");
    Err(Problem::new(StatusCode::FORBIDDEN, detail))
}
