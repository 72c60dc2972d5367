//! Text as a tree: scalars, lists and maps, each with its place.
//!
//! Invariant: a tree is bounded in nodes, depth and aliases before it is built, whatever the text is;
//! what an alias stands for is shared and not copied.

mod build;

use super::error::{Faults, Place};
use build::Tree;
use granit_parser::Parser;
use std::borrow::Cow;
use std::rc::Rc;

/// Deepest nesting.
pub const DEPTH_MAX: usize = 16;

/// Most aliases, those within what an alias stands for included; and most anchors.
pub const ALIASES_MAX: usize = 1_000;

/// Most nodes of a file, aliases counted as what they stand for.
pub const NODES_MAX: usize = 3_000_000;

/// Most items of a list.
const ITEMS_MAX: usize = super::RULES_MAX;

/// Most fields of a map.
const FIELDS_MAX: usize = 1_000;

/// Maps up to this are searched for duplicates by looking at all pairs.
const FEW: usize = 16;

/// A piece of a file.
#[derive(Debug)]
pub(super) struct Node<'t> {
    pub(super) at: Place,
    value: Value<'t>,
}

/// What a piece is.
#[derive(Debug)]
pub(super) enum Value<'t> {
    /// A text; plain if it stands there without quotes.
    Scalar {
        text: Cow<'t, str>,
        plain: bool,
    },
    List(Vec<Node<'t>>),
    /// Fields in their order; the names are scalars, and no two are the same.
    Map(Vec<Field<'t>>),
    /// What has an anchor, and what its aliases stand for.
    Same(Rc<Value<'t>>),
}

/// A name and its value.
pub(super) type Field<'t> = (Node<'t>, Node<'t>);

impl<'t> Node<'t> {
    /// What it is, wherever it was written.
    pub(super) fn value(&self) -> &Value<'t> {
        let mut value = &self.value;
        while let Value::Same(same) = value {
            value = same;
        }
        value
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self.value() {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether nothing stands there.
    pub(super) fn is_null(&self) -> bool {
        matches!(self.value(), Value::Scalar { text, plain: true }
            if matches!(&**text, "" | "~" | "null"))
    }
}

/// Reads a text; `None` if it cannot be read on, which was noted. A file with nothing in it is an
/// empty map.
pub(super) fn read<'t>(file: u16, text: &'t str, faults: &mut Faults) -> Option<Node<'t>> {
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_comments: false,
        flow_nesting_limit: DEPTH_MAX + 1,
        block_nesting_limit: DEPTH_MAX + 1,
    };
    let events = Parser::new_from_str_with_options(text, options);
    Tree::new(file, faults).build(events)
}
