//! Who is counted.
//!
//! Invariant: a key that is returned has parts, each with alternatives, and can be there.

use super::super::error::{Place, quoted};
use super::super::near::near;
use super::super::shape;
use super::super::tree::{Node, Value};
use super::Reader;
use crate::rule::kind::WORDS;
use crate::rule::{KeyKind, KeySpec};

/// Most parts of a key.
pub const PARTS_MAX: usize = 8;

/// Most alternatives of a part.
pub const ALTERNATIVES_MAX: usize = 8;

/// The kinds that have a name after them.
const NAMED: [&str; 3] = ["header", "claim", "descriptor"];

impl Reader<'_> {
    /// `key` of a rule; `domain` says whether it can have descriptors.
    pub(super) fn key(&mut self, node: &Node<'_>, domain: bool) -> Option<KeySpec> {
        let items = match node.value() {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        if items.is_empty() {
            self.fault(
                node.at,
                "`key` is an empty list",
                "write `key: global` to count all together",
            );
            return None;
        }
        if items.len() > PARTS_MAX {
            let fault = format!("`key` has more than {PARTS_MAX} parts");
            self.fault(node.at, fault, "count by fewer");
            return None;
        }
        let mut parts: Vec<Vec<KeyKind>> = Vec::with_capacity(items.len());
        for item in items {
            let part = self.part(item, domain)?;
            if parts.contains(&part) {
                self.fault(item.at, "`key` has the same part twice", "take one of them out");
            }
            parts.push(part);
        }
        Some(KeySpec { parts })
    }

    fn part(&mut self, node: &Node<'_>, domain: bool) -> Option<Vec<KeyKind>> {
        let Value::Map(_) = node.value() else {
            if let Value::List(_) = node.value() {
                let repair = "write `{first: [a, b]}` for the first of several";
                self.fault(node.at, "a part of `key` is a list", repair);
                return None;
            }
            return Some(vec![self.kind(node, domain)?]);
        };
        let node = self.fields(node, &shape::FIRST)?.get("first")?;
        let items = self.list(node, "first");
        if items.is_empty() || items.len() > ALTERNATIVES_MAX {
            let fault = format!("`first` has {} alternatives", items.len());
            self.fault(node.at, fault, format!("write 1 to {ALTERNATIVES_MAX}"));
            return None;
        }
        let kinds: Vec<_> = items.iter().map(|item| self.kind(item, domain)).collect();
        let kinds: Vec<KeyKind> = kinds.into_iter().collect::<Option<_>>()?;
        for (number, kind) in kinds.iter().enumerate() {
            if kinds[..number].contains(kind) {
                let fault = "`first` has the same alternative twice";
                self.fault(items[number].at, fault, "take one of them out");
            }
        }
        Some(kinds)
    }

    fn kind(&mut self, node: &Node<'_>, domain: bool) -> Option<KeyKind> {
        let text = self.text(node, "key")?;
        let kind = self.kind_of(node.at, text, &quoted(text))?;
        match &kind {
            KeyKind::Claim(name) if !self.claims => {
                let fault = format!("no request can have the claim {}", quoted(name));
                self.fault(node.at, fault, "add `jwt` to `identity`, which verifies tokens");
            }
            KeyKind::Descriptor(name) if !domain => {
                let fault = format!("no request can have the descriptor {}", quoted(name));
                self.fault(node.at, fault, "add the `domain` of Envoy's that the rule serves");
            }
            KeyKind::Descriptor(_) | KeyKind::Global => {}
            _ if domain => {
                let fault = format!("{} is nothing that Envoy says of a request", quoted(text));
                let repair =
                    "count by a descriptor, such as `descriptor:remote_address`, or `global`";
                self.fault(node.at, fault, repair);
            }
            _ => {}
        }
        Some(kind)
    }

    /// A kind by its name, which faults show as `shown`.
    pub(super) fn kind_of(&mut self, at: Place, text: &str, shown: &str) -> Option<KeyKind> {
        if let Some((_, kind)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Some(kind.clone());
        }
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        if name.is_empty() && NAMED.contains(&kind) {
            let fault = format!("{} names nothing", quoted(text));
            self.fault(at, fault, format!("write `{kind}:name`, with its name"));
            return None;
        }
        match kind {
            "header" => return self.header(at, "key", name).map(KeyKind::Header),
            "claim" => return Some(KeyKind::Claim(name.into())),
            "descriptor" => return Some(KeyKind::Descriptor(name.into())),
            _ => {}
        }
        let words = || WORDS.iter().map(|(word, _)| *word);
        let repair = match near(kind, words().chain(NAMED)) {
            Some(near) if NAMED.contains(&near) => format!("write `{near}:name`"),
            Some(near) => format!("write `{near}`"),
            None => {
                let words = words().collect::<Vec<_>>().join(", ");
                format!("write one of {words}, header:name, claim:name, descriptor:name")
            }
        };
        self.fault(at, format!("nothing is counted by {shown}"), repair);
        None
    }
}
