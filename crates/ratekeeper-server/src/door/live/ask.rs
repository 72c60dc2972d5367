//! Questions about rules that change nothing: are they fine, what would be different, why is a request decided
//! as it is.
//!
//! Invariant: nothing changes, and nothing is charged.

use super::body;
use super::place::Place;
use super::refusal::Refusal;
use crate::app::App;
use crate::command::explained;
use crate::config::Faults;
use crate::door::answer::json;
use crate::door::described::Described;
use crate::door::field::{self, cost, needed, only};
use crate::door::question::rejected;
use crate::door::written;
use crate::reload::{BODY, difference, rules, tree};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use ratekeeper::rule::file::Source;
use serde_json::json as value;
use tokio::runtime::Handle;

const EXAMPLE: &str = r#"{"request":{"method":"GET","path":"/api/users","ip":"192.0.2.7"}}"#;

async fn sources(app: &App, request: Request) -> Result<Vec<Source>, Refusal> {
    let text = body::read(request, app.body_timeout).await?;
    Ok(vec![Source { name: BODY.into(), text }])
}

/// Whether a rule file makes sense here.
pub(super) async fn validate(
    place: Place,
    State(app): State<App>,
    request: Request,
) -> Result<Response, Refusal> {
    let sources = sources(&app, request).await?;
    let judge = move || {
        Ok(json(&match app.rulebook.judge(sources) {
            Ok((rules, restart)) => {
                value!({"valid": true, "rules": rules, "errors": [], "restart": restart})
            }
            Err(Faults { listed, more }) => {
                value!({"valid": false, "rules": 0, "errors": listed, "more": more})
            }
        })?)
    };
    place.work(judge).await
}

/// What a rule file would change.
pub(super) async fn diff(
    place: Place,
    State(app): State<App>,
    request: Request,
) -> Result<Response, Refusal> {
    let sources = sources(&app, request).await?;
    let compare = move || {
        app.rulebook.judge(sources.clone())?;
        let live = app.rulebook.live();
        let (old, new) = (tree(&live.sources())?, tree(&sources)?);
        let count = rules(&new).len();
        let told = difference(&old, &new);
        Ok(json(&value!({ "version": live.number, "rules": count, "difference": told }))?)
    };
    place.work(compare).await
}

/// Why a request would be decided as it would be.
pub(super) async fn explain(
    place: Place,
    State(app): State<App>,
    request: Request,
) -> Result<Response, Refusal> {
    let text = crate::door::body::read(request, app.body_timeout).await?;
    // The work grows with the rules; asking a store for what is left is the least of it.
    let runtime = Handle::current();
    place.work(move || runtime.block_on(explained_to(&app, &text))).await
}

async fn explained_to(app: &App, text: &str) -> Result<Response, Refusal> {
    let [described, units] = only(written::parse(text, EXAMPLE)?, ["request", "cost"], EXAMPLE)?;
    let described = needed(described, "request", "send one with method and path")?;
    let units = units.map_or(Ok(1), |units| cost(units, "cost", 0))?;
    let at = field::Place::default();
    let described = Described::read(described, at)?;
    let request = described.request(units);
    let told = app.limiter.explain(&request).await.map_err(|fault| rejected(&fault, at))?;
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], explained(&told)).into_response())
}
