//! A tree as YAML that people read.
//!
//! Invariant: what could be read as something else is quoted.

use serde_json::{Map, Value};

/// Longest list or map that stands on one line.
const LINE_MAX: usize = 80;

/// The file that says so.
pub(crate) fn yaml(whole: &Map<String, Value>) -> String {
    let mut out = String::new();
    fields(whole, 0, &mut out);
    out
}

fn fields(map: &Map<String, Value>, indent: usize, out: &mut String) {
    for (number, (name, value)) in map.iter().enumerate() {
        // The first field of a map in a list stands on the line of its dash.
        if number > 0 || indent == 0 || out.ends_with('\n') {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        scalar(name, out);
        out.push(':');
        below(value, indent, out);
    }
}

/// What follows the colon of a field.
fn below(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Array(items) if !fits(value) => {
            out.push('\n');
            for item in items {
                out.extend(std::iter::repeat_n(' ', indent + 2));
                out.push_str("- ");
                match item {
                    Value::Object(map) if !map.is_empty() => fields(map, indent + 4, out),
                    _ => line(item, out),
                }
            }
        }
        Value::Object(map) if !fits(value) => {
            out.push('\n');
            fields(map, indent + 2, out);
        }
        _ => {
            out.push(' ');
            line(value, out);
        }
    }
}

fn line(value: &Value, out: &mut String) {
    flow(value, out);
    out.push('\n');
}

/// Whether it is short, and no list of rules.
fn fits(value: &Value) -> bool {
    let plain = match value {
        Value::Array(items) => !items.iter().any(Value::is_object),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    plain && value.to_string().len() <= LINE_MAX
        || matches!(value, Value::Array(items) if items.is_empty())
}

fn flow(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => scalar(text, out),
        Value::Array(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                flow(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (number, (name, value)) in map.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                scalar(name, out);
                out.push_str(": ");
                flow(value, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// A text: as it is where it can only be read as a text, else in quotes, as JSON has them.
fn scalar(text: &str, out: &mut String) {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_/.".contains(&byte);
    let inner = |byte: u8| letter(byte) || b"-%*".contains(&byte);
    let words = text
        .split(' ')
        .all(|word| word.bytes().next().is_some_and(letter) && word.bytes().all(inner));
    let other =
        matches!(text, "true" | "false" | "null") || text.bytes().all(|byte| byte.is_ascii_digit());
    match words && !other {
        true => out.push_str(text),
        false => out.push_str(&Value::String(text.to_owned()).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratekeeper::rule::file::{self, Source};

    /// Goal: what is written reads back as the same tree, and looks as people write it.
    /// Method: a file of every kind of value, with texts that want to be something else, there and back;
    /// and the beginning of it, written down.
    #[test]
    fn a_tree_is_written_as_yaml() {
        let json = r##"{"version":1,"tiers":["free","pro"],"exempt":[],"rules":[
            {"id":"api","match":{"path":"/api/**","except":["/api/export"]},"key":{"first":["user","claim:org"]},
             "limit":{"free":["60/minute","5000/day"],"pro":"600/minute burst 100"},"rollout":"10%","deny":true},
            {"id":"odd","name":"true","when":"a == 'b: #c'\n\u0007","x":"12","y":12,"z":null,"e":"","s":" a ","h":"- a",
             "long":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]}],
            "overrides":[{"rule":"api","key":["acme"],"limit":"5000/minute","until":"2027-01-01"}]}"##;
        let Ok(Value::Object(tree)) = serde_json::from_str(json) else { panic!("this is JSON") };
        let text = yaml(&tree);
        let back = file::json(&Source { name: "x".into(), text: text.clone() }).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), Value::Object(tree), "{text}");
        let start = "version: 1\ntiers: [free, pro]\nexempt: []\nrules:\n  - id: api\n    \
                     match: {path: /api/**, except: [/api/export]}\n";
        assert!(text.starts_with(start), "{text}");
    }
}
