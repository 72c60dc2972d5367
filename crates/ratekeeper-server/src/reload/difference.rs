//! What is different between two sets of rules.
//!
//! Invariant: only what changes while a server runs is compared and shown; settings of the server, and with them
//! its secrets, are not.

use super::text::{LIVE, id, rules};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// What is different.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    /// Rules that are new.
    added: Vec<Value>,
    /// Rules that are gone.
    removed: Vec<Value>,
    /// Rules that are not as they were.
    changed: Vec<Changed>,
    /// Other fields that are not as they were.
    fields: Vec<Field>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Changed {
    rule: String,
    fields: Vec<Field>,
}

/// A field: what it was, and what it is to be; null if it is not there.
#[derive(Debug, PartialEq, Serialize)]
struct Field {
    field: String,
    from: Value,
    to: Value,
}

/// What has to change for one to become the other.
pub(crate) fn difference(old: &Map<String, Value>, new: &Map<String, Value>) -> Difference {
    let named = |whole| rules(whole).iter().filter_map(|rule| Some((id(rule)?, rule)));
    let before: HashMap<&str, &Value> = named(old).collect();
    let after: HashMap<&str, &Value> = named(new).collect();
    let only = |whole, others: &HashMap<&str, &Value>| {
        let own = named(whole).filter(|(id, _)| !others.contains_key(id));
        own.map(|(_, rule)| rule.clone()).collect()
    };
    let changed = named(new).filter_map(|(id, rule)| {
        let fields = fields(before.get(id)?.as_object()?, rule.as_object()?, |_| true);
        (!fields.is_empty()).then(|| Changed { rule: id.to_owned(), fields })
    });
    let others = |name: &str| LIVE.contains(&name) && name != "rules" && name != "version";
    Difference {
        added: only(new, &before),
        removed: only(old, &after),
        changed: changed.collect(),
        fields: fields(old, new, others),
    }
}

fn fields(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    of: impl Fn(&str) -> bool,
) -> Vec<Field> {
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    let each = names.filter(|name| of(name)).filter_map(|name| {
        let [from, to] = [old, new].map(|map| map.get(name).cloned().unwrap_or_default());
        (from != to).then(|| Field { field: name.clone(), from, to })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Goal: rules that are new, gone or other are told, by id, with the fields that differ; settings are not.
    /// Method: two files with one of each, compared with what is written down; and one with itself.
    #[test]
    fn what_differs_is_told_by_rule_and_field() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let old = map(json!({"store": "redis://:old@h", "tiers": ["a"], "rules": [
            {"id": "x", "limit": "1/s", "key": "ip"}, {"id": "gone", "limit": "2/s"}]}));
        let new = map(
            json!({"store": "redis://:new@h", "exempt": [{"path": "/"}], "tiers": ["a"], "rules": [
            {"id": "new", "limit": "3/s"}, {"id": "x", "limit": "5/s", "key": "ip", "rollout": "shadow"}]}),
        );
        let told = serde_json::to_value(difference(&old, &new)).unwrap();
        assert_eq!(
            told,
            json!({
            "added": [{"id": "new", "limit": "3/s"}],
            "removed": [{"id": "gone", "limit": "2/s"}],
            "changed": [{"rule": "x", "fields": [
                {"field": "limit", "from": "1/s", "to": "5/s"},
                {"field": "rollout", "from": null, "to": "shadow"}]}],
            "fields": [{"field": "exempt", "from": null, "to": [{"path": "/"}]}]})
        );
        let none = serde_json::to_value(difference(&new, &new)).unwrap();
        assert_eq!(none, json!({"added": [], "removed": [], "changed": [], "fields": []}));
    }
}
