//! A tree as what it means.
//!
//! Invariant: reading goes on after a fault, so that all are told; and what was faulty anywhere is used
//! nowhere.

mod gateway;
mod identity;
mod key;
mod limits;
mod matches;
mod overrides;
mod rule;
mod scalar;
mod server;
mod time;

pub use self::scalar::length;
pub use self::time::read as time;
pub use key::{ALTERNATIVES_MAX, PARTS_MAX};
pub use limits::LIMITS_MAX;

use super::error::{Faults, FileErrors, Place, quoted};
use super::shape::{self, Field, Shape};
use super::tree::{self, Node, Value};
use super::{RuleFile, Source};
use crate::rule::RuleSet;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Most rules.
pub const RULES_MAX: usize = 100_000;

/// Most overrides, and most entries of `exempt`.
const ENTRIES_MAX: usize = 100_000;

/// Top-level fields that every file of a set may have; they are put together.
const SHARED: [&str; 3] = ["rules", "overrides", "exempt"];

/// What is known while a set of files is read.
struct Reader<'a> {
    faults: Faults,
    sources: &'a [Source],
    /// Files that the rule files name; they are numbered after those.
    opened: Vec<String>,
    open: &'a dyn Fn(&str) -> io::Result<Vec<u8>>,
    /// Bytes that may still be opened.
    room: usize,
    tiers: Vec<Arc<str>>,
    region: Option<Arc<str>>,
    /// Paths that were read, each use of an alias counted.
    paths: usize,
    /// Whether there can be claims.
    claims: bool,
}

/// The fields of a map that are known, each there at most once.
#[derive(Clone, Copy)]
struct Fields<'n, 't> {
    at: Place,
    shape: &'static Shape,
    entries: &'n [tree::Field<'t>],
}

impl<'n, 't> Fields<'n, 't> {
    /// The value of a field, if it has one.
    fn get(&self, name: &'static str) -> Option<&'n Node<'t>> {
        debug_assert!(self.shape.field(name).is_some(), "{name} is not in the table");
        let named = |(field, _): &&tree::Field<'t>| field.text() == Some(name);
        let (_, value) = self.entries.iter().find(named)?;
        (!value.is_null()).then_some(value)
    }

    /// Whether a field is there under a name that is a slip.
    fn meant(&self, name: &str) -> bool {
        let unknown = |text: &&str| self.shape.field(text).is_none();
        let texts = self.entries.iter().filter_map(|(field, _)| field.text()).filter(unknown);
        texts.take(FEW).any(|text| self.shape.meant(text) == Some(name))
    }
}

