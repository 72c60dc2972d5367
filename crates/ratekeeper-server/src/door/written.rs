//! What was written: JSON, taken apart just far enough to see its fields, and judged no further.
//!
//! Numbers and strings stay as they were written, so that the next step can say of each field what
//! is wrong with it; a number too large for any type is not an error here. Invariant: every field is
//! kept, in order, twice if it is there twice.

use crate::problem::Problem;
use axum::http::StatusCode;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Most checks of a batch. Beyond it: 413.
pub const ITEMS_MAX: usize = 64;

/// Most arrays and objects within one another. Beyond it: 413.
pub const DEPTH_MAX: usize = 8;

/// A value of the body, down to the fields of its objects.
#[derive(Debug)]
pub(super) enum Written<'a> {
    Object(Vec<(Text<'a>, &'a RawValue)>),
    /// At most one more than [`ITEMS_MAX`]: what follows changes nothing.
    Array(Vec<Written<'a>>),
    Other(Kind),
}

impl Written<'_> {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Written::Object(_) => Kind::Object,
            Written::Array(_) => Kind::Array,
            Written::Other(kind) => *kind,
        }
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    Text,
    Array,
    Object,
}

impl Kind {
    /// By its first byte.
    pub(super) fn of(value: &RawValue) -> Kind {
        match value.get().as_bytes().first() {
            Some(b'"') => Kind::Text,
            Some(b'[') => Kind::Array,
            Some(b'{') => Kind::Object,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Null => "null",
            Kind::Boolean => "a boolean",
            Kind::Number => "a number",
            Kind::Text => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        })
    }
}

/// The body as JSON, which should be like the example.
pub(super) fn parse<'a>(text: &'a str, example: &str) -> Result<Written<'a>, Problem> {
    if text.trim_ascii().is_empty() {
        let detail = format!("the body is empty; send JSON such as {example}");
        return Err(Problem::new(StatusCode::BAD_REQUEST, detail));
    }
    if depth(text) > DEPTH_MAX {
        let detail = format!("the body nests deeper than {DEPTH_MAX} levels; send a plain object");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let fault = fault(&error);
        let detail = format!(
            "line {line}, column {column} of the body: {fault}; send JSON such as {example}"
        );
        Problem::new(StatusCode::BAD_REQUEST, detail)
    })
}

/// How deep brackets nest, outside of strings. Text that is not JSON gets some figure or other.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| *byte != b'"') {
                    if byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

/// The fault without its place.
pub(super) fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

impl<'de: 'a, 'a> Deserialize<'de> for Written<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Written<'a>, D::Error> {
        deserializer.deserialize_any(WrittenVisitor)
    }
}

struct WrittenVisitor;

impl<'de> Visitor<'de> for WrittenVisitor {
    type Value = Written<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Written<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Written::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Written<'de>, A::Error> {
        let mut items = Vec::new();
        while items.len() <= ITEMS_MAX {
            let Some(item) = seq.next_element()? else { return Ok(Written::Array(items)) };
            items.push(item);
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Written::Array(items))
    }

    fn visit_str<E>(self, _: &str) -> Result<Written<'de>, E> {
        Ok(Written::Other(Kind::Text))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Written<'de>, E> {
        Ok(Written::Other(Kind::Number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Written<'de>, E> {
        Ok(Written::Other(Kind::Number))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Written<'de>, E> {
        Ok(Written::Other(Kind::Number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Written<'de>, E> {
        Ok(Written::Other(Kind::Boolean))
    }

    fn visit_unit<E>(self) -> Result<Written<'de>, E> {
        Ok(Written::Other(Kind::Null))
    }
}

/// Text, borrowed from the body unless escapes had to be resolved.
#[derive(Debug)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}
