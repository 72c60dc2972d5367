//! The tree, from the events of the parser.
//!
//! Invariant: every bound is checked before memory is taken for what it bounds.

use super::super::error::{Faults, Place, quoted};
use super::super::syntax;
use super::{ALIASES_MAX, DEPTH_MAX, FEW, FIELDS_MAX, Field, ITEMS_MAX, NODES_MAX, Node, Value};
use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// What was counted up to a place in the file.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    aliases: usize,
}

/// A list or map that is not closed yet.
struct Open {
    at: Place,
    anchor: usize,
    is_map: bool,
    /// Where its own nodes begin on the stack.
    start: usize,
    /// What was counted before it.
    before: Size,
    /// Levels below it.
    height: usize,
}

struct Anchored<'t> {
    value: Rc<Value<'t>>,
    size: Size,
    height: usize,
}

pub(super) struct Tree<'t, 'f> {
    file: u16,
    faults: &'f mut Faults,
    /// Nodes that are done, of all lists and maps that are open.
    stack: Vec<Node<'t>>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored<'t>>,
    size: Size,
}

impl<'t, 'f> Tree<'t, 'f> {
    pub(super) fn new(file: u16, faults: &'f mut Faults) -> Tree<'t, 'f> {
        let (stack, open, anchors) = (Vec::new(), Vec::new(), HashMap::new());
        Tree { file, faults, stack, open, anchors, size: Size::default() }
    }

