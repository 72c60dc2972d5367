//! The log of the program.

use crate::program::{Program, command};
use crate::wire::{DEADLINE, check};
use serde_json::Value;
use std::time::Duration;

fn serve(arguments: &[&str]) -> Program {
    let mut serve = command();
    serve.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
    Program::start(serve)
}

fn refuse(program: &Program, times: usize) {
    for _ in 0..10 + times {
        let reply =
            check(program.address, r#"{"rule":"fixed-window","key":"mallory@example.org"}"#);
        assert_eq!(reply.status, 200);
    }
}

/// Goal: refusals are told as JSON where nobody sits at a terminal, in samples, with the key as a hash.
/// Method: more refusals than a second's sample, all of one key; read the lines, and count what they say.
#[test]
fn refusals_are_logged_in_samples_with_hashed_keys() {
    let mut program = serve(&[]);
    refuse(&program, 60);
    program.signal("TERM");
    assert!(program.ended().is_some_and(|status| status.success()));
    let lines: Vec<String> = program.err.try_iter().collect();
    let told: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!told.is_empty() && told.len() < 60, "{} lines", told.len());
    for line in &told {
        assert_eq!((&line["level"], &line["message"]), (&"INFO".into(), &"refused".into()));
        assert_eq!((&line["rule"], &line["door"]), (&"fixed-window".into(), &"check".into()));
        let key = line["key"].as_str().unwrap();
        assert!(key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key}");
    }
    assert!(!lines.join("").contains("mallory"), "{lines:?}");
}

/// Goal: the log is written as it was asked for, or not at all.
/// Method: the form for people; and a level above what happens.
#[test]
fn the_log_is_written_as_it_was_asked_for() {
    let human = serve(&["--log-format", "human"]);
    refuse(&human, 1);
    let line = human.err.recv_timeout(DEADLINE).expect("a line comes");
    assert!(line.contains("INFO refused rule=\"fixed-window\""), "{line}");
    let mut quiet = serve(&["--log-level", "warn"]);
    refuse(&quiet, 5);
    quiet.signal("TERM");
    assert!(quiet.ended().is_some());
    assert_eq!(quiet.err.recv_timeout(Duration::from_secs(1)).ok(), None);
}
