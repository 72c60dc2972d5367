//! `GET` and `DELETE /v1/keys`: what a key has used under a rule, and its reset.
//!
//! Invariant: the key is the very one that a request of that caller meets; looking charges nothing.

use super::about;
use crate::app::App;
use crate::door::{Outcome, PARTS_MAX, json};
use crate::observe::Frequent;
use crate::problem::{Problem, quoted};
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use form_urlencoded::parse;
use ratekeeper::limiter::{AskError, LogEntry, RuleKey};
use ratekeeper::{Algorithm, Decision, Limiter, Rule};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Most entries of a log that are shown: the newest.
const ENTRIES_MAX: usize = 1_000;

/// Most rules whose buckets are shown together, and most busy keys beside them.
const BUCKETS_MAX: usize = 200;
const KNOWN_MAX: usize = 20;

/// How to ask.
const EXAMPLE: &str = "ask such as `?rule=login&key=alice`";

/// What is asked for, such as `?rule=api&key=alice`; without a rule, all of them.
#[derive(Clone, Debug, Default)]
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
    /// The tier whose limits these are, where tiers differ, or one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<&'a str>,
    version: u64,
    /// The limits as rule files have them.
    limits: Vec<String>,
    /// How each of them counts; null for permits.
    algorithms: Vec<Option<&'static str>>,
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
    if asked.rule.is_empty() {
        return all(&app, &asked).await;
    }
    let (rule, key) = asked.find(&app.limiter)?;
    let left = rule.peek(&key).await;
    let entries = match asked.entries {
        true => {
            let entries = rule.entries(&key, ENTRIES_MAX).await;
            Some(entries.map(|all| all.into_iter().map(Entry::from).collect()))
        }
        false => None,
    };
    json(&asked.left(&rule, &left, entries))
}

/// What a key has left under every rule that counts by as many parts.
async fn all(app: &App, asked: &Asked) -> Result<Response, Problem> {
    if asked.entries {
        return Err(bad(format!("`entries` needs a `rule`; {EXAMPLE}")));
    }
    let (mut buckets, mut more) = (Vec::new(), 0);
    for own in app.limiter.rules() {
        for asked in (Asked { rule: own.name().to_owned(), ..asked.clone() }).by_tier(&app.limiter)
        {
            // What does not fit has no bucket of this key.
            let Ok((rule, key)) = asked.find(&app.limiter) else { continue };
            if buckets.len() < BUCKETS_MAX {
                let left = rule.peek(&key).await;
                buckets.push(serde_json::json!(asked.left(&rule, &left, None)));
            } else {
                more += 1;
            }
        }
    }
    let known = known(app, &asked.key);
    let (key, version) = (&asked.key, app.limiter.version());
    json(&serde_json::json!({
        "key": key, "version": version, "buckets": buckets, "more": more, "known": known,
    }))
}

/// Busy keys of several parts, one of which is this.
fn known(app: &App, key: &[String]) -> Vec<Frequent> {
    let [part] = key else { return Vec::new() };
    let (asked, refused) = app.observe.frequent(crate::observe::ENTRIES_MAX);
    let mut seen = HashSet::new();
    let has = |own: &Frequent| {
        own.key.as_ref().is_some_and(|key| key.len() > 1 && key.iter().any(|one| one == part))
    };
    let found = asked.into_iter().chain(refused).filter(has);
    let once = found.filter(|own| seen.insert((Arc::clone(&own.rule), own.hash.clone())));
    once.take(KNOWN_MAX).collect()
}

/// Forgets what a key has used.
pub(super) async fn reset(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let asked = Asked::read(query.as_deref().unwrap_or_default())?;
    if asked.rule.is_empty() {
        return Err(bad(format!("`rule` is missing; {EXAMPLE}")));
    }
    let parts: Vec<&str> = asked.key.iter().map(|part| &**part).collect();
    about(&app.limiter, &asked.rule, &parts);
    let (rule, key) = asked.find(&app.limiter)?;
    let left = rule.reset(&key).await;
    // Nobody knows a caller's tier here: what it has used is forgotten whichever it has.
    for other in asked.by_tier(&app.limiter) {
        let (rule, key) = other.find(&app.limiter)?;
        let _ = rule.reset(&key).await;
    }
    json(&asked.left(&rule, &left, None))
}

impl Asked {
    /// The same for each tier of which the rule has limits of its own for this key; as it is, if it names one.
    fn by_tier(&self, limiter: &Limiter) -> Vec<Asked> {
        if self.tier.is_some() {
            return vec![self.clone()];
        }
        let (mut seen, mut each) = (Vec::new(), Vec::new());
        for tier in limiter.tiers() {
            let own = Asked { tier: Some(tier.to_string()), ..self.clone() };
            let Ok((rule, _)) = own.find(limiter) else { continue };
            if !seen.contains(&rule.limits().to_vec()) {
                seen.push(rule.limits().to_vec());
                each.push(own);
            }
        }
        if each.len() < 2 { vec![self.clone()] } else { each }
    }

    fn read(query: &str) -> Result<Asked, Problem> {
        let mut asked = Asked::default();
        for (name, value) in parse(query.as_bytes()) {
            match &*name {
                "rule" | "tier" if value.is_empty() => {
                    return Err(bad(format!("`{name}` is empty; send one, or leave it out")));
                }
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
        match asked.key.is_empty() {
            true => Err(bad(format!("`key` is missing; {EXAMPLE}"))),
            false => Ok(asked),
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

    fn left(&self, rule: &Rule, left: &Decision, entries: Option<Option<Vec<Entry>>>) -> Left<'_> {
        Left {
            outcome: Outcome::new(rule.name(), left, false).members(),
            key: &self.key,
            tier: self.tier.as_deref(),
            version: rule.version(),
            limits: rule.limits().iter().map(ToString::to_string).collect(),
            algorithms: rule
                .limits()
                .iter()
                .map(|own| own.algorithm().map(Algorithm::name))
                .collect(),
            source: left.source().name(),
            entries,
        }
    }
}

fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail)
}
