//! Texts, numbers, words and lengths of time.
//!
//! Invariant: a value that is returned is within its bounds; what is not was noted.

use super::super::error::{Place, quoted, split};
use super::super::near::near;
use super::super::tree::{Node, Value};
use super::{LIST, Reader};
use crate::limit::read_length;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// Longest text of a field, keys and conditions excepted.
const TEXT_MAX: usize = 1_024;

/// Longest name of a rule, a tier or a region.
const NAME_MAX: usize = 64;

/// Most items of a list within a rule.
const ITEMS_MAX: usize = 1_000;

/// A length of time as rule files write it, such as `1h30m`.
pub fn length(text: &str) -> Option<Duration> {
    let has_unit = text.len() <= NAME_MAX && text.ends_with(|c: char| c.is_ascii_alphabetic());
    read_length(text).ok().filter(|_| has_unit)
}

impl Reader<'_> {
    /// A text with something in it.
    pub(super) fn text<'n>(&mut self, node: &'n Node<'_>, field: &str) -> Option<&'n str> {
        self.long_text(node, field, TEXT_MAX)
    }

    /// A text with something in it, of at most so many bytes.
    pub(super) fn long_text<'n>(
        &mut self,
        node: &'n Node<'_>,
        field: &str,
        most: usize,
    ) -> Option<&'n str> {
        let (fault, repair) = match node.value() {
            Value::List(_) => (format!("`{field}` is a list"), "write one value"),
            Value::Map(_) => (format!("`{field}` is a map"), "write one value"),
            Value::Scalar { text, .. } if node.is_null() || text.trim().is_empty() => {
                (format!("`{field}` is empty"), "write a value, or leave the field out")
            }
            Value::Scalar { text, .. } if text.len() > most => {
                (format!("`{field}` is longer than {most} bytes"), "write a shorter one")
            }
            Value::Scalar { text, .. } => return Some(text),
            Value::Same(_) => return None,
        };
        self.fault(node.at, fault, repair);
        None
    }

    /// A text that is kept.
    pub(super) fn owned(&mut self, node: Option<&Node<'_>>, field: &str) -> Option<String> {
        self.text(node?, field).map(str::to_owned)
    }

    /// A whole number.
    pub(super) fn whole(
        &mut self,
        node: &Node<'_>,
        field: &str,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let text = self.text(node, field)?;
        let plain = matches!(node.value(), Value::Scalar { plain: true, .. });
        let digits = plain && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits { text.parse().ok() } else { None };
        if let Some(number) = number.filter(|number| range.contains(number)) {
            return Some(number);
        }
        let (least, most) = range.into_inner();
        let (is, quotes) = if plain { ("is", "") } else { ("is the text", ", without quotes") };
        let repair = format!("write a whole number from {least} to {most}{quotes}");
        self.fault(node.at, format!("`{field}` {is} {}", quoted(text)), repair);
        None
    }

    /// `true` or `false`.
    pub(super) fn yes(&mut self, node: &Node<'_>, field: &str) -> Option<bool> {
        match node.value() {
            Value::Scalar { text, plain: true } if **text == *"true" => Some(true),
            Value::Scalar { text, plain: true } if **text == *"false" => Some(false),
            _ => {
                let fault = format!("`{field}` is neither true nor false");
                self.fault(node.at, fault, format!("write `{field}: true`, or leave it out"));
                None
            }
        }
    }

    /// One of these words, by its number.
    pub(super) fn word(&mut self, node: &Node<'_>, field: &str, words: &[&str]) -> Option<usize> {
        let text = self.text(node, field)?;
        let found = words.iter().position(|word| *word == text);
        if found.is_none() {
            let repair = match near(text, words.iter().copied()) {
                Some(near) => format!("write `{near}`"),
                None => format!("write one of {}", words.join(", ")),
            };
            self.fault(node.at, format!("`{field}` cannot be {}", quoted(text)), repair);
        }
        found
    }

    /// A length of time, such as `2s`.
    pub(super) fn length(&mut self, node: &Node<'_>, field: &str) -> Option<Duration> {
        let text = self.text(node, field)?;
        if let Some(length) = length(text) {
            return Some(length);
        }
        let fault = format!("`{field}` is {}, not a length of time", quoted(text));
        self.fault(node.at, fault, "write one such as `500ms`, `2s` or `1h30m`");
        None
    }

    /// `N%`.
    pub(super) fn percent(
        &mut self,
        node: &Node<'_>,
        field: &str,
        range: RangeInclusive<u8>,
    ) -> Option<u8> {
        let text = self.text(node, field)?;
        let digits = text.strip_suffix('%').filter(|digits| {
            (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        let percent = digits.and_then(|digits| digits.parse().ok());
        if let Some(percent) = percent.filter(|percent| range.contains(percent)) {
            return Some(percent);
        }
        let repair =
            format!("write a whole number from {} to {} and `%`", range.start(), range.end());
        self.fault(node.at, format!("`{field}` is {}", quoted(text)), repair);
        None
    }

    /// The name of a rule, a tier or a region.
    pub(super) fn name(&mut self, node: &Node<'_>, field: &str) -> Option<Arc<str>> {
        let text = self.text(node, field)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if text.len() <= NAME_MAX && text.bytes().all(plain) {
            return Some(text.into());
        }
        let repair = format!("write 1 to {NAME_MAX} letters, digits, `-`, `_` or `.`");
        self.fault(node.at, format!("`{field}` cannot be {}", quoted(text)), repair);
        None
    }

    /// The name of a header field, in lower case.
    pub(super) fn header(&mut self, at: Place, field: &str, text: &str) -> Option<Arc<str>> {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if !text.is_empty() && text.len() <= NAME_MAX && text.bytes().all(token) {
            return Some(text.to_ascii_lowercase().into());
        }
        let fault = format!("`{field}` names a header field {}", quoted(text));
        let repair = format!("write a name such as `X-Api-Key`, of at most {NAME_MAX} letters");
        self.fault(at, fault, repair);
        None
    }

    /// One, or the items of a list; a list that is empty, or too long, is a fault.
    pub(super) fn items<'n, 't>(&mut self, node: &'n Node<'t>, field: &str) -> &'n [Node<'t>] {
        let Value::List(items) = node.value() else { return std::slice::from_ref(node) };
        if items.is_empty() {
            let fault = format!("`{field}` is an empty list");
            self.fault(node.at, fault, "write what belongs there, or leave the field out");
        }
        self.few(node.at, items, field)
    }

    /// The items of a list, which may be empty.
    pub(super) fn list<'n, 't>(&mut self, node: &'n Node<'t>, field: &str) -> &'n [Node<'t>] {
        match node.value() {
            Value::List(items) => items,
            _ => {
                self.fault(node.at, format!("`{field}` is not a list"), LIST);
                &[]
            }
        }
    }

    fn few<'n, 't>(&mut self, at: Place, items: &'n [Node<'t>], field: &str) -> &'n [Node<'t>] {
        if items.len() <= ITEMS_MAX {
            return items;
        }
        let fault = format!("`{field}` has more than {ITEMS_MAX} items");
        self.fault(at, fault, "write several rules, or patterns");
        &[]
    }

    /// A fault in somebody else's words, which may have a repair or not.
    pub(super) fn passed_on(&mut self, at: Place, message: &str, repair: &str) {
        let (fault, repair) = split(message, repair);
        self.fault(at, fault, repair);
    }
}
