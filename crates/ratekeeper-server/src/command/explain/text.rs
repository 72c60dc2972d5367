//! An explanation, for people and for programs.
//!
//! Invariant: both say the same; nothing of the request can steer a terminal.

use super::super::plain;
use crate::args::Explain;
use ratekeeper::decision::UNLIMITED;
use ratekeeper::limiter::{Explained, Explanation, Mode};
use ratekeeper::{Algorithm, Decision, Limit};
use serde::Serialize;
use std::net::IpAddr;

/// For people: the request, then each rule.
pub(super) fn human(explained: &Explanation, args: &Explain) -> String {
    let or = |text: Option<&str>, none: &str| text.map_or_else(|| none.to_owned(), plain);
    let address = explained.address.map(|address| address.to_string());
    let stands_in = if args.ip.is_none() { " (stands in; say another with `--ip`)" } else { "" };
    let mut lines = vec![
        row("method", &plain(&args.method)),
        row("path", &or(explained.path.as_deref(), "no rule looks at it")),
        row("address", &format!("{}{stands_in}", or(address.as_deref(), "unknown"))),
        row("user", &or(explained.user.as_deref(), "nobody")),
        row("tier", &or(explained.tier.as_deref(), "there are no tiers")),
    ];
    if explained.exempt {
        lines.push(row("exempt", "it passes without being counted, whatever rules say"));
    }
    let applies = explained.rules.iter().filter(|rule| rule.why_not.is_none()).count();
    let all = explained.rules.len();
    lines.push(row("rules", &format!("{applies} of {all} apply")));
    let width = explained.rules.iter().map(|rule| rule.rule.len()).max().unwrap_or(0);
    // A rule that applies has room around it; the others are a list.
    let mut room = true;
    for rule in &explained.rules {
        let id = &rule.rule;
        let before = if room || rule.why_not.is_none() { "\n" } else { "" };
        room = rule.why_not.is_none();
        if let Some(why) = &rule.why_not {
            lines.push(format!("{before}{id:<width$}  does not apply: {}", plain(why)));
            continue;
        }
        lines.push(format!("{before}{id:<width$}  applies, {}", mode(rule.mode)));
        for (name, text) in details(rule) {
            lines.push(format!("{:<width$}  {name:<6} {text}", ""));
        }
    }
    lines.join("\n")
}

fn row(name: &str, text: &str) -> String {
    format!("{name:<9}{text}")
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforced => "enforced",
        Mode::Shadow => "in shadow: it only says what it would do",
        Mode::Off => "off",
    }
}

/// What is to know about a rule that applies.
fn details(rule: &Explained) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    details.extend(rule.route.as_ref().map(|route| ("route", plain(route))));
    let key: Vec<String> = rule.key.iter().map(|(kind, value)| format!("{kind} {value}")).collect();
    if !key.is_empty() {
        details.push(("key", plain(key.join(", ").trim_end())));
    }
    let Some(left) = &rule.left else {
        details.push(("limit", "closed: it lets nobody pass".into()));
        return details;
    };
    for limit in &rule.limits {
        let algorithm = limit.algorithm().map(Algorithm::name).map(|name| format!(", {name}"));
        let shaping = if limit.is_shaping() { ", shaping" } else { "" };
        details.push(("limit", format!("{limit}{}{shaping}", algorithm.unwrap_or_default())));
    }
    if let (Some(limit), Some(remaining)) = figures(left) {
        details.push(("left", format!("{remaining} of {limit}")));
    }
    if rule.cost != 1 {
        details.push(("cost", rule.cost.to_string()));
    }
    details
}

/// The limit and what is left of it, where there is one.
fn figures(left: &Decision) -> (Option<u64>, Option<u64>) {
    let limited = left.limit() != UNLIMITED;
    (limited.then_some(left.limit()), limited.then_some(left.remaining()))
}

/// An explanation in JSON.
#[derive(Serialize)]
struct Told<'a> {
    version: u64,
    path: Option<&'a str>,
    address: Option<IpAddr>,
    user: Option<&'a str>,
    tier: Option<&'a str>,
    exempt: bool,
    rules: Vec<ToldRule<'a>>,
}

/// One rule of it. What has no meaning for a rule that does not apply is null or empty.
#[derive(Serialize)]
struct ToldRule<'a> {
    rule: &'a str,
    applies: bool,
    why_not: Option<&'a str>,
    mode: Option<&'static str>,
    route: Option<&'a str>,
    key: Vec<Part<'a>>,
    limits: Vec<String>,
    algorithm: Option<&'static str>,
    cost: Option<u64>,
    limit: Option<u64>,
    remaining: Option<u64>,
}

/// One part of a key.
#[derive(Serialize)]
struct Part<'a> {
    part: &'a str,
    value: &'a str,
}

/// For programs.
pub(crate) fn json(explained: &Explanation) -> String {
    let told = Told {
        version: explained.version,
        path: explained.path.as_deref(),
        address: explained.address,
        user: explained.user.as_deref(),
        tier: explained.tier.as_deref(),
        exempt: explained.exempt,
        rules: explained.rules.iter().map(ToldRule::new).collect(),
    };
    // Strings and numbers can always be written.
    serde_json::to_string(&told).unwrap_or_default()
}

impl<'a> ToldRule<'a> {
    fn new(rule: &'a Explained) -> ToldRule<'a> {
        let applies = rule.why_not.is_none();
        let (limit, remaining) = rule.left.as_ref().map_or((None, None), figures);
        let part = |(part, value): &'a (String, String)| Part { part, value };
        ToldRule {
            rule: &rule.rule,
            applies,
            why_not: rule.why_not.as_deref(),
            mode: (applies || rule.mode == Mode::Off).then(|| rule.mode.name()),
            route: rule.route.as_deref(),
            key: rule.key.iter().map(part).collect(),
            limits: rule.limits.iter().map(Limit::to_string).collect(),
            algorithm: rule.limits.iter().find_map(Limit::algorithm).map(Algorithm::name),
            cost: applies.then_some(rule.cost),
            limit,
            remaining,
        }
    }
}
