//! `GET` and `DELETE /v1/keys`: what a key has used under a rule, and its reset.
//!
//! Invariant: the key is the very one that a request of that caller meets; looking charges nothing.

use super::about;
use crate::app::App;
use crate::door::{Outcome, PARTS_MAX, json};
use crate::problem::{Problem, quoted};
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use form_urlencoded::parse;
use ratekeeper::limiter::{AskError, LogEntry, RuleKey};
use ratekeeper::{Decision, Limiter, Rule};
use serde::Serialize;
use serde_json::{Map, Value};

/// Most entries of a log that are shown: the newest.
const ENTRIES_MAX: usize = 1_000;

/// How to ask.
const EXAMPLE: &str = "ask such as `?rule=login&key=alice`";

/// What is asked for, such as `?rule=api&key=alice`.
#[derive(Debug, Default)]
struct Asked {
    rule: String,
    key: Vec<String>,
    tier: Option<String>,
    entries: bool,
}

/// What a key has left.
#[derive(Serialize)]
struct Left<'a> {
    #[serde(flatten)]
    outcome: Map<String, Value>,
    key: &'a [String],
    version: u64,
    /// The limits as rule files have them.
    limits: Vec<String>,
    source: &'static str,
    /// What its log holds, where that was asked for; null if the rule has none, or the store is away.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Option<Vec<Entry>>>,
}

/// One entry of a log.
#[derive(Serialize)]
struct Entry {
    /// Seconds since the epoch.
    at: f64,
    cost: u64,
}

impl From<LogEntry> for Entry {
    fn from(LogEntry { at, cost }: LogEntry) -> Entry {
        Entry { at: at.as_micros() as f64 / 1e6, cost }
    }
}

/// What a key has left, and how it came to it.
pub(super) async fn peek(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let asked = Asked::read(query.as_deref().unwrap_or_default())?;
    let (rule, key) = asked.find(&app.limiter)?;
    let left = rule.peek(&key).await;
    let entries = match asked.entries {
        true => {
            let entries = rule.entries(&key, ENTRIES_MAX).await;
            Some(entries.map(|all| all.into_iter().map(Entry::from).collect()))
        }
        false => None,
    };
    asked.answer(&rule, &left, entries)
}

/// Forgets what a key has used.
pub(super) async fn reset(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let asked = Asked::read(query.as_deref().unwrap_or_default())?;
    let parts: Vec<&str> = asked.key.iter().map(|part| &**part).collect();
    about(&app.limiter, &asked.rule, &parts);
    let (rule, key) = asked.find(&app.limiter)?;
    let left = rule.reset(&key).await;
    asked.answer(&rule, &left, None)
}

impl Asked {
    fn read(query: &str) -> Result<Asked, Problem> {
        let mut asked = Asked::default();
        for (name, value) in parse(query.as_bytes()) {
            match &*name {
                "rule" if asked.rule.is_empty() => asked.rule = value.into_owned(),
                "tier" if asked.tier.is_none() => asked.tier = Some(value.into_owned()),
                "key" if value.is_empty() => {
                    return Err(bad("`key` is empty; send who is counted"));
                }
                "key" if asked.key.len() < PARTS_MAX => asked.key.push(value.into_owned()),
                "key" => {
                    return Err(bad(format!("there are more than {PARTS_MAX} `key`; send fewer")));
                }
                "entries" if ["true", "false"].contains(&&*value) => {
                    asked.entries = value == "true";
                }
                "entries" => {
                    return Err(bad("`entries` is neither true nor false; send one of them"));
                }
                "rule" | "tier" => {
                    return Err(bad(format!("`{name}` is there twice; send it once")));
                }
                _ => {
                    let name = quoted(&name);
                    let fields = "rule, key, tier and entries";
                    return Err(bad(format!("there is no field `{name}`; there are {fields}")));
                }
            }
        }
        match (asked.rule.is_empty(), asked.key.is_empty()) {
            (true, _) => Err(bad(format!("`rule` is missing; {EXAMPLE}"))),
            (_, true) => Err(bad(format!("`key` is missing; {EXAMPLE}"))),
            _ => Ok(asked),
        }
    }

    fn find(&self, limiter: &Limiter) -> Result<(Rule, RuleKey), Problem> {
        let key: Vec<&str> = self.key.iter().map(|part| &**part).collect();
        limiter.rule_for(&self.rule, &key, self.tier.as_deref()).map_err(|error| match error {
            AskError::Unknown(unknown) => {
                Problem::new(StatusCode::NOT_FOUND, format!("`rule` is unknown: {unknown}"))
            }
            AskError::Closed | AskError::Parts { .. } => {
                bad(format!("`key` does not fit: {error}"))
            }
        })
    }

    fn answer(
        &self,
        rule: &Rule,
        left: &Decision,
        entries: Option<Option<Vec<Entry>>>,
    ) -> Result<Response, Problem> {
        json(&Left {
            outcome: Outcome::new(rule.name(), left, false).members(),
            key: &self.key,
            version: rule.version(),
            limits: rule.limits().iter().map(ToString::to_string).collect(),
            source: left.source().name(),
            entries,
        })
    }
}

fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail)
}
