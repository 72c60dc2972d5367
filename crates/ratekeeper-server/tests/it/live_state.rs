//! A start, and a folder of the state, that are not as they should be.
//!
//! Invariant: the last good release decides, and what is wrong is told in the log, the metrics and the API.

use crate::folder::Folder;
use crate::live::{ask, becomes, call, daily, fault, get, left, put, says, serve, version};
use crate::program::{output, poll};
use crate::wire::{request, send};
use std::fs;
use std::net::SocketAddr;

fn with_state(rules: &str) -> String {
    format!("state_dir: state\n{rules}")
}

fn failures(address: SocketAddr) -> String {
    let page = send(address, &request("GET /metrics", "", "")).body;
    let name = "ratekeeper_reload_failures_total ";
    page.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned).unwrap_or_default()
}

/// Exits with 2, and says these words.
fn fails(args: &[&str], words: &str) {
    let told = output(args);
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    assert_eq!(told.status.code(), Some(2), "{args:?}: {text}");
    assert!(text.contains(words), "{text}");
}

/// Goal: a server whose file makes no sense starts with the release that decided last, and tells the fault; once the
/// file is mended it is taken up. Without a stored release there is no start, and `validate` is not deceived.
/// Method: a release by a call, then files with a fault in a rule, cut off, and of another kind; then a good one.
#[test]
fn a_bad_file_at_the_start_leaves_the_last_good_release() {
    let folder = Folder::of(&[("r.yaml", &with_state(&daily(10)))]);
    let file = folder.path("r.yaml");
    let server = serve(&folder, "r.yaml");
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(20)).status, 200);
    ask(server.address, "alice", 3);
    drop(server);
    let bad = [
        (with_state(&daily(5).replace("key", "kye")), "no field `kye`", 3),
        (with_state("rules:\n  - {id: api, key: user, lim"), "never closed", 3),
    ];
    for (text, words, line) in bad {
        folder.write("r.yaml", &text);
        fails(&["validate", &file], words);
        let server = serve(&folder, "r.yaml");
        says(&server, &format!("{file}:{line}:"));
        let told = fault(server.address);
        assert!(told["errors"][0]["fault"].as_str().is_some_and(|fault| fault.contains(words)));
        assert_eq!((&told["source"], &told["errors"][0]["line"]), (&"file".into(), &line.into()));
        assert_eq!((version(server.address), left(server.address, "alice").1), (2, 20));
        assert_eq!(failures(server.address), "1", "told once");
        assert!(server.banner.iter().any(|line| line.contains("20/day")), "{:?}", server.banner);
    }
    let server = serve(&folder, "r.yaml");
    folder.write("r.yaml", &with_state(&daily(30)));
    becomes(server.address, 3);
    assert_eq!(left(server.address, "alice").1, 30);
    assert!(poll(|| get(server.address, "/v1/rules")["fault"].is_null().then_some(())).is_some());
    drop(server);

    let serve =
        |file: &str| ["serve", "--listen", "127.0.0.1:0", "--config", file].map(str::to_owned);
    let fails_with = |text: &str, words: &str| {
        folder.write("r.yaml", text);
        let args = serve(&file);
        fails(&args.iter().map(String::as_str).collect::<Vec<_>>(), words);
    };
    fails_with("state_dir: other\nrules:\n  - {id: api, kye: ip}\n", "no field `kye`");
    assert!(!fs::exists(folder.path("other")).expect("it can be asked"), "nothing was made");
    fails_with("rules:\n  - {id: api, kye: ip}\n", "no field `kye`");
    fails_with("state_dir: state\nlisten: 5\nrules: []\n", "listen");
}

/// Goal: a password that is nowhere but in the file is not replaced by what was stored: there is no start.
/// Method: a store with a password, and a file that is cut off; then one with a fault in a rule, which starts.
#[test]
fn a_password_is_not_made_up() {
    let store = "store: \"redis://user:hunter2@127.0.0.1:1/0\"\n";
    let text = format!("{store}{}", with_state(&daily(10)));
    let folder = Folder::of(&[("r.yaml", &text)]);
    drop(serve(&folder, "r.yaml"));
    folder.write("r.yaml", &format!("{text}  - {{id: b"));
    let file = folder.path("r.yaml");
    fails(&["serve", "--listen", "127.0.0.1:0", "--config", &file], "never closed");
    folder.write("r.yaml", &format!("{text}  - {{id: b, kye: ip}}\n"));
    let server = serve(&folder, "r.yaml");
    assert_eq!((version(server.address), &fault(server.address)["source"]), (1, &"file".into()));
}

