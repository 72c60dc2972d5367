//! The fields of an object: each found at most once, and read as what it has to be.
//!
//! Invariant: a fault is told with the name of its field, what is wrong with it and what to send; the
//! value itself is never shown.

use super::written::{Kind, Text, Written, fault};
use crate::problem::{Problem, quoted};
use axum::http::StatusCode;
use serde_json::value::RawValue;
use std::fmt;

/// Largest cost of one call. Beyond it: 400.
pub const COST_MAX: u64 = 1 << 32;

/// Where an object is in the body: all of it, or an item of the batch; or a field of these.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    index: Option<usize>,
    within: &'static str,
}

impl Place {
    /// An item of the batch.
    pub(super) fn item(index: usize) -> Place {
        Place { index: Some(index), within: "" }
    }

    /// The object of this name, from the outermost, such as `request.headers`.
    pub(super) fn within(self, name: &'static str) -> Place {
        Place { within: name, ..self }
    }

    pub(super) fn field<N: fmt::Display>(self, name: N) -> Path<N> {
        Path { at: self, name }
    }
}

/// Where a field is, which is written out only if it is at fault.
#[derive(Clone, Copy)]
pub(super) struct Path<N> {
    at: Place,
    name: N,
}

impl<N: fmt::Display> fmt::Display for Path<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Path { at: Place { index, within }, name } = self;
        if let Some(index) = index {
            write!(f, "[{index}].")?;
        }
        let dot = if within.is_empty() { "" } else { "." };
        write!(f, "{within}{dot}{name}")
    }
}

/// The fields of these names, and no others, in the order of the names.
pub(super) fn fields<'a, const N: usize>(
    written: Vec<(Text<'a>, &'a RawValue)>,
    names: [&str; N],
    at: Place,
) -> Result<[Option<&'a RawValue>; N], Problem> {
    let mut found = [None; N];
    for (name, value) in written {
        let Some(index) = names.iter().position(|known| *known == name.0) else {
            let fault = format!("is not a field; {}", listed(&names));
            return Err(bad_field(at.field(quoted(&name.0)), &fault));
        };
        if found[index].replace(value).is_some() {
            return Err(bad_field(at.field(name.0), "is there twice; send it once"));
        }
    }
    Ok(found)
}

/// The same of a body that has to be one object, like the example.
pub(super) fn only<'a, const N: usize>(
    body: Written<'a>,
    names: [&str; N],
    example: &str,
) -> Result<[Option<&'a RawValue>; N], Problem> {
    match body {
        Written::Object(written) => fields(written, names, Place::default()),
        other => {
            let kind = other.kind();
            Err(bad(format!("the body is {kind}; send one object such as {example}")))
        }
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "there are none".into(),
        [name] => format!("the only field is {name}"),
        [names @ .., last] => format!("the fields are {} and {last}", names.join(", ")),
    }
}

/// The value of a field that has to be there.
pub(super) fn needed(
    value: Option<&RawValue>,
    path: impl fmt::Display,
    repair: impl fmt::Display,
) -> Result<&RawValue, Problem> {
    value.ok_or_else(|| bad_field(path, &format!("is missing; {repair}")))
}

/// A text of 1 to `most` bytes.
pub(super) fn short<'a>(
    value: &'a RawValue,
    path: impl fmt::Display,
    most: usize,
    repair: &str,
) -> Result<Text<'a>, Problem> {
    let text = text(value, &path, repair)?;
    match text.0.len() {
        0 => Err(bad_field(path, &format!("is empty; {repair}"))),
        length if length > most => {
            Err(bad_field(path, &format!("is longer than {most} bytes; send a shorter one")))
        }
        _ => Ok(text),
    }
}

pub(super) fn text<'a>(
    value: &'a RawValue,
    path: impl fmt::Display,
    repair: &str,
) -> Result<Text<'a>, Problem> {
    if Kind::of(value) != Kind::Text {
        return Err(bad_field(path, &format!("is {}; {repair}", Kind::of(value))));
    }
    serde_json::from_str(value.get())
        .map_err(|error| bad_field(path, &format!("cannot be read: {}; {repair}", fault(&error))))
}

/// A whole number from `least` to [`COST_MAX`].
pub(super) fn cost(value: &RawValue, path: impl fmt::Display, least: u64) -> Result<u64, Problem> {
    let written = value.get();
    let fault = match Kind::of(value) {
        Kind::Number if written.starts_with('-') => "is negative".into(),
        Kind::Number if written.contains(['.', 'e', 'E']) => {
            "is not written in digits alone".into()
        }
        Kind::Number => match written.parse() {
            Ok(cost) if (least..=COST_MAX).contains(&cost) => return Ok(cost),
            Ok(cost) if cost < least => format!("is {cost}"),
            _ => "is too large".into(),
        },
        other => format!("is {other}"),
    };
    Err(bad_field(path, &format!("{fault}; send {}", costs(least))))
}

/// What a cost can be, in words.
pub(super) fn costs(least: u64) -> String {
    format!("a whole number from {least} to {COST_MAX}")
}

pub(super) fn bad(detail: String) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail)
}

pub(super) fn bad_field(path: impl fmt::Display, fault: &str) -> Problem {
    Problem::field(StatusCode::BAD_REQUEST, &path.to_string(), fault)
}
