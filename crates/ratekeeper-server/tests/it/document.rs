//! The document of the API: every path that there is, and no other.

use crate::server::Server;
use crate::wire::{request, send};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Paths of the document that the server may not answer yet.
const NOT_YET: [&str; 14] = [
    "/v1/authorize",
    "/v1/authorize/nginx",
    "/v1/authorize/envoy/{path}",
    "/v1/rules",
    "/v1/rules/{id}",
    "/v1/rules/validate",
    "/v1/rules/explain",
    "/v1/rules/diff",
    "/v1/releases",
    "/v1/releases/{n}/restore",
    "/v1/keys",
    "/v1/overrides",
    "/v1/switches/{rule}",
    "/v1/decisions/{id}",
];

fn document() -> (Server, Value) {
    let server = Server::start();
    let reply = send(server.address, &request("GET /openapi.json", "", ""));
    assert_eq!((reply.status, reply.field("content-type")), (200, Some("application/json")));
    let document = reply.json();
    (server, document)
}

fn paths(document: &Value) -> BTreeSet<String> {
    document["paths"].as_object().expect("there are paths").keys().cloned().collect()
}

/// Rust files of the program.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("its entries can be read").path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.extend(path.extension().is_some_and(|end| end == "rs").then_some(path)),
        }
    }
}

/// A path with its parameters as the document writes them: `{*path}` is `{path}` there.
fn as_documented(path: &str) -> String {
    path.replace("{*", "{")
}

/// Goal: nobody adds a path without a word in the document.
/// Method: every path that the sources give a name or a route is a path of the document.
#[test]
fn every_path_of_the_program_is_in_the_document() {
    let (_server, document) = document();
    let documented = paths(&document);
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut seen = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source can be read");
        let routes = text.split(".route(\"").skip(1);
        let names = text.split("_PATH: &str = \"").skip(1);
        for rest in routes.chain(names).filter(|rest| rest.starts_with('/')) {
            seen.insert(as_documented(rest.split('"').next().unwrap_or_default()));
        }
    }
    let missing: Vec<&String> = seen.difference(&documented).collect();
    assert!(missing.is_empty(), "not in src/door/health/openapi.json: {missing:?}");
    assert!(seen.contains("/v1/check") && seen.contains("/readyz"), "{seen:?}");
}

/// Goal: what the document promises is there.
/// Method: ask each path with each method of the document; none is unknown, but for those that may be.
#[test]
fn every_path_of_the_document_is_answered() {
    let (server, document) = document();
    for (path, methods) in document["paths"].as_object().expect("there are paths") {
        if NOT_YET.contains(&path.as_str()) || path == "/v1/stream" {
            continue;
        }
        for method in methods.as_object().expect("a path has methods").keys() {
            let line = format!("{} {path}", method.to_uppercase());
            let reply = send(server.address, &request(&line, "", ""));
            let unknown = reply.body.contains("there is no such path");
            assert!(reply.status != 405 && !unknown, "{line}: {} {}", reply.status, reply.body);
            let documented = &methods[method]["responses"][reply.status.to_string()];
            assert!(documented.is_object(), "{line} answers {}, unsaid", reply.status);
        }
    }
}

/// Goal: the document can be read by tools: every reference leads somewhere, every operation has a name of
/// its own.
/// Method: follow all references; collect all names.
#[test]
fn references_lead_somewhere_and_names_are_unique() {
    let (_server, document) = document();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let (mut names, mut stack) = (BTreeSet::new(), vec![&document]);
    while let Some(value) = stack.pop() {
        if let Some(to) = value.get("$ref").and_then(Value::as_str) {
            let pointer = to.strip_prefix('#').expect("references are inside");
            assert!(document.pointer(pointer).is_some(), "{to} leads nowhere");
        }
        if let Some(name) = value.get("operationId").and_then(Value::as_str) {
            assert!(names.insert(name), "{name} is there twice");
        }
        match value {
            Value::Array(items) => stack.extend(items),
            Value::Object(members) => stack.extend(members.values()),
            _ => {}
        }
    }
    assert!(names.len() > 40, "{names:?}");
}