/// Reads the trees of a set of files.
pub(super) fn mean(
    trees: &[Node<'_>],
    faults: Faults,
    sources: &[Source],
    room: usize,
    open: &dyn Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<RuleFile, FileErrors> {
    let (opened, tiers) = (Vec::new(), Vec::new());
    let mut reader = Reader {
        faults,
        sources,
        opened,
        open,
        room,
        tiers,
        region: None,
        paths: 0,
        claims: false,
    };
    let file = reader.file(trees);
    let Reader { faults, opened, .. } = reader;
    if faults.told() == 0 {
        return Ok(file);
    }
    let names: Vec<&String> = sources.iter().map(|source| &source.name).chain(&opened).collect();
    Err(faults
        .into_errors(|file| names.get(usize::from(file)).copied().cloned().unwrap_or_default()))
}

impl Reader<'_> {
    fn file(&mut self, trees: &[Node<'_>]) -> RuleFile {
        let files: Vec<Fields<'_, '_>> =
            trees.iter().filter_map(|tree| self.fields(tree, &shape::FILE)).collect();
        let alone = self.alone(&files);
        let one = |name: &'static str| alone.get(name).copied();
        if let Some(node) = one("version").filter(|node| !is_one(node)) {
            self.fault(node.at, "there is only version 1 of rule files", "write `version: 1`");
        }
        let settings = self.settings(&one);
        self.region = settings.region.as_deref().map(Arc::from);
        if let Some(node) = one("tiers") {
            self.tiers = self.tiers(node);
        }
        let identity = one("identity").map(|node| self.identity(node)).unwrap_or_default();
        let fields = one("headers").map(|node| self.forms(node)).unwrap_or_default();
        let exempt = self.entries(&files, "exempt", ENTRIES_MAX);
        let exempt = exempt.into_iter().filter_map(|node| self.exempt(node)).collect();
        let nodes = self.entries(&files, "rules", RULES_MAX);
        let drafts = self.rules(&nodes);
        let nodes = self.entries(&files, "overrides", ENTRIES_MAX);
        let overrides = self.overrides(&nodes, &drafts);
        let rules = drafts.into_iter().map(|draft| draft.spec).collect();
        let tiers = std::mem::take(&mut self.tiers);
        RuleFile { rules: RuleSet { tiers, exempt, rules, overrides, identity, fields }, settings }
    }

    /// The fields that are in one file only.
    fn alone<'n, 't>(&mut self, files: &[Fields<'n, 't>]) -> HashMap<&'static str, &'n Node<'t>> {
        let mut alone: HashMap<&str, (Place, &Node<'_>)> = HashMap::new();
        for file in files {
            for (name, value) in file.entries {
                let known = name.text().and_then(|name| file.shape.field(name));
                let Some(Field { name: field, .. }) = known else { continue };
                if SHARED.contains(field) || value.is_null() {
                    continue;
                }
                match alone.get(field) {
                    None => drop(alone.insert(field, (name.at, value))),
                    Some((first, _)) => {
                        let fault = format!("`{field}` is already at {}", self.shown(*first));
                        self.fault(name.at, fault, "keep one of them");
                    }
                }
            }
        }
        alone.into_iter().map(|(name, (_, value))| (name, value)).collect()
    }

    /// The items of a list that all files have a part of.
    fn entries<'n, 't>(
        &mut self,
        files: &[Fields<'n, 't>],
        name: &'static str,
        most: usize,
    ) -> Vec<&'n Node<'t>> {
        let mut entries = Vec::new();
        for file in files {
            let Some(node) = file.get(name) else { continue };
            match node.value() {
                Value::List(items) => entries.extend(items),
                _ => self.fault(node.at, format!("`{name}` is not a list"), LIST),
            }
        }
        if let Some(node) = entries.get(most) {
            let fault = format!("there are more than {most} `{name}`");
            self.fault(node.at, fault, "use fewer, with patterns and tiers");
            entries.clear();
        }
        entries
    }

    /// The fields of a map, if it is one: unknown and empty fields are faults, and missing ones.
    fn fields<'n, 't>(
        &mut self,
        node: &'n Node<'t>,
        shape: &'static Shape,
    ) -> Option<Fields<'n, 't>> {
        if self.faults.full() {
            return None;
        }
        let Value::Map(entries) = node.value() else {
            let first =
                shape.fields.iter().find(|field| field.required).unwrap_or(&shape.fields[0]);
            let repair = format!("write fields below it, such as `{}: …`", first.name);
            self.fault(node.at, format!("{} is not a map", shape.what), repair);
            return None;
        };
        for (name, value) in entries {
            let text = name.text().unwrap_or_default();
            if shape.field(text).is_none() {
                self.unknown(name.at, text, shape);
            } else if value.is_null() {
                let fault = format!("`{text}` has no value");
                self.fault(name.at, fault, "write one, or leave the field out");
            }
        }
        let fields = Fields { at: node.at, shape, entries };
        for field in shape.fields.iter().filter(|field| field.required) {
            let there = entries.iter().any(|(name, _)| name.text() == Some(field.name));
            if !there && !fields.meant(field.name) {
                let fault = format!("{} has no `{}`", shape.what, field.name);
                self.fault(node.at, fault, format!("add `{}: …`", field.name));
            }
        }
        Some(fields)
    }

    fn unknown(&mut self, at: Place, name: &str, shape: &Shape) {
        let fault = format!("{} has no field {}", shape.what, quoted(name));
        let names = || shape.fields.iter().map(|field| field.name);
        let repair = match shape.meant(name) {
            _ if name == "<<" => "write the fields out, merging is no part of YAML 1.2".into(),
            _ if name == "when" && shape.name == "match" => {
                "move it out of `match`, beside it".into()
            }
            Some(near) => format!("write `{near}`"),
            None => format!("take it out, there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        self.fault(at, fault, repair);
    }

    fn fault(&mut self, at: Place, fault: impl Into<String>, repair: impl Into<String>) {
        self.faults.add(at, fault, repair);
    }

    /// A place in words.
    fn shown(&self, at: Place) -> String {
        let file = usize::from(at.file);
        let opened = || self.opened.get(file.checked_sub(self.sources.len())?);
        let name = self.sources.get(file).map(|source| &source.name).or_else(opened);
        format!("{}:{}:{}", name.map_or("?", String::as_str), at.line, at.column)
    }
}

/// Slips of one map that are compared with what it should have.
const FEW: usize = 8;

/// The repair of what should be a list.
const LIST: &str = "write `[a, b]`, or each on a line of its own after `- `";

fn is_one(node: &Node<'_>) -> bool {
    matches!(node.value(), Value::Scalar { text, plain: true } if **text == *"1")
}