    /// The tree; `None` after a fault that ends it.
    pub(super) fn build(mut self, events: Parser<'t, StrInput<'t>>) -> Option<Node<'t>> {
        let mut documents = 0;
        for event in events {
            let (event, span) = match event {
                Ok(event) => event,
                Err(error) => {
                    let mark = error.marker();
                    let (fault, repair) = syntax::words(error.kind());
                    self.faults.add(self.place(mark.line(), mark.col()), fault, repair);
                    return None;
                }
            };
            if let Event::DocumentStart(..) = event {
                documents += 1;
                if documents > 1 {
                    let at = self.at(&span);
                    let repair = "write one, or put the second into a file of its own";
                    self.faults.add(at, "a rule file is one document", repair);
                    return None;
                }
            }
            self.event(event, &span)?;
        }
        let root = self.stack.pop().filter(|root| !root.is_null());
        let at = self.place(1, 0);
        Some(root.unwrap_or_else(|| Node { at, value: Value::Map(Vec::new()) }))
    }

    fn event(&mut self, event: Event<'t>, span: &Span) -> Option<()> {
        let at = self.at(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.as_ref().is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
                self.tag(at, tag.as_deref());
                self.count(at, Size { nodes: 1, aliases: 0 })?;
                let plain = style == ScalarStyle::Plain && !is_text;
                let size = Size { nodes: 1, aliases: 0 };
                self.done(at, Value::Scalar { text, plain }, anchor, size, 0)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.start(at, anchor, tag.as_deref(), false)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.start(at, anchor, tag.as_deref(), true)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            Event::Alias(anchor) => self.alias(at, anchor)?,
            _ => {}
        }
        Some(())
    }

    fn start(&mut self, at: Place, anchor: usize, tag: Option<&Tag>, is_map: bool) -> Option<()> {
        self.tag(at, tag);
        if self.open.len() >= DEPTH_MAX {
            self.faults.add(at, syntax::DEEP, syntax::FLATTEN);
            return None;
        }
        let before = self.size;
        self.count(at, Size { nodes: 1, aliases: 0 })?;
        let start = self.stack.len();
        self.open.push(Open { at, anchor, is_map, start, before, height: 0 });
        Some(())
    }

    fn end(&mut self) -> Option<()> {
        let Open { at, anchor, is_map, start, before, height } = self.open.pop()?;
        let mut own = self.stack.drain(start..);
        let value = if is_map {
            let mut fields = Vec::with_capacity(own.len() / 2);
            while let (Some(name), Some(value)) = (own.next(), own.next()) {
                fields.push((name, value));
            }
            drop(own);
            Value::Map(self.distinct(fields))
        } else {
            Value::List(own.collect())
        };
        let size = Size {
            nodes: self.size.nodes - before.nodes,
            aliases: self.size.aliases - before.aliases,
        };
        self.done(at, value, anchor, size, height + 1)
    }

    fn alias(&mut self, at: Place, anchor: usize) -> Option<()> {
        let Some(Anchored { value, size, height }) = self.anchors.get(&anchor) else {
            self.faults.add(
                at,
                "an alias stands within what it refers to",
                "write the value itself",
            );
            return None;
        };
        let (value, size, height) = (Rc::clone(value), *size, *height);
        if self.open.len() + height > DEPTH_MAX {
            self.faults.add(at, syntax::DEEP, syntax::FLATTEN);
            return None;
        }
        self.count(at, Size { nodes: size.nodes, aliases: size.aliases + 1 })?;
        self.reach(height);
        self.push(at, Value::Same(value))
    }

    /// Puts a node that is done into the list or map that is open.
    fn done(
        &mut self,
        at: Place,
        value: Value<'t>,
        anchor: usize,
        size: Size,
        height: usize,
    ) -> Option<()> {
        self.reach(height);
        if self.anchors.len() > ALIASES_MAX {
            let fault = format!("there are more than {ALIASES_MAX} anchors");
            self.faults.add(at, fault, "take out those that nothing refers to");
            return None;
        }
        let value = if anchor == 0 {
            value
        } else {
            let value = Rc::new(value);
            self.anchors.insert(anchor, Anchored { value: Rc::clone(&value), size, height });
            Value::Same(value)
        };
        self.push(at, value)
    }

    fn push(&mut self, at: Place, value: Value<'t>) -> Option<()> {
        self.stack.push(Node { at, value });
        if let Some(Open { at: start_at, start, is_map, .. }) = self.open.last() {
            let own = self.stack.len() - start;
            if *is_map && own > 2 * FIELDS_MAX {
                let fault = format!("a map has more than {FIELDS_MAX} fields");
                self.faults.add(*start_at, fault, "take some out");
                return None;
            }
            if !is_map && own > ITEMS_MAX {
                let fault = format!("a list has more than {ITEMS_MAX} items");
                self.faults.add(at, fault, "use fewer, with patterns and tiers");
                return None;
            }
        }
        (!self.faults.full()).then_some(())
    }

    fn reach(&mut self, height: usize) {
        if let Some(open) = self.open.last_mut() {
            open.height = open.height.max(height);
        }
    }

    fn count(&mut self, at: Place, more: Size) -> Option<()> {
        self.size.nodes += more.nodes;
        self.size.aliases += more.aliases;
        if self.size.aliases > ALIASES_MAX {
            let fault = format!("there are more than {ALIASES_MAX} aliases");
            self.faults.add(at, fault, "write the values themselves");
            return None;
        }
        if self.size.nodes > NODES_MAX {
            let fault = format!("there are more than {NODES_MAX} values");
            self.faults.add(at, fault, "use fewer rules");
            return None;
        }
        Some(())
    }

    fn tag(&mut self, at: Place, tag: Option<&Tag>) {
        if let Some(tag) = tag.filter(|tag| tag.is_custom()) {
            let fault = format!("the tag {} is unknown", quoted(&tag.original()));
            self.faults.add(at, fault, "take it out");
        }
    }

    /// Fields whose names are texts, each there once.
    fn distinct(&mut self, fields: Vec<Field<'t>>) -> Vec<Field<'t>> {
        let fresh = fresh(&fields);
        if fresh.iter().all(|fresh| *fresh) {
            return fields;
        }
        let mut kept = Vec::with_capacity(fields.len());
        for ((name, value), fresh) in fields.into_iter().zip(fresh) {
            if fresh {
                kept.push((name, value));
            } else if let Some(text) = name.text() {
                let fault = format!("the field {} is there twice", quoted(text));
                self.faults.add(name.at, fault, "take one of them out");
            } else {
                let repair = "write a word, or put text with `{` or `[` between quotes";
                self.faults.add(name.at, "the name of a field is a list or a map", repair);
            }
        }
        kept
    }

    fn at(&self, span: &Span) -> Place {
        self.place(span.start.line(), span.start.col())
    }

    fn place(&self, line: usize, column: usize) -> Place {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let column = u32::try_from(column.saturating_add(1)).unwrap_or(u32::MAX);
        Place { file: self.file, line, column }
    }
}

/// Which fields have a name that is a text and was not there before.
fn fresh(fields: &[Field<'_>]) -> Vec<bool> {
    let names = fields.iter().map(|(name, _)| name.text());
    if fields.len() > FEW {
        let mut seen: HashSet<&str> = HashSet::with_capacity(fields.len());
        return names.map(|name| name.is_some_and(|text| seen.insert(text))).collect();
    }
    let first = |(number, name): (usize, Option<&str>)| {
        name.is_some() && fields[..number].iter().all(|(other, _)| other.text() != name)
    };
    names.enumerate().map(first).collect()
}
