//! What survives a restart.
//!
//! Invariant: the file wins if it changed, else what was stored; what is damaged never keeps a server from starting.

use crate::folder::Folder;
use crate::live::{ask, call, daily, get, left, put, says, serve, version};
use std::fs;

fn stored() -> Folder {
    Folder::of(&[("r.yaml", &format!("state_dir: state\n{}", daily(10)))])
}

/// Goal: releases, overrides and switches survive a restart if the file is as it was; a file that changed meanwhile
/// is the next release, under the same overrides and switches.
/// Method: change all of them by calls, end the server by a signal that it cannot handle, and start it again, twice.
#[test]
fn releases_overrides_and_switches_survive_a_restart() {
    let folder = stored();
    let server = serve(&folder, "r.yaml");
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(20)).status, 200);
    let own = r#"{"rule":"api","key":"acme","limit":"500/day"}"#;
    let reply = put(server.address, "/v1/overrides", own);
    assert_eq!((reply.status, version(server.address)), (200, 3), "{}", reply.body);
    let switch = r#"{"rollout":"100%","until":"2099-01-01","reason":"why"}"#;
    assert_eq!(put(server.address, "/v1/switches/api", switch).status, 200);
    let (releases, switches) =
        (get(server.address, "/v1/releases"), get(server.address, "/v1/switches"));
    drop(server);

    let server = serve(&folder, "r.yaml");
    let banner = server.banner.join("\n");
    assert!(
        banner.contains("the rules of release 3, from api") && banner.contains("20/day"),
        "{banner}"
    );
    assert_eq!(get(server.address, "/v1/releases"), releases);
    assert_eq!(get(server.address, "/v1/switches"), switches);
    assert_eq!((left(server.address, "alice").1, left(server.address, "acme").1), (20, 500));
    assert_eq!(ask(server.address, "alice", 1)["version"], 3);
    drop(server);

    folder.write("r.yaml", &format!("state_dir: state\n{}", daily(30)));
    let server = serve(&folder, "r.yaml");
    assert_eq!(version(server.address), 4);
    assert_eq!((left(server.address, "alice").1, left(server.address, "acme").1), (30, 500));
    assert_eq!(get(server.address, "/v1/switches"), switches);
    let restored = call(server.address, "POST /v1/releases/2/restore", "", "").json();
    assert_eq!((&restored["version"], &restored["source"]), (&5.into(), &"restore".into()));
    assert_eq!((left(server.address, "alice").1, left(server.address, "acme").1), (20, 500));
}

/// Goal: files of the state that are damaged are told and set aside, and the server starts.
/// Method: damage the release that was live, and then the list of what is live.
#[test]
fn what_is_damaged_is_set_aside() {
    let folder = stored();
    let server = serve(&folder, "r.yaml");
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(20)).status, 200);
    drop(server);
    folder.write("state/releases/2.json", "{\"number\":2,");
    let server = serve(&folder, "r.yaml");
    says(&server, "releases/2.json: cannot be used");
    assert_eq!(
        (version(server.address), left(server.address, "alice").1),
        (3, 10),
        "the file decides"
    );
    assert!(fs::exists(folder.path("state/releases/2.damaged")).expect("it can be asked"));
    drop(server);

    folder.write("state/live.json", "\u{0}\u{0}");
    let server = serve(&folder, "r.yaml");
    says(&server, "live.json: cannot be used");
    assert_eq!((version(server.address), left(server.address, "alice").1), (4, 10));
    assert!(fs::exists(folder.path("state/live.damaged")).expect("it can be asked"));
}

/// Goal: no number is given twice, also where a release was stored and the server ended before it was live.
/// Method: a release in the folder above the one that is live; the next change.
#[test]
fn a_number_is_given_once() {
    let folder = stored();
    let server = serve(&folder, "r.yaml");
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(20)).status, 200);
    drop(server);
    let release = fs::read_to_string(folder.path("state/releases/2.json")).expect("it is stored");
    let later = release.replacen("\"number\":2", "\"number\":7", 1);
    assert_ne!(release, later);
    folder.write("state/releases/7.json", &later);
    let server = serve(&folder, "r.yaml");
    assert_eq!(version(server.address), 2);
    assert_eq!(call(server.address, "PUT /v1/rules", "", &daily(30)).status, 200);
    assert_eq!((version(server.address), left(server.address, "alice").1), (8, 30));
}

/// Goal: a folder that cannot be had is told before the server listens; no password is written into it.
/// Method: name a file as the folder; then a store with a password, and look at what is kept and shown.
#[test]
fn the_state_is_checked_at_the_start_and_holds_no_password() {
    let folder = Folder::of(&[("r.yaml", &format!("state_dir: r.yaml\n{}", daily(10)))]);
    let told = crate::program::output(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--config",
        &folder.path("r.yaml"),
    ]);
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    assert_eq!(told.status.code(), Some(2), "{text}");
    assert!(text.contains("`state_dir`") && text.contains("cannot be made"), "{text}");

    let store = "store: \"redis://user:hunter2@127.0.0.1:1/0\"\nstate_dir: state\n";
    let folder = Folder::of(&[("r.yaml", &format!("{store}{}", daily(10)))]);
    let server = serve(&folder, "r.yaml");
    let kept = fs::read_to_string(folder.path("state/releases/1.json")).expect("it is kept");
    let shown = call(server.address, "GET /v1/rules", "Accept: application/yaml\r\n", "").body;
    let live = fs::read_to_string(folder.path("state/live.json")).expect("it is kept");
    for text in [kept, live, shown, get(server.address, "/v1/rules").to_string()] {
        assert!(text.contains(":***@127.0.0.1") && !text.contains("hunter2"), "{text}");
    }
}
