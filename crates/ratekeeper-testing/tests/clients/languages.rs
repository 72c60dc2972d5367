//! redis-py and ioredis, by scripts that print what they saw.
//!
//! Invariant: the scripts only ask and print; what is right is said here.

use crate::server::Server;
use crate::shell::{Said, bounded, run, tools};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

/// Checks that both scripts send in one pipeline, of which forty are within the limit.
const RULES: &str =
    "rules: [{id: api, key: user, limit: 40/day}, {id: jobs, key: user, limit: 1 concurrent}]";

/// The interpreter that finds redis-py.
pub(crate) fn python() -> PathBuf {
    tools().join("python/bin/python")
}

/// Runs a script in the server's folder, where ioredis is found.
pub(crate) fn script(server: &Server, program: PathBuf, name: &str, text: &str) -> Said {
    fs::write(server.folder.join(name), text).unwrap();
    let modules = server.folder.join("node_modules");
    if !modules.exists() {
        symlink(fs::canonicalize(tools().join("node/node_modules")).unwrap(), modules).unwrap();
    }
    let command: &mut Command = &mut bounded(program);
    run(command.args([name, &server.port.to_string()]).current_dir(&server.folder), b"")
}

/// Goal: redis-py's pool and pipelines work in both versions of the protocol.
/// Method: ten threads over a pool of four connections, and a pipeline of a hundred checks, of which the first forty
/// are admitted; with each version.
#[test]
fn redis_py_asks_by_a_pool_and_by_a_pipeline() {
    for version in ["2", "3"] {
        let server = Server::new(RULES);
        let text = include_str!("pool.py").replace("protocol=0", &format!("protocol={version}"));
        let said = script(&server, python(), "pool.py", &text);
        let expected = [
            "ping True",
            "check [1, 40, 39, -1, 2160000, -1, 'store', None]",
            "permit 16",
            "pool 40 of 100 by at most 4 connections",
            "pipeline 40 of 100, the first 40",
            "error no rule is named `none`; the rules are api, jobs",
        ];
        assert_eq!(said.lines(), expected, "protocol {version}");
    }
}

/// Goal: ioredis is ready, which it finds out by `INFO`, and asks as it does elsewhere.
/// Method: its events, a call, and a pipeline of a hundred checks, of which the first forty are admitted.
#[test]
fn ioredis_is_ready_and_asks_by_a_pipeline() {
    let server = Server::new(RULES);
    let said = script(&server, "node".into(), "ready.mjs", include_str!("ready.mjs"));
    let expected = [
        "ready ready",
        "check [1,40,39,-1,2160000,-1,\"store\",null]",
        "pipeline 40 of 100, the first 40",
        "error ERR no rule is named `none`; the rules are api, jobs",
        "quit OK",
    ];
    assert_eq!(said.lines(), expected);
}
