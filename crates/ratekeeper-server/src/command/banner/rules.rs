//! Rules in lines: id, limits by tier, algorithm, key, and for whom they are enforced.
//!
//! Invariant: however many rules there are, and however long their texts, the lines are few and short
//! enough to read.

use ratekeeper::rule::{KeyKind, KeySpec, Limits, Rollout, RuleSet, RuleSpec, Scope};
use ratekeeper::{Algorithm, Limit};
use std::sync::Arc;

/// Most rules that are shown; the others are counted.
pub(super) const RULES_SHOWN: usize = 20;

/// Most tiers of a rule that are shown; the others are counted.
const TIERS_SHOWN: usize = 5;

/// Texts wider than this put what follows them out of line.
const WIDTH_MAX: usize = 48;

/// The lines of a set of rules.
pub(super) fn lines(set: &RuleSet) -> Vec<String> {
    let rules = &set.rules[..set.rules.len().min(RULES_SHOWN)];
    if rules.is_empty() {
        return vec!["none, so that every request passes".into()];
    }
    let limits: Vec<Vec<String>> = rules.iter().map(|rule| limits(rule, &set.tiers)).collect();
    let ids = width(rules.iter().map(|rule| &*rule.id));
    let middle = width(limits.iter().flatten().map(String::as_str));
    let mut lines = Vec::new();
    for (rule, limits) in rules.iter().zip(&limits) {
        for (number, limit) in limits.iter().enumerate() {
            let (id, manner) = match number {
                0 => (&*rule.id, manner(rule)),
                _ => ("", String::new()),
            };
            lines.push(format!("{id:<ids$}  {limit:<middle$}  {manner}").trim_end().to_owned());
        }
    }
    let more = set.rules.len() - rules.len();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// The width of a column.
fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).filter(|width| *width <= WIDTH_MAX).max().unwrap_or(0)
}

/// How much, one line for each tier if they differ.
pub(super) fn limits(rule: &RuleSpec, tiers: &[Arc<str>]) -> Vec<String> {
    match &rule.limits {
        Limits::Closed => vec!["closed".into()],
        Limits::Same(limits) => vec![all(limits)],
        Limits::ByTier(each) => {
            let shown = tiers.iter().take(TIERS_SHOWN);
            let names = width(shown.clone().map(|tier| &**tier));
            let tiers = shown.zip(each).map(|(tier, own)| format!("{tier:<names$}  {}", all(own)));
            let more = each.len().saturating_sub(TIERS_SHOWN);
            let more = (more > 0).then(|| format!("and {more} more tiers"));
            tiers.chain(more).collect()
        }
    }
}

fn all(limits: &[Limit]) -> String {
    let texts: Vec<String> = limits.iter().map(ToString::to_string).collect();
    texts.join(" and ")
}

/// How it counts, whom, and for whom it is enforced.
pub(super) fn manner(rule: &RuleSpec) -> String {
    let limits: Vec<&Limit> = match &rule.limits {
        Limits::Closed => Vec::new(),
        Limits::Same(limits) => limits.iter().collect(),
        Limits::ByTier(each) => each.iter().flatten().collect(),
    };
    let mut said: Vec<String> = Vec::new();
    said.extend(
        limits.iter().find_map(|limit| limit.algorithm()).map(Algorithm::name).map(Into::into),
    );
    if limits.iter().any(|limit| limit.is_shaping()) {
        said.push("shaping".into());
    }
    if rule.limits != Limits::Closed {
        said.extend(key(&rule.key));
    }
    match rule.rollout {
        Rollout::Off => said.push("off".into()),
        Rollout::Shadow => said.push("in shadow".into()),
        Rollout::Percent(100) => {}
        Rollout::Percent(percent) => said.push(format!("enforced for {percent} % of keys")),
    }
    if rule.scope == Scope::Instance {
        said.push("each server by itself".into());
    }
    said.extend(rule.domain.as_ref().map(|domain| format!("for Envoy's domain {domain}")));
    said.join(", ")
}

/// Who is counted; `None` if that is up to who asks.
fn key(key: &KeySpec) -> Option<String> {
    if matches!(&key.parts[..], [part] if part[..] == [KeyKind::Global]) {
        return Some("all together".into());
    }
    let part = |kinds: &Vec<KeyKind>| {
        let kinds: Option<Vec<String>> = kinds.iter().map(kind).collect();
        kinds.map(|kinds| kinds.join(" or "))
    };
    let parts: Option<Vec<String>> = key.parts.iter().map(part).collect();
    parts.map(|parts| format!("by {}", parts.join(" and ")))
}

fn kind(kind: &KeyKind) -> Option<String> {
    Some(match kind {
        KeyKind::Given => return None,
        KeyKind::Ip => "ip".into(),
        KeyKind::User => "user".into(),
        KeyKind::ApiKey => "api_key".into(),
        KeyKind::Tier => "tier".into(),
        KeyKind::Route => "route".into(),
        KeyKind::Path => "path".into(),
        KeyKind::Method => "method".into(),
        KeyKind::Host => "host".into(),
        KeyKind::Global => "global".into(),
        KeyKind::Header(name) => format!("header:{name}"),
        KeyKind::Claim(name) => format!("claim:{name}"),
        KeyKind::Descriptor(name) => format!("descriptor:{name}"),
    })
}
