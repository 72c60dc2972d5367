//! What a rule file may say: every map, and every field of it, in one table.
//!
//! The table finds unknown fields and missing ones, is the JSON Schema that editors read, and is the
//! list that the documentation is held against. Invariant: no field is read that is not listed here.

mod rules;
mod settings;

use super::near::near;
pub(super) use rules::*;
pub(super) use settings::*;

/// A map with fields.
pub(super) struct Shape {
    /// Its name in the schema and the documentation.
    pub(super) name: &'static str,
    /// What a fault calls it: `a rule`.
    pub(super) what: &'static str,
    pub(super) doc: &'static str,
    pub(super) fields: &'static [Field],
}

/// A field of a map.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) doc: &'static str,
    pub(super) required: bool,
}

/// What the value of a field is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A text.
    Text,
    /// A text that looks like this regular expression.
    Like(&'static str),
    /// The same, where a number is a text, too.
    Name(&'static str),
    /// `true` or `false`.
    Yes,
    /// A whole number between two.
    Whole(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// This very number.
    Just(u64),
    /// A map with fields.
    Map(&'static Shape),
    /// A map of names that the file chooses.
    Table(&'static Kind),
    /// A list, with at least so many items.
    List(usize, &'static Kind),
    /// One, or a list of at least one.
    Some(&'static Kind),
    /// Whichever of these it is.
    Any(&'static [Kind]),
    /// Nothing.
    Null,
}

/// A map as it is written down here: `must` or `may`, the name and the kind of each field, below what
/// it is for.
macro_rules! shape {
    ($(#[doc = $doc:literal])+ $shape:ident $name:literal $what:literal {
        $($(#[doc = $fdoc:literal])+ $need:ident $field:ident: $kind:expr,)+
    }) => {
        $(#[doc = $doc])+
        pub(in super::super) static $shape: super::Shape = super::Shape {
            name: $name,
            what: $what,
            doc: concat!($($doc),+),
            fields: &[$(super::Field {
                name: stringify!($field),
                kind: $kind,
                doc: concat!($($fdoc),+),
                required: matches!(stringify!($need).as_bytes(), b"must"),
            }),+],
        };
    };
}
use shape;

/// Every map, the file itself first.
pub(super) static SHAPES: [&Shape; 22] = [
    &FILE, &RULE, &MATCH, &FIRST, &COST, &SETTLE, &EXEMPT, &OVERRIDE, &STORE, &MEMORY, &LISTEN,
    &ADMIN, &GRPC, &RESP, &GATEWAY, &TLS, &ROUTE, &TIMEOUTS, &IDENTITY, &API_KEY, &KEY_ENTRY, &JWT,
];

impl Shape {
    /// The field of this name.
    pub(super) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field that somebody may have meant: the nearest, or the only one.
    pub(super) fn meant(&self, name: &str) -> Option<&'static str> {
        match self.fields {
            [only] => Some(only.name),
            fields => near(name, fields.iter().map(|field| field.name)),
        }
    }
}
