//! Questions about rules that change nothing: are they fine, what would be different, why is a request decided
//! as it is.
//!
//! Invariant: nothing changes, and nothing is charged.

use super::body;
use super::refusal::Refusal;
use crate::app::App;
use crate::command::explained;
use crate::door::answer::json;
use crate::door::described::Described;
use crate::door::field::{Place, cost, needed, only};
use crate::door::question::rejected;
use crate::door::written;
use crate::reload::{BODY, Refused, difference, rules, tree};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use ratekeeper::rule::file::Source;
use serde_json::json as value;

const EXAMPLE: &str = r#"{"request":{"method":"GET","path":"/api/users","ip":"192.0.2.7"}}"#;

async fn sources(app: &App, request: Request) -> Result<Vec<Source>, Refusal> {
    let text = body::read(request, app.body_timeout).await?;
    Ok(vec![Source { name: BODY.into(), text }])
}

/// Whether a rule file makes sense here.
pub(super) async fn validate(
    State(app): State<App>,
    request: Request,
) -> Result<Response, Refusal> {
    let sources = sources(&app, request).await?;
    let answer = match app.rulebook.judge(sources).await {
        Ok((rules, restart)) => {
            value!({"valid": true, "rules": rules, "errors": [], "restart": restart})
        }
        Err(Refused::Faults(faults)) => {
            value!({"valid": false, "rules": 0, "errors": faults.listed, "more": faults.more})
        }
        Err(refused) => return Err(refused.into()),
    };
    Ok(json(&answer)?)
}

/// What a rule file would change.
pub(super) async fn diff(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    let sources = sources(&app, request).await?;
    app.rulebook.judge(sources.clone()).await?;
    let live = app.rulebook.live();
    let [old, new] = [&live.sources(), &sources].map(|sources| tree(sources));
    let (old, new) = (old.map_err(Refused::Faults)?, new.map_err(Refused::Faults)?);
    let count = rules(&new).len();
    let told = difference(&old, &new);
    Ok(json(&value!({ "version": live.number, "rules": count, "difference": told }))?)
}

/// Why a request would be decided as it would be.
pub(super) async fn explain(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    let text = crate::door::body::read(request, app.body_timeout).await?;
    let [described, units] = only(written::parse(&text, EXAMPLE)?, ["request", "cost"], EXAMPLE)?;
    let described = needed(described, "request", "send one with method and path")?;
    let units = units.map_or(Ok(1), |units| cost(units, "cost", 0))?;
    let at = Place::default();
    let described = Described::read(described, at)?;
    let request = described.request(units);
    let told = app.limiter.explain(&request).await.map_err(|fault| rejected(&fault, at))?;
    let kind = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, kind)], explained(&told)).into_response())
}
