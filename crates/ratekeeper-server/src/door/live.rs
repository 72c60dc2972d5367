//! Live rules over HTTP: releases, overrides and switches, for administrators.
//!
//! Invariant: a call that is refused has changed nothing; every refusal names the fault and the repair.

mod ask;
mod body;
mod overrides;
mod place;
mod refusal;
mod releases;
mod rules;
mod switches;

pub use body::RULES_MAX;

use crate::app::App;
use axum::Router;
use axum::extract::Path;
use axum::routing::{MethodRouter, get, post, put};

/// The rules that decide.
pub const RULES_PATH: &str = "/v1/rules";

/// The releases that were.
pub const RELEASES_PATH: &str = "/v1/releases";

/// Limits of single keys.
pub const OVERRIDES_PATH: &str = "/v1/overrides";

/// Switches.
pub const SWITCHES_PATH: &str = "/v1/switches";

/// What administrators may ask of live rules.
pub(crate) fn admin_routes() -> Router<App> {
    Router::new()
        .route(RULES_PATH, get(rules::show).put(rules::replace))
        .route("/v1/rules/validate", beside("validate", post(ask::validate)))
        .route("/v1/rules/explain", beside("explain", post(ask::explain)))
        .route("/v1/rules/diff", beside("diff", post(ask::diff)))
        .route("/v1/rules/{id}", put(rules::put_one).delete(rules::delete_one))
        .route(RELEASES_PATH, get(releases::list))
        .route("/v1/releases/{n}/restore", post(releases::restore))
        .route(OVERRIDES_PATH, get(overrides::list).put(overrides::put))
        .route(SWITCHES_PATH, get(switches::list))
        .route("/v1/switches/{rule}", put(switches::turn))
}

/// A question, at a path that is also that of the rule of its name.
fn beside(name: &'static str, question: MethodRouter<App>) -> MethodRouter<App> {
    let path = move || Ok(Path(name.to_owned()));
    question
        .put(move |place, app, who, request| rules::put_one(place, app, path(), who, request))
        .delete(move |place, app, who, headers| rules::delete_one(place, app, path(), who, headers))
}
