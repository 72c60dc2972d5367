//! The switch file beside rule files that change, hang-ups and restarts.
//!
//! Invariant: it is in effect at once, and ends when it said.

use crate::folder::Folder;
use crate::live::{daily, get, put, serve};
use crate::program::{Program, poll};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

fn folder() -> Folder {
    let text = format!("switch_file: switches.yaml\n{}", daily(1));
    Folder::of(&[("r.yaml", &text)])
}

/// A switch of the file, once it is turned.
fn turned(server: &Program, rule: &str) -> Value {
    let found = poll(|| {
        let all = get(server.address, "/v1/switches")["switches"].clone();
        all.as_array()?.iter().find(|own| own["rule"] == rule).cloned()
    });
    assert!(found.is_some(), "{rule}: {}", get(server.address, "/v1/switches"));
    found.unwrap_or_default()
}

/// Goal: a switch file is in effect while the rule file beside it does not come to rest.
/// Method: keep writing the rule file, then write the switch file twice; when it is in effect, nobody has given up on
/// the rules yet.
#[test]
fn a_switch_file_waits_for_no_rule_file() {
    let folder = folder();
    let server = serve(&folder, "r.yaml");
    let over = AtomicBool::new(false);
    scope(|threads| {
        threads.spawn(|| {
            for number in 0.. {
                let text = format!("switch_file: switches.yaml\n# {number}\n{}", daily(2));
                // In one step: it is never seen in part, and still never at rest.
                folder.write("next", &text);
                let (next, file) = (folder.path("next"), folder.path("r.yaml"));
                std::fs::rename(next, file).expect("both are there");
                if over.load(Ordering::Acquire) {
                    break;
                }
                sleep(Duration::from_millis(20));
            }
        });
        // The first reading of the rules has begun by then, as the switch that follows shows.
        folder.write("switches.yaml", "api: 100%\n");
        turned(&server, "api");
        folder.write("switches.yaml", "api: 100%\nother: off\n");
        turned(&server, "other");
        let gave_up = server.err.try_iter().any(|line| line.contains("keep changing"));
        over.store(true, Ordering::Release);
        assert!(!gave_up, "it waited for the rules");
    });
    let taken = poll(|| (crate::live::left(server.address, "alice").1 == 2).then_some(()));
    assert!(taken.is_some(), "the rules are taken up once they are at rest");
}

/// Goal: `for` in the switch file counts from when the entry was first there, whatever becomes of the others, of
/// signals and of the server.
/// Method: an entry for an hour, some seconds, then another entry, a hang-up and a restart: its end is as it was.
#[test]
fn the_end_of_an_entry_stays_as_it_is() {
    let folder = folder();
    let server = serve(&folder, "r.yaml");
    folder.write("switches.yaml", "api: {rollout: off, for: 1h}\n");
    let first = turned(&server, "api");
    // The server's own clock goes on.
    let later = |server: &Program| {
        let passed = poll(|| {
            assert_eq!(put(server.address, "/v1/switches/*", r#"{"rollout":"100%"}"#).status, 200);
            (turned(server, "*")["at"].as_str()? > first["at"].as_str()?).then_some(())
        });
        assert!(passed.is_some(), "no second has passed");
    };
    later(&server);
    folder.write("switches.yaml", "api: {rollout: off, for: 1h}\nother: {rollout: off, for: 1h}\n");
    let other = turned(&server, "other");
    assert_ne!(other["until"], first["until"], "the other began later");
    assert_eq!(turned(&server, "api"), first);
    server.signal("HUP");
    // What is written after a hang-up is seen after it.
    folder.write("switches.yaml", "other: {rollout: off, for: 1h}\nthird: shadow\n");
    turned(&server, "third");
    assert_eq!(turned(&server, "other"), other);
    drop(server);

    folder.write("switches.yaml", "api: {rollout: off, for: 1h}\n");
    let server = serve(&folder, "r.yaml");
    let again = turned(&server, "api");
    let past = |own: &Value| own["at"].as_str().map(str::to_owned);
    poll(|| {
        put(server.address, "/v1/switches/*", r#"{"rollout":"100%"}"#);
        (past(&turned(&server, "*")) > past(&again)).then_some(())
    })
    .expect("a second has passed");
    drop(server);
    let server = serve(&folder, "r.yaml");
    assert_eq!(turned(&server, "api"), again, "a restart does not begin it anew");
}
