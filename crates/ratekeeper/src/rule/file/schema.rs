//! The table of fields as a JSON Schema, which editors complete files by.
//!
//! Invariant: what the schema refuses, the reader refuses; the reader refuses more.

use super::shape::{FILE, Kind, SHAPES, Shape};
use std::fmt::Write;

/// A value of JSON.
enum Json {
    Yes(bool),
    Number(u64),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

/// The JSON Schema of rule files (draft 2020-12).
pub fn schema() -> String {
    let mut root = vec![
        ("$schema".to_owned(), text("https://json-schema.org/draft/2020-12/schema")),
        ("title".to_owned(), text("Ratekeeper rule file")),
    ];
    let Json::Map(file) = of_shape(&FILE) else { return String::new() };
    root.extend(file);
    let others = SHAPES.iter().filter(|shape| shape.name != FILE.name);
    let defs = others.map(|shape| (shape.name.to_owned(), of_shape(shape))).collect();
    root.push(("$defs".to_owned(), Json::Map(defs)));
    let mut out = String::new();
    write(&mut out, &Json::Map(root), 0);
    out.push('\n');
    out
}

fn of_shape(shape: &Shape) -> Json {
    let property = |field: &super::shape::Field| {
        let Json::Map(mut kind) = of_kind(&field.kind) else {
            return (field.name.into(), Json::Yes(true));
        };
        kind.insert(0, ("description".into(), text(field.doc.trim_start())));
        (field.name.to_owned(), Json::Map(kind))
    };
    let properties = Json::Map(shape.fields.iter().map(property).collect());
    let required = shape.fields.iter().filter(|field| field.required);
    let required: Vec<Json> = required.map(|field| text(field.name)).collect();
    let mut map = vec![
        ("description", text(shape.doc.trim_start())),
        ("type", text("object")),
        ("additionalProperties", Json::Yes(false)),
        ("properties", properties),
    ];
    if !required.is_empty() {
        map.push(("required", Json::List(required)));
    }
    object(map)
}

fn of_kind(kind: &Kind) -> Json {
    match kind {
        // Texts such as 1 and true need no quotes.
        Kind::Text => {
            object(vec![("type", Json::List(["string", "number", "boolean"].map(text).into()))])
        }
        Kind::Like(pattern) => object(vec![("type", text("string")), ("pattern", text(pattern))]),
        Kind::Name(pattern) => {
            let types = Json::List(["string", "integer"].map(text).into());
            object(vec![("type", types), ("pattern", text(pattern))])
        }
        Kind::Yes => object(vec![("type", text("boolean"))]),
        Kind::Null => object(vec![("type", text("null"))]),
        Kind::Just(number) => object(vec![("const", Json::Number(*number))]),
        Kind::Whole(least, most) => object(vec![
            ("type", text("integer")),
            ("minimum", Json::Number(*least)),
            ("maximum", Json::Number(*most)),
        ]),
        Kind::Word(words) => {
            object(vec![("enum", Json::List(words.iter().map(|word| text(word)).collect()))])
        }
        Kind::Map(shape) => object(vec![("$ref", Json::Text(format!("#/$defs/{}", shape.name)))]),
        Kind::Table(kind) => {
            object(vec![("type", text("object")), ("additionalProperties", of_kind(kind))])
        }
        Kind::List(least, kind) => {
            let mut map = vec![("type", text("array")), ("items", of_kind(kind))];
            if *least > 0 {
                map.push(("minItems", Json::Number(*least as u64)));
            }
            object(map)
        }
        Kind::Some(kind) => {
            object(vec![("anyOf", Json::List(vec![of_kind(kind), of_kind(&Kind::List(1, kind))]))])
        }
        Kind::Any(kinds) => {
            object(vec![("anyOf", Json::List(kinds.iter().map(of_kind).collect()))])
        }
    }
}

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

fn object(map: Vec<(&str, Json)>) -> Json {
    Json::Map(map.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn write(out: &mut String, json: &Json, depth: usize) {
    let newline = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match json {
        Json::Yes(yes) => out.push_str(if *yes { "true" } else { "false" }),
        Json::Number(number) => out.push_str(&number.to_string()),
        Json::Text(text) => quote(out, text),
        Json::List(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                newline(out, depth + 1);
                write(out, item, depth + 1);
            }
            newline(out, depth);
            out.push(']');
        }
        Json::Map(fields) => {
            out.push('{');
            for (number, (name, value)) in fields.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                newline(out, depth + 1);
                quote(out, name);
                out.push_str(": ");
                write(out, value, depth + 1);
            }
            newline(out, depth);
            out.push('}');
        }
    }
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => drop(write!(out, "\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}
