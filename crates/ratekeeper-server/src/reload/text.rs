//! Texts of rules: several as one, one rule in or out, passwords hidden.
//!
//! Invariant: what is written here reads as the same rules as what it was made of.

mod yaml;

pub(crate) use yaml::yaml;

use super::release::Text;
use crate::config::Faults;
use ratekeeper::rule::file::{self, Settings, Source, Store};
use serde_json::{Map, Value};

/// Top-level fields that every file of a set may have; they are put together.
const SHARED: [&str; 3] = ["rules", "overrides", "exempt"];

/// Top-level fields that change while a server runs. The others are about the server itself.
pub(crate) const LIVE: [&str; 7] =
    ["version", "identity", "headers", "tiers", "exempt", "rules", "overrides"];

/// The name of a text that was put together.
pub(crate) const WHOLE: &str = "rules.yaml";

/// What stands in the place of a password.
pub(crate) const HIDDEN: &str = ":***@";

/// What all files of a set say, as one tree.
pub(crate) fn tree(sources: &[Source]) -> Result<Map<String, Value>, Faults> {
    let mut whole = Map::new();
    for source in sources {
        let json = file::json(source).map_err(Faults::from)?;
        let Ok(Value::Object(fields)) = serde_json::from_str(&json) else { continue };
        for (name, value) in fields {
            match (whole.get_mut(&name), value) {
                (Some(Value::Array(own)), Value::Array(more)) if SHARED.contains(&&*name) => {
                    own.extend(more);
                }
                (Some(_), Value::Null) => {}
                (_, value) => drop(whole.insert(name, value)),
            }
        }
    }
    Ok(whole)
}

/// Only what changes while a server runs, as one file.
pub(crate) fn live(sources: &[Source]) -> Result<Vec<Source>, Faults> {
    let mut whole = tree(sources)?;
    if whole.keys().all(|name| LIVE.contains(&&**name)) && sources.len() == 1 {
        return Ok(sources.to_vec());
    }
    whole.retain(|name, _| LIVE.contains(&&**name));
    Ok(vec![Source { name: WHOLE.into(), text: yaml(&whole) }])
}

/// Only what is about the server itself, without the password of the store.
pub(crate) fn server(sources: &[Source], settings: &Settings) -> String {
    let mut whole = tree(sources).unwrap_or_default();
    whole.retain(|name, _| !LIVE.contains(&&**name));
    let source = Source { name: WHOLE.into(), text: yaml(&whole) };
    hidden(vec![source], settings).into_iter().next().map(|text| text.text).unwrap_or_default()
}

/// The texts, without the password of the store.
pub(crate) fn hidden(sources: Vec<Source>, settings: &Settings) -> Vec<Text> {
    let login = match &settings.store {
        Store::Url { url, .. } => url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')),
        Store::Memory => None,
    };
    let Some((login, _)) = login else { return sources.into_iter().map(Text::from).collect() };
    let masked = |source: Source| {
        let text = source.text.replace(&format!("{login}@"), HIDDEN);
        Text { name: source.name, text }
    };
    let texts: Vec<Text> = sources.iter().cloned().map(masked).collect();
    // Written with escapes, or in pieces, it would not be found.
    let changed = texts.iter().zip(&sources).any(|(text, source)| text.text != source.text);
    let password = login.split_once(':').map_or(login, |(_, password)| password);
    let shows = texts.iter().any(|text| !password.is_empty() && text.text.contains(password));
    match changed && !shows {
        true => texts,
        false => live(&sources)
            .map_or(Vec::new(), |sources| sources.into_iter().map(Text::from).collect()),
    }
}

/// The rules of a tree.
pub(crate) fn rules(whole: &Map<String, Value>) -> &[Value] {
    whole.get("rules").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The id of a rule.
pub(crate) fn id(rule: &Value) -> Option<&str> {
    rule.get("id").and_then(Value::as_str)
}

/// The same with this rule in the place of the one of its id, or at the end, or, if there is none, without
/// it; whether there was one.
pub(crate) fn with_rule(whole: &mut Map<String, Value>, name: &str, rule: Option<Value>) -> bool {
    let rules = whole.entry("rules").or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(rules) = rules else { return false };
    let place = rules.iter().position(|rule| id(rule) == Some(name));
    match (place, rule) {
        (Some(place), Some(rule)) => rules[place] = rule,
        (Some(place), None) => drop(rules.remove(place)),
        (None, Some(rule)) => rules.push(rule),
        (None, None) => {}
    }
    place.is_some()
}

/// How many bytes lines of a rule within a file are moved by.
const INDENT: usize = 2;

/// One rule, as the only one of a file; a fault in it is one line and [`INDENT`] characters further on.
pub(crate) fn as_file(name: &str, rule: &str) -> Source {
    let lines = rule.lines().enumerate().map(|(number, line)| {
        let start = if number == 0 { "- " } else { "  " };
        format!("{start}{line}\n")
    });
    Source { name: name.into(), text: format!("rules:\n{}", lines.collect::<String>()) }
}

/// The faults of such a file, at the places that they have in the rule.
pub(crate) fn in_rule(mut faults: Faults, name: &str) -> Faults {
    for fault in faults.listed.iter_mut().filter(|fault| fault.file == name) {
        fault.line = fault.line.saturating_sub(1).max(1);
        fault.column = fault.column.saturating_sub(INDENT as u32).max(1);
    }
    faults
}
