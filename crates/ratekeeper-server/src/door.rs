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
mod top;
mod authorize;
mod live;

pub(crate) use answer::{Answer, Outcome, json};
pub(crate) use authorize::skipped;
pub use authorize::{AUTHORIZE_ENVOY_PREFIX, AUTHORIZE_NGINX_PATH, AUTHORIZE_PATH};
pub use body::{BODY_MAX, DEPTH_MAX};
pub(crate) use described::is_token_byte;
pub use described::{HOST_MAX, METHOD_MAX, USER_MAX};
pub use field::COST_MAX;
pub use live::{OVERRIDES_PATH, RELEASES_PATH, RULES_MAX, RULES_PATH, SWITCHES_PATH};
pub use question::PARTS_MAX;
pub use written::ITEMS_MAX;

use crate::admin;
use crate::app::App;
use crate::problem::Problem;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;

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

/// Every path that the server answers.
pub fn router(app: App) -> Router {
    complete(public().merge(admin::routes(&app)), app)
}

/// Those of a listener that is not for administration.
pub fn public_router(app: App) -> Router {
    complete(public(), app)
}

/// Those of a listener that is for nothing else.
pub fn admin_router(app: App) -> Router {
    complete(admin::routes(&app).merge(health::routes()), app)
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
    top::admin_routes().merge(live::admin_routes())
}

fn complete(routes: Router<App>, app: App) -> Router {
    routes.fallback(unknown_path).method_not_allowed_fallback(wrong_method).with_state(app)
}

async fn unknown_path() -> Problem {
    let detail = "there is no such path; see `GET /openapi.json` for those that there are";
    Problem::new(StatusCode::NOT_FOUND, detail)
}

async fn wrong_method() -> Problem {
    let detail = "this path does not take that method; use one that the field `Allow` names";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}
