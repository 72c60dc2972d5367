//! Releases: listed, and brought back.
//!
//! Invariant: what is brought back is a new release; numbers only grow.

use super::place::Place;
use super::refusal::{Refusal, seen};
use super::rules::{Named, Who, called, done, named, number};
use crate::app::App;
use crate::door::answer::json;
use crate::problem::Problem;
use crate::reload::{Draft, Origin, Refused, Release};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

/// Lists the releases that are kept, the newest first.
pub(super) async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let releases = app.rulebook.releases();
    let listed: Vec<_> = releases.iter().map(|release| release.listed()).collect();
    json(&serde_json::json!({ "version": app.rulebook.live().number, "releases": listed }))
}

/// Makes a release of the texts of one before.
pub(super) async fn restore(
    place: Place,
    State(app): State<App>,
    text: Named,
    who: Who,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (seen, number) = (seen(&headers)?, number(&named(text)?)?);
    let kept = app.rulebook.releases();
    let draft = move |live: &Release| {
        let found = kept.iter().find(|release| release.number == number);
        let found = found.filter(|release| !release.files.is_empty()).ok_or_else(|| {
            Refused::Unknown("there is no such release; name one of `GET /v1/releases`".into())
        })?;
        let change = format!("release {number} again");
        let draft = called(&who, &change, found.sources(), live, found.trusted);
        Ok(Draft { source: Origin::Restore, ..draft })
    };
    done(&app, place.change(&app, seen, draft).await)
}
