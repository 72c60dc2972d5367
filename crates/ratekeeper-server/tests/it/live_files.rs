//! Files that change while the server runs (F1, F2, F5, F8 of the fault matrix), SIGHUP, and what needs a restart.
//!
//! Invariant: what makes no sense, or is not whole, never decides.

use crate::folder::Folder;
use crate::live::{ask, becomes, call, daily, fault, get, left, put, says, serve, version};
use crate::program::poll;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

/// Goal: a bad file changes nothing, and is told with file, line and repair, in the log and by the API; once it is
/// mended, nothing is wrong.
/// Method: three kinds of fault in turn, each beside decisions; then a good file.
#[test]
fn a_bad_file_changes_nothing_and_is_told() {
    let folder = Folder::of(&[("r.yaml", &daily(10))]);
    let server = serve(&folder, "r.yaml");
    let file = folder.path("r.yaml");
    let bad = [
        ("rules: [{id: api, limit: 5/day", 1, "never closed"),
        ("rules:\n  - {id: api, limit: 5/day, kye: ip}\n", 2, "a rule has no field `kye`"),
        ("rules:\n  - {id: api, limit: 5/day}\n  - {id: api, limit: 6/day}\n", 3, "api"),
    ];
    for (number, (text, line, words)) in (1_u64..).zip(bad) {
        folder.write("r.yaml", text);
        let told = poll(|| {
            let fault = fault(server.address);
            let error = fault["errors"][0].clone();
            let is_this = error["line"] == line && error["fault"].as_str()?.contains(words);
            is_this.then_some((fault, error))
        });
        let (fault, error) = told.unwrap_or_else(|| panic!("{words}: {}", fault(server.address)));
        assert_eq!((&fault["source"], &error["file"]), (&"file".into(), &file.as_str().into()));
        assert_ne!(error["repair"], "");
        says(&server, &format!("{file}:{line}:"));
        let decision = ask(server.address, "alice", 1);
        assert_eq!(
            (&decision["version"], &decision["remaining"]),
            (&1.into(), &(10 - number).into())
        );
    }
    folder.write("r.yaml", &daily(20));
    becomes(server.address, 2);
    assert!(poll(|| get(server.address, "/v1/rules")["fault"].is_null().then_some(())).is_some());
    assert_eq!(left(server.address, "alice"), (17, 20), "what was used is kept");
}

/// Goal: a file that is being written is taken up once it is whole, and never in part.
/// Method: write it in pieces, closer together than files have to be at rest, then wait: there is one more release,
/// and it has all rules. Then leave it half written: nothing changes until it is completed.
#[test]
fn a_half_written_file_is_not_taken_up() {
    let folder = Folder::of(&[("r.yaml", &daily(10))]);
    let server = serve(&folder, "r.yaml");
    let file = OpenOptions::new().write(true).truncate(true).open(folder.path("r.yaml"));
    let mut file = file.expect("the file is there");
    file.write_all(b"rules:\n").expect("a piece is written");
    for number in 0..20 {
        writeln!(file, "  - {{id: r{number}, limit: 1/day}}").expect("a piece is written");
        file.flush().expect("it goes out");
        sleep(Duration::from_millis(20));
    }
    drop(file);
    becomes(server.address, 2);
    let releases = get(server.address, "/v1/releases");
    assert_eq!(releases["releases"][0]["rules"], 20, "{releases}");

    // Who writes it may pause for longer than files have to be at rest.
    let file = OpenOptions::new().write(true).truncate(true).open(folder.path("r.yaml"));
    let mut file = file.expect("the file is there");
    file.write_all(b"rules:\n  - {id: r0, limit: 1/day}\n").expect("a piece is written");
    sleep(Duration::from_millis(1_500));
    file.write_all(b"  - {id: r1, limit: 1/day}\n").expect("a piece is written");
    drop(file);
    becomes(server.address, 3);
    assert_eq!(get(server.address, "/v1/releases")["releases"][0]["rules"], 2);

    folder.write("r.yaml", "rules:\n  - {id: api, limit: 7/day, algorithm: fixed_");
    fault(server.address);
    assert_eq!(version(server.address), 3);
    folder.write("r.yaml", &daily(7));
    becomes(server.address, 4);
    assert_eq!(left(server.address, "alice"), (7, 7));
}

/// Goal: a limit that is lowered below what was used leaves nothing, one that is raised leaves the difference, and
/// another algorithm starts afresh.
/// Method: use 5 of 10, then change the file, and look.
#[test]
fn what_was_used_is_kept_when_limits_change() {
    let folder = Folder::of(&[("r.yaml", &daily(10))]);
    let server = serve(&folder, "r.yaml");
    ask(server.address, "alice", 5);
    for (release, limit, remaining) in [(2, 3, 0), (3, 50, 45), (4, 5, 0), (5, 6, 1)] {
        folder.write("r.yaml", &daily(limit));
        becomes(server.address, release);
        assert_eq!(left(server.address, "alice"), (remaining, u64::from(limit)));
        let refused = ask(server.address, "alice", 100);
        assert_eq!(
            (&refused["allowed"], &refused["remaining"]),
            (&false.into(), &remaining.into())
        );
    }
    folder.write("r.yaml", &daily(6).replace("fixed_window", "sliding_window_log"));
    becomes(server.address, 6);
    assert_eq!(left(server.address, "alice"), (6, 6));
}

