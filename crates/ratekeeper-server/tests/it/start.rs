//! How a server starts: what it needs, and what it says to programs.

use crate::folder::Folder;
use crate::program::{self, Program};
use crate::wire::{request, send};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Goal: a server that could not hold its connections does not start, and says what would do.
/// Method: a low limit of open files; the same with as few connections as it says.
#[test]
fn too_few_files_for_the_connections_are_told_at_the_start() {
    let serve = |files: u32, more: &str| {
        let script = format!(r#"ulimit -n {files}; exec "$0" serve --listen 127.0.0.1:0 {more}"#);
        let mut shell = program::clean(Command::new("sh"));
        shell.args(["-c", &script, program::PATH]);
        shell
    };
    let refused = serve(300, "").output().expect("a shell runs");
    let text = "10000 connections need 10256 open files, and 300 may be; raise `ulimit -Hn`, or have fewer \
                with `--connections 44`";
    assert_eq!(String::from_utf8_lossy(&refused.stderr), format!("error: {text}\n"));
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    let server = Program::start(serve(300, "--connections 44"));
    assert_eq!(send(server.address, &request("GET /livez", "", "")).status, 200);
}

/// Goal: what a server says for programs is one line, and all that they need to find it.
/// Method: with a config and without; read the line, ask where it says, and end it.
#[test]
fn programs_are_told_in_one_line() {
    let rules = "listen: {api: '127.0.0.1:0', admin: '127.0.0.1:0'}\n\
                 rules: [{id: api, limit: [5/minute, 9/hour]}]";
    let folder = Folder::of(&[("r.yaml", rules)]);
    let path = folder.path("r.yaml");
    let started = |arguments: &[&str]| {
        let mut serve = program::command();
        serve.args(["serve", "--json"]).args(arguments).stdout(Stdio::piped());
        let mut child = serve.stderr(Stdio::null()).spawn().expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it speaks");
        let said: Value = serde_json::from_str(&line).expect("it is JSON");
        let api = said["listen"]["api"].as_str().expect("it says where").to_owned();
        let alive = api.strip_prefix("http://").and_then(|address| address.parse().ok());
        let alive = alive.map(|address| send(address, &request("GET /livez", "", "")).status);
        let ended = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
        assert!(ended.is_ok_and(|status| status.success()) && alive == Some(200), "{line}");
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("it speaks UTF-8");
        assert_eq!((child.wait().ok().and_then(|status| status.code()), &*rest), (Some(0), ""));
        said
    };
    let said = started(&["--config", &path]);
    assert_eq!((&said["config"], &said["more_rules"]), (&json!(path), &json!(0)));
    assert_eq!(said["rules"], json!([{"id": "api", "limits": ["5/minute and 9/hour"]}]));
    assert!(said["listen"]["admin"].is_string(), "{said}");
    let demo = started(&["--listen", "127.0.0.1:0"]);
    assert_eq!((&demo["config"], &demo["listen"]["admin"]), (&json!(null), &json!(null)));
    assert_eq!(demo["try"], json!({"rule": "token-bucket", "key": "alice"}));
    assert_eq!(demo["rules"].as_array().map(Vec::len), Some(6));
    assert_eq!(demo["store"], "memory, 1000000 keys at most");
}
