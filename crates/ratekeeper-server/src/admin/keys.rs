//! `GET` and `DELETE /v1/keys`: what a key has used under a rule, and its reset.
//!
//! Invariant: the key is the very one that a request of that caller meets; looking charges nothing.

mod asked;

use super::about;
use crate::app::App;
use crate::door::{Outcome, json};
use crate::observe::Frequent;
use crate::problem::Problem;
use asked::{Asked, EXAMPLE, Meant, bad};
use axum::extract::{RawQuery, State};
use axum::response::Response;
use ratekeeper::limiter::LogEntry;
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

/// Most buckets that are looked at for those: what else a text may mean was mostly never used.
const LOOKS_MAX: usize = 1_000;

/// Rules that are looked through before others have their turn.
const RULES_AT_ONCE: usize = 100;

/// What a key has left.
#[derive(Serialize)]
struct Left<'a> {
    #[serde(flatten)]
    outcome: Map<String, Value>,
    key: &'a [String],
    /// What each part is.
    kinds: Vec<String>,
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

/// What a key has left, and how it came to it. Of all that a text may mean, that which was used.
pub(super) async fn peek(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let asked = Asked::read(query.as_deref().unwrap_or_default())?;
    if asked.rule.is_empty() {
        return all(&app, &asked).await;
    }
    let mut shown = None;
    for meant in asked.meant(&app.limiter, &asked.rule)? {
        let (rule, key) = match meant.find(&app.limiter) {
            Ok(found) => found,
            Err(problem) if shown.is_none() => return Err(problem),
            Err(_) => continue,
        };
        let left = rule.peek(&key).await;
        let used = is_used(&left);
        if used || shown.is_none() {
            shown = Some((meant, rule, key, left));
        }
        if used {
            break;
        }
    }
    let Some((meant, rule, key, left)) = shown else { return Err(bad("`key` means nobody")) };
    let entries = match asked.entries {
        true => {
            let entries = rule.entries(&key, ENTRIES_MAX).await;
            Some(entries.map(|all| all.into_iter().map(Entry::from).collect()))
        }
        false => None,
    };
    json(&Left::new(&asked, &meant, &rule, &left, entries))
}

/// What a key has left under every rule that counts by as many parts. Beside what a text means first of all, whatever
/// else it may mean is told where it was used. What all requests share is nobody's.
async fn all(app: &App, asked: &Asked) -> Result<Response, Problem> {
    if asked.entries {
        return Err(bad(format!("`entries` needs a `rule`; {EXAMPLE}")));
    }
    let (mut buckets, mut more, mut looks) = (Vec::new(), 0, 0);
    for (number, own) in app.limiter.rules().into_iter().enumerate() {
        if number % RULES_AT_ONCE == RULES_AT_ONCE - 1 {
            tokio::task::yield_now().await;
        }
        // What does not fit has no bucket of this key.
        let Ok(meanings) = asked.meant(&app.limiter, own.name()) else { continue };
        for (number, meant) in meanings.iter().enumerate() {
            if meant.is_shared() {
                continue;
            }
            for meant in meant.by_tier(&app.limiter) {
                if buckets.len() >= BUCKETS_MAX || looks >= LOOKS_MAX {
                    more += usize::from(number == 0);
                    break;
                }
                let Ok((rule, key)) = meant.find(&app.limiter) else { continue };
                looks += 1;
                let left = rule.peek(&key).await;
                if number == 0 || is_used(&left) {
                    let left = Left::new(asked, &meant, &rule, &left, None);
                    buckets.push(serde_json::json!(left));
                }
            }
        }
    }
    let known = known(app, &asked.key);
    let (key, version) = (&asked.key, app.limiter.version());
    json(&serde_json::json!({
        "key": key, "version": version, "buckets": buckets, "more": more, "known": known,
    }))
}

fn is_used(left: &Decision) -> bool {
    !left.is_without_figures() && left.remaining() < left.limit()
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

/// Forgets what a key has used, whatever it may mean, and in whichever tier: nobody knows a caller's here.
pub(super) async fn reset(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let asked = Asked::read(query.as_deref().unwrap_or_default())?;
    if asked.rule.is_empty() {
        return Err(bad(format!("`rule` is missing; {EXAMPLE}")));
    }
    about(&app.limiter, &asked.rule, &asked.said());
    let (meant, rule, left) = reset_all(&app.limiter, &asked).await?;
    json(&Left::new(&asked, &meant, &rule, &left, None))
}

/// The same for doors that are not HTTP; whether the store took it.
pub(crate) async fn forget(limiter: &Limiter, rule: &str, key: &[&str]) -> Result<bool, String> {
    let asked = Asked::of(rule, key);
    let reset = reset_all(limiter, &asked).await;
    let (.., rule, left) = reset.map_err(|problem| problem.detail().to_owned())?;
    let hash = limiter.rule_for(rule.name(), key, None).map(|(rule, key)| rule.hash_of(&key));
    let hash = hash.map(|hash| format!("{hash:016x}")).unwrap_or_default();
    let done = !left.is_without_figures();
    tracing::info!(rule = rule.name(), key = hash, door = "resp", done, "reset of a key");
    Ok(done)
}

async fn reset_all(limiter: &Limiter, asked: &Asked) -> Result<(Meant, Rule, Decision), Problem> {
    let mut told: Option<(Meant, Rule, Decision)> = None;
    for meant in asked.meant(limiter, &asked.rule)? {
        for meant in meant.by_tier(limiter) {
            let (rule, key) = match meant.find(limiter) {
                Ok(found) => found,
                Err(problem) if told.is_none() => return Err(problem),
                Err(_) => continue,
            };
            let left = rule.reset(&key).await;
            // One that the store did not take is told before those that it did.
            if told.as_ref().is_none_or(|_| left.is_without_figures()) {
                told = Some((meant, rule, left));
            }
        }
    }
    told.ok_or_else(|| bad("`key` means nobody"))
}

impl<'a> Left<'a> {
    fn new(
        asked: &'a Asked,
        meant: &'a Meant,
        rule: &Rule,
        left: &Decision,
        entries: Option<Option<Vec<Entry>>>,
    ) -> Left<'a> {
        let algorithm = |own: &ratekeeper::Limit| own.algorithm().map(Algorithm::name);
        Left {
            outcome: Outcome::new(rule.name(), left, false).members(),
            key: &asked.key,
            kinds: meant.parts.iter().map(|part| part.kind.to_string()).collect(),
            tier: meant.tier.as_deref(),
            version: rule.version(),
            limits: rule.limits().iter().map(ToString::to_string).collect(),
            algorithms: rule.limits().iter().map(algorithm).collect(),
            source: left.source().name(),
            entries,
        }
    }
}
