//! A text as JSON: the same values in their order, without comments, anchors and places.
//!
//! Invariants: what is written reads back as the same rules; it is never larger than a few times what
//! files may be, whatever aliases stand for.

use super::error::{Faults, FileErrors, Place};
use super::tree::{self, Node, Value};
use super::{BYTES_MAX, Source, told};
use std::fmt::Write;

/// Most bytes that are written. Beyond it the text is refused: only aliases make it grow so far.
pub const JSON_MAX: usize = 4 * BYTES_MAX;

/// A file, of whatever values, as JSON.
pub fn json(source: &Source) -> Result<String, FileErrors> {
    let mut faults = Faults::default();
    let tree = tree::read(0, &source.text, &mut faults).filter(|_| faults.told() == 0);
    let mut out = String::new();
    match tree.map(|tree| write(&tree, &mut out)) {
        Some(Some(())) => return Ok(out),
        Some(None) => {
            let start = Place { file: 0, line: 1, column: 1 };
            let fault = format!("with its aliases it has more than {} MiB", JSON_MAX >> 20);
            faults.add(start, fault, "use fewer aliases");
        }
        None => {}
    }
    Err(told(faults, |_| Some(source.name.clone())))
}

/// `None` once there is too much.
fn write(node: &Node<'_>, out: &mut String) -> Option<()> {
    match node.value() {
        Value::Scalar { text, plain } if *plain && (node.is_null() || text.is_empty()) => {
            out.push_str("null");
        }
        Value::Scalar { text, plain } if *plain && is_literal(text) => out.push_str(text),
        Value::Scalar { text, .. } => quote(text, out),
        Value::List(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Map(fields) => {
            out.push('{');
            for (number, (name, value)) in fields.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                quote(name.text().unwrap_or_default(), out);
                out.push(':');
                write(value, out)?;
            }
            out.push('}');
        }
        // What is shared was looked through.
        Value::Same(_) => {}
    }
    (out.len() <= JSON_MAX).then_some(())
}

/// Whether a plain text means the same in JSON: a boolean, or digits that are written the same way.
fn is_literal(text: &str) -> bool {
    let digits = || text.len() < 16 && text.bytes().all(|byte| byte.is_ascii_digit());
    matches!(text, "true" | "false" | "0") || !text.starts_with('0') && digits()
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            // Whatever may end a line, or steer a terminal.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                // Text in memory takes whatever is written.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<String, String> {
        let source = Source { name: "x.yaml".into(), text: text.into() };
        json(&source).map_err(|errors| errors.to_string())
    }

    /// Goal: values keep what they are, in their order, whatever their style; aliases are written out.
    /// Method: compare with JSON set by hand, over every kind of scalar that rule files have.
    #[test]
    fn a_text_is_written_as_json() {
        let cases = [
            ("", "{}"),
            ("a: 1\nb: '1'\nc: 007\nd: 0", r#"{"a":1,"b":"1","c":"007","d":0}"#),
            (
                "{a: true, b: off, c: null, d: ~, e: }",
                r#"{"a":true,"b":"off","c":null,"d":null,"e":null}"#,
            ),
            (
                "a: [10%, 5000/day, 2027-01-01, 12345678901234567]",
                r#"{"a":["10%","5000/day","2027-01-01","12345678901234567"]}"#,
            ),
            ("a: &x {b: [1, 2]}\nc: *x # note", r#"{"a":{"b":[1,2]},"c":{"b":[1,2]}}"#),
            ("a: \"q\\\"\\\\\\n\\e\"", r#"{"a":"q\"\\\n\u001b"}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(of(text).as_deref(), Ok(expected), "{text}");
        }
    }

    /// Goal: what cannot be read is told with its place; aliases cannot make the text grow without end.
    /// Method: a bracket left open; and a mebibyte that is meant a hundred times.
    #[test]
    fn what_cannot_be_written_is_told() {
        let error = of("a:\n  - [1").expect_err("a bracket is open");
        assert!(error.starts_with("x.yaml:"), "{error}");
        let large = "x".repeat(1 << 20);
        let error = of(&format!("a: &a {large}\nb: [{}]", ["*a"; 100].join(", ")));
        let error = error.expect_err("a hundred mebibytes are too much");
        assert!(error.contains("more than 64 MiB"), "{error}");
    }
}
