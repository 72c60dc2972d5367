//! The document of the API: every path that there is, and no other.

use crate::server::Server;
use crate::wire::{request, send};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
        if path == "/v1/stream" {
            continue;
        }
        let methods = methods.as_object().expect("a path has methods");
        // What is answered to HEAD has the length of a body, and none.
        for method in methods.keys().filter(|name| !matches!(&***name, "head" | "parameters")) {
            let asked = path.replace(['{', '}'], "");
            let line = format!("{} {asked}", method.to_uppercase());
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

/// Goal: the document says every status that the bounds, the guard and the reading of bodies can answer with.
/// Method: what each kind of operation has to say.
#[test]
fn statuses_of_every_kind_are_said() {
    let (_server, document) = document();
    let mut looked_at = 0;
    for (path, methods) in document["paths"].as_object().expect("there are paths") {
        for (method, operation) in methods.as_object().expect("a path has methods") {
            if method == "parameters" {
                continue;
            }
            let mut wanted = vec!["200", "414", "431"];
            if operation.get("requestBody").is_some() {
                wanted.extend(["400", "403", "408", "413", "415"]);
            }
            if operation.get("security").is_some() {
                wanted.extend(["401", "403", "429"]);
            }
            for status in wanted {
                let said = operation["responses"].get(status).is_some();
                assert!(said, "{method} {path} does not say {status}");
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 50, "{looked_at} operations");
}
