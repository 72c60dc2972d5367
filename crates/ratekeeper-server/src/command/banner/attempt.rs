//! A question that is worth asking a server that has just started: one that a rule decides.
//!
//! Invariant: it was tried out; the rule that it is for applies to it.

use ratekeeper::rule::{KeyKind, RuleSpec};
use ratekeeper::{Limiter, Request};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::slice;

/// Rules that are looked at for something to try.
const RULES_TRIED: usize = 20;

/// An address that is nobody's (RFC 5737).
pub(in super::super) const SOMEBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

/// A user.
const ALICE: &str = "alice";

/// What to ask, as the check API takes it.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Attempt {
    Key { rule: String, key: Parts },
    Request { request: Described },
}

/// A key of one part is a string, one of several a list.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Parts {
    One(String),
    Several(Vec<String>),
}

/// A request, as the check API takes it.
#[derive(Serialize)]
pub(super) struct Described {
    method: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    ip: IpAddr,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
}

impl Attempt {
    /// A key of one part.
    pub(super) fn key(rule: &str, key: &str) -> Attempt {
        Attempt::Key { rule: rule.to_owned(), key: Parts::One(key.to_owned()) }
    }

    pub(super) fn json(&self) -> String {
        // Strings, lists and maps of strings can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The same for `ratekeeper check`, which asks for keys only: a rule, and the parts of a key.
    pub(super) fn words(&self) -> Option<(&str, &[String])> {
        match self {
            Attempt::Key { rule, key: Parts::One(only) } => Some((rule, slice::from_ref(only))),
            Attempt::Key { rule, key: Parts::Several(parts) } => Some((rule, parts)),
            Attempt::Request { .. } => None,
        }
    }
}

/// The first rule that a request can be made for, or else a key of one.
pub(super) async fn find(limiter: &Limiter, rules: &[RuleSpec]) -> Attempt {
    let tried = || rules.iter().take(RULES_TRIED);
    for rule in tried() {
        if let Some(request) = request(limiter, rule).await {
            return Attempt::Request { request };
        }
    }
    if let Some(attempt) = by_key(limiter, rules) {
        return attempt;
    }
    let (method, path, headers) = ("GET".into(), "/".into(), BTreeMap::new());
    Attempt::Request { request: Described { method, path, host: None, ip: SOMEBODY, headers } }
}

/// A key of the first rule that can be asked for one.
pub(super) fn by_key(limiter: &Limiter, rules: &[RuleSpec]) -> Option<Attempt> {
    rules.iter().take(RULES_TRIED).find_map(|rule| {
        let key: Vec<String> = rule.key.parts.iter().map(|part| somebody(part)).collect();
        let texts: Vec<&str> = key.iter().map(String::as_str).collect();
        limiter.rule_for(&rule.id, &texts, None).ok()?;
        let key = match &key[..] {
            [only] => Parts::One(only.clone()),
            _ => Parts::Several(key),
        };
        Some(Attempt::Key { rule: rule.id.to_string(), key })
    })
}

/// A value for a part of a key.
fn somebody(part: &[KeyKind]) -> String {
    match part.first() {
        Some(KeyKind::Ip) => SOMEBODY.to_string(),
        _ => ALICE.to_owned(),
    }
}

/// A request that the rule applies to.
async fn request(limiter: &Limiter, rule: &RuleSpec) -> Option<Described> {
    let matches = &rule.matches;
    let method = matches.methods.first().map_or("GET", |method| &**method);
    let path = matches.paths.first().map_or_else(|| "/".to_owned(), |path| example(path.as_str()));
    let host = matches.hosts.first().map(|host| host.to_string().replacen("*.", "www.", 1));
    let headers: Vec<(&str, &str)> = matches
        .headers
        .iter()
        .map(|(name, value)| (&**name, value.as_deref().unwrap_or("x")))
        .collect();
    let request = Request {
        host: host.as_deref(),
        peer: Some(SOMEBODY),
        headers: &headers,
        ..Request::new(method, &path)
    };
    let explained = limiter.explain(&request).await.ok().filter(|found| !found.exempt)?;
    let _ = limiter.prepare(&request).ok()?;
    explained.rules.iter().find(|own| own.rule == rule.id && own.why_not.is_none())?;
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let headers = headers.iter().map(owned).collect();
    Some(Described { method: method.to_owned(), path, host, ip: SOMEBODY, headers })
}

/// A path that a pattern matches.
pub(super) fn example(pattern: &str) -> String {
    let segments = pattern.split('/').map(|segment| match segment {
        "*" | "**" => "x",
        other => other,
    });
    segments.collect::<Vec<_>>().join("/")
}
