//! Other limits for single keys.
//!
//! Invariant: an override that is returned is of a rule that there is, and its key fits that rule's.

use super::super::error::quoted;
use super::super::near::near;
use super::super::shape;
use super::super::tree::{Node, Value};
use super::rule::Draft;
use super::{Reader, time};
use crate::rule::{KeyKind, Override};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Longest value of a part of a key.
const VALUE_MAX: usize = 4_096;

/// Most ids that are compared with one that is unknown.
const IDS_MAX: usize = 1_000;

/// A key: a value for each part, and which alternative it is, if that is said.
type Key = Vec<(Option<KeyKind>, Arc<str>)>;

impl Reader<'_> {
    /// All overrides.
    pub(super) fn overrides(&mut self, nodes: &[&Node<'_>], drafts: &[Draft]) -> Vec<Override> {
        let mut ids: HashMap<&str, &Draft> = HashMap::new();
        if !nodes.is_empty() {
            ids = drafts.iter().map(|draft| (&*draft.spec.id, draft)).collect();
        }
        let overrides = nodes.iter().filter_map(|node| self.overridden(node, drafts, &ids));
        overrides.collect()
    }

    fn overridden(
        &mut self,
        node: &Node<'_>,
        drafts: &[Draft],
        ids: &HashMap<&str, &Draft>,
    ) -> Option<Override> {
        let fields = self.fields(node, &shape::OVERRIDE)?;
        let rule = fields.get("rule").and_then(|node| {
            let text = self.text(node, "rule")?;
            let found = ids.get(text).copied();
            if found.is_none() {
                let known = drafts.iter().take(IDS_MAX).map(|draft| &*draft.spec.id);
                let repair = match near(text, known) {
                    Some(near) => format!("write `{near}`"),
                    None => "write the id of a rule".into(),
                };
                self.fault(node.at, format!("there is no rule {}", quoted(text)), repair);
            }
            found
        });
        let until = fields.get("until").and_then(|node| self.until(node));
        let reason = fields.get("reason").and_then(|node| self.text(node, "reason")).map(Arc::from);
        let how = rule.map(|rule| rule.how).unwrap_or_default().for_one_key();
        let limits = fields.get("limit").and_then(|node| match node.value() {
            Value::Map(_) => {
                let fault = "an override is of one key, which has one tier";
                self.fault(node.at, fault, "write one limit, or a list of them");
                None
            }
            _ => self.several(node, "limit", &how),
        });
        let key = fields.get("key").and_then(|node| self.values_of(node, rule));
        let rule = Arc::clone(&rule?.spec.id);
        Some(Override { rule, key: key?, limits: limits?, until, reason })
    }

    fn until(&mut self, node: &Node<'_>) -> Option<u64> {
        let text = self.text(node, "until")?;
        let seconds = time::read(text);
        if seconds.is_none() {
            let repair =
                "write a date such as `2027-01-31`, or a time such as `2027-01-31T18:00:00Z`";
            self.fault(node.at, format!("`until` is {}, which is no date", quoted(text)), repair);
        }
        seconds
    }

    fn values_of(&mut self, node: &Node<'_>, rule: Option<&Draft>) -> Option<Key> {
        let items = match node.value() {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        // Of a faulty rule nobody knows what its key was to be.
        let spec = rule.filter(|rule| !rule.faulty).map(|rule| &rule.spec);
        let parts = spec.map(|spec| &spec.key.parts);
        if let Some(parts) = parts.filter(|parts| parts.len() != items.len()) {
            let counted =
                |count: usize| format!("{count} part{}", if count == 1 { "" } else { "s" });
            let (own, others) = (counted(items.len()), parts.len());
            let names: Vec<String> = parts.iter().map(|part| names(part)).collect();
            let repair = format!("write a list with a value for each: {}", names.join(", "));
            self.fault(node.at, format!("the key has {own}, and the rule's has {others}"), repair);
            return None;
        }
        let alternatives = |number: usize| {
            let (kinds, own) =
                spec.map(|spec| (spec.key.kinds(number, spec.on_missing), &spec.key))?;
            // What was given has no word in rule files: the value alone is that.
            let kinds = kinds.into_iter().filter(|kind| **kind != KeyKind::Given).cloned();
            Some((kinds.collect::<Vec<_>>(), own.parts[number] == [KeyKind::Ip]))
        };
        let items = items.iter().enumerate();
        let values: Vec<_> =
            items.map(|(number, item)| self.value_of(item, alternatives(number))).collect();
        values.into_iter().collect()
    }

    fn value_of(
        &mut self,
        node: &Node<'_>,
        alternatives: Option<(Vec<KeyKind>, bool)>,
    ) -> Option<(Option<KeyKind>, Arc<str>)> {
        let (kind, value) = match node.value() {
            Value::Map(entries) => match entries.as_slice() {
                [(name, value)] => {
                    // It may be the key itself, which is not shown: faults go into logs.
                    let text = name.text().unwrap_or_default();
                    let kind = self.kind_of(name.at, text, "what this names")?;
                    let kinds = alternatives.as_ref().map(|(kinds, _)| kinds);
                    if let Some(kinds) = kinds.filter(|kinds| !kinds.contains(&kind)) {
                        let fault = format!("the rule does not count by `{kind}` here");
                        self.fault(name.at, fault, format!("write {}", names(kinds)));
                        return None;
                    }
                    (Some(kind), value)
                }
                _ => {
                    let fault = "a part of a key is a map of several";
                    self.fault(node.at, fault, "write one such as `{user: acme}`");
                    return None;
                }
            },
            _ => (None, node),
        };
        let text = self.long_text(value, "key", VALUE_MAX)?;
        let is_ip = kind == Some(KeyKind::Ip) || alternatives.is_some_and(|(_, by_ip)| by_ip);
        if is_ip && text.parse::<IpAddr>().is_err() {
            // Without the key, as above.
            let fault = "the rule counts by address, and this is none";
            self.fault(value.at, fault, "write a single one, such as `203.0.113.7`");
            return None;
        }
        Some((kind, text.into()))
    }
}

fn names(kinds: &[KeyKind]) -> String {
    let names: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
    names.join(" or ")
}