/// Goal: a switch file is in effect while it says so, above what calls have turned; in shadow a rule goes on counting.
/// Method: turn by a call, then by the file, damage the file, take the entry out, and look at answers and lists.
#[test]
fn a_switch_file_stands_above_calls() {
    let text = format!("switch_file: switches.yaml\n{}", daily(1));
    let folder = Folder::of(&[("r.yaml", &text)]);
    let server = serve(&folder, "r.yaml");
    assert_eq!(ask(server.address, "alice", 1)["allowed"], true);
    assert_eq!(ask(server.address, "alice", 1)["allowed"], false);

    let switched =
        put(server.address, "/v1/switches/api", r#"{"rollout":"off","reason":"incident"}"#);
    assert_eq!(switched.status, 200, "{}", switched.body);
    assert_eq!(ask(server.address, "alice", 1)["allowed"], true);

    let is = |rollout: &str, from: &str| {
        let found = poll(|| {
            let all = get(server.address, "/v1/switches")["switches"].clone();
            (all[0]["rollout"] == rollout && all[0]["from"] == from).then_some(())
        });
        assert!(found.is_some(), "{}", get(server.address, "/v1/switches"));
    };
    folder.write("switches.yaml", "api: {rollout: shadow, reason: by hand}\n");
    is("shadow", "file");
    let request = r#"{"request":{"method":"GET","path":"/","user":"bob","ip":"192.0.2.7"}}"#;
    let shadow = |remaining: u64, allowed: bool| {
        let result = crate::wire::check(server.address, request).json()["results"][0].clone();
        assert_eq!(result["shadow"], true, "{result}");
        assert_eq!(
            (&result["allowed"], &result["remaining"]),
            (&allowed.into(), &remaining.into())
        );
    };
    shadow(0, true);
    shadow(0, false);

    folder.write("switches.yaml", "api: sometimes\n");
    assert_eq!(fault(server.address)["source"], "switch_file");
    is("shadow", "file");
    folder.write("switches.yaml", "api: 100%\n");
    is("100%", "file");
    assert_eq!(ask(server.address, "alice", 1)["allowed"], false);
    // One that is too large to be read turns nothing back.
    folder.write("large", &"#".repeat(2 << 20));
    let switches = folder.path("switches.yaml");
    std::fs::rename(folder.path("large"), &switches).expect("both are there");
    let told = || fault(server.address).to_string().contains("this cannot be read").then_some(());
    assert!(poll(told).is_some());
    is("100%", "file");
    folder.write("switches.yaml", "");
    is("off", "api");
    assert_eq!(put(server.address, "/v1/switches/api", "null").status, 200);
    assert_eq!(ask(server.address, "alice", 1)["allowed"], false);
}

/// Goal: SIGHUP takes the file up, also where a call has changed the rules since; without a change it does nothing.
/// Method: change the rules by a call, send the signal, and look; send it again, and another call is next in number.
#[test]
fn a_hangup_takes_the_file_up_again() {
    let folder = Folder::of(&[("r.yaml", &daily(10))]);
    let server = serve(&folder, "r.yaml");
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(99)).status, 200);
    assert_eq!(left(server.address, "alice"), (99, 99));
    server.signal("HUP");
    becomes(server.address, 3);
    assert_eq!(left(server.address, "alice"), (10, 10));
    server.signal("HUP");
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(98)).json()["version"], 4);
}

/// Goal: rules of a file that also changes the server itself are taken up, and the rest is told to need a restart.
/// Method: change `listen` and `memory` beside a limit.
#[test]
fn what_needs_a_restart_is_told() {
    let folder = Folder::of(&[("r.yaml", &daily(10))]);
    let server = serve(&folder, "r.yaml");
    let text = format!("listen: {{api: 127.0.0.1:1}}\nmemory: {{keys: 5}}\n{}", daily(11));
    folder.write("r.yaml", &text);
    becomes(server.address, 2);
    says(&server, "restart the server for what has changed of memory, listen");
    let told = poll(|| {
        let restart = get(server.address, "/v1/rules")["restart"].clone();
        (restart == serde_json::json!(["memory", "listen"])).then_some(())
    });
    assert!(told.is_some(), "{}", get(server.address, "/v1/rules"));
    assert_eq!(left(server.address, "alice"), (11, 11));
}