/// Goal: changes that cannot be written are made, told in log, metrics and API, and written as soon as that is
/// possible.
/// Method: put a file in the place of the folder, change rules and switches, take it away, and end the server by a
/// signal that it cannot handle once the fault is mended.
#[test]
fn what_cannot_be_written_is_written_later() {
    let folder = Folder::of(&[("r.yaml", &with_state(&daily(10)))]);
    let server = serve(&folder, "r.yaml");
    let address = server.address;
    fs::remove_dir_all(folder.path("state")).expect("it is there");
    folder.write("state", "");
    assert_eq!(call(address, "PUT /v1/rules", "", &daily(20)).status, 200);
    says(&server, "state_dir:1:1: this folder cannot be written");
    assert_eq!((&fault(address)["source"], failures(address)), (&"state_dir".into(), "1".into()));
    // Another fault does not hide it for good.
    folder.write("r.yaml", &with_state("rules: 5\n"));
    assert!(poll(|| (fault(address)["source"] == "file").then_some(())).is_some());
    folder.write("r.yaml", &with_state(&daily(10)));
    assert!(poll(|| (fault(address)["source"] == "state_dir").then_some(())).is_some());
    assert_eq!(put(address, "/v1/switches/api", r#"{"rollout":"100%"}"#).status, 200);
    assert_eq!(call(address, "PUT /v1/rules", "", &daily(30)).status, 200);
    assert_eq!(
        (version(address), left(address, "alice").1, failures(address)),
        (3, 30, "2".into())
    );

    fs::remove_file(folder.path("state")).expect("it is there");
    says(&server, "`state_dir` can be written again");
    assert!(poll(|| get(address, "/v1/rules")["fault"].is_null().then_some(())).is_some());
    let releases = get(address, "/v1/releases");
    drop(server);
    let server = serve(&folder, "r.yaml");
    assert_eq!(get(server.address, "/v1/releases"), releases);
    assert_eq!(get(server.address, "/v1/switches")["switches"][0]["rollout"], "100%");
}

/// Goal: what a key has used is kept over a restart also if the rate was changed meanwhile.
/// Method: use some of a bucket, end the server, change the file, and look; the same with a changed override.
#[test]
fn a_rate_that_changed_meanwhile_is_no_amnesty() {
    let rules = |limit: u32| {
        with_state(&format!("rules:\n  - {{id: api, key: user, limit: {limit}/day}}\n"))
    };
    let folder = Folder::of(&[("r.yaml", &rules(1_000))]);
    let mut server = serve(&folder, "r.yaml");
    ask(server.address, "alice", 700);
    for (limit, least) in [(2_000, 1_300), (900, 200), (1_500, 800)] {
        server.signal("TERM");
        assert!(server.ended().is_some_and(|status| status.success()));
        folder.write("r.yaml", &rules(limit));
        server = serve(&folder, "r.yaml");
        let (remaining, most) = left(server.address, "alice");
        // A day is long: a few units may have come back.
        assert!(
            (least..least + 10).contains(&remaining) && most == u64::from(limit),
            "{remaining}"
        );
        ask(server.address, "alice", 0);
    }
}

/// Goal: numbers that no server of ours gives are set aside, and releases go on from those that are.
/// Method: files of the state with numbers beyond those that are exact everywhere.
#[test]
fn numbers_that_are_too_large_are_set_aside() {
    let folder = Folder::of(&[("r.yaml", &with_state(&daily(10)))]);
    drop(serve(&folder, "r.yaml"));
    let kept = fs::read_to_string(folder.path("state/releases/1.json")).expect("it is kept");
    let large = kept.replacen("\"number\":1,", "\"number\":9007199254740993,", 1);
    assert_ne!(large, kept);
    folder.write("state/releases/9007199254740993.json", &large);
    let live = fs::read_to_string(folder.path("state/live.json")).expect("it is kept");
    let live = live.replacen("\"number\":1,", "\"number\":9007199254740993,", 1);
    folder.write("state/live.json", &live);
    let server = serve(&folder, "r.yaml");
    says(&server, "releases/9007199254740993.json: cannot be used: its format or its number");
    assert_eq!((version(server.address), left(server.address, "alice")), (2, (10, 10)));
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(20)).json()["version"], 3);
}
