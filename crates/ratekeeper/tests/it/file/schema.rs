//! The table of fields, as schema and as a list.
//!
//! Invariant: the schema that ships is the one of the code.

use super::{assert_golden, text};
use ratekeeper::rule::file::{fields, schema};
use std::collections::HashSet;
use std::path::Path;

/// Goal: the schema in the documentation is the one that the reader works by.
/// Method: compare them.
#[test]
fn the_schema_that_ships_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ratekeeper.schema.json");
    assert_golden(&path, &schema());
}

/// Goal: every map that the schema refers to is in it, and every map in it is referred to.
/// Method: collect both.
#[test]
fn the_schema_refers_to_what_it_has() {
    let schema = schema();
    let after = |line: &str, word: &str| {
        Some(line.trim().strip_prefix(word)?.split('"').next()?.to_owned())
    };
    let referred: HashSet<String> =
        schema.lines().filter_map(|line| after(line, "\"$ref\": \"#/$defs/")).collect();
    let (_, defs) = schema.split_once("\"$defs\": {").unwrap();
    let named = defs.lines().filter(|line| line.starts_with("    \""));
    let named: HashSet<String> = named.filter_map(|line| after(line, "\"")).collect();
    assert_eq!(referred, named);
    assert!(named.len() > 10, "{named:?}");
}

/// Goal: every field has one sentence about it, and there is a file that has them all.
/// Method: look at each, and for each in the file.
#[test]
fn every_field_has_a_sentence_and_an_example() {
    let example = text("good/every-field.yaml");
    let mut seen = HashSet::new();
    for (map, field, doc) in fields() {
        assert!(seen.insert((map, field)), "{map}.{field} is there twice");
        assert!(
            doc.ends_with('.') && doc.len() > 10 && !doc.contains("  "),
            "{map}.{field}: {doc}"
        );
        let starts =
            |at: usize| !example[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let named = example.match_indices(&format!("{field}:")).any(|(at, _)| starts(at));
        assert!(named, "{map}.{field} is not in every-field.yaml");
    }
    assert!(seen.len() > 70, "{}", seen.len());
}
