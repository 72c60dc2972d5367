//! A server from its start to its end, and what of it is there at the next start.

use crate::folder::Folder;
use crate::program::{self, Program};
use crate::wire::check;
use std::os::unix::net::UnixDatagram;

/// Goal: what keys have used is used after a restart, by a signal in order or without any.
/// Method: a key is spent; the program ends, and another starts in the same folder; a damaged file is told,
/// set aside, and no reason not to start.
#[test]
fn a_restart_is_no_amnesty() {
    let rules = "state_dir: state\nrules: [{id: api, limit: 2/day}]";
    let folder = Folder::of(&[("rules.yaml", rules)]);
    let start = || {
        let mut command = program::command();
        command.args(["serve", "--listen", "127.0.0.1:0", "--config", &folder.path("rules.yaml")]);
        Program::start(command)
    };
    let spend = r#"{"rule":"api","key":"alice","cost":2}"#;
    let mut server = start();
    assert_eq!(check(server.address, spend).json()["allowed"], true);
    server.signal("INT");
    assert!(server.ended().expect("it ends").success());
    let server = start();
    assert_eq!(check(server.address, spend).json()["allowed"], false);
    assert_eq!(check(server.address, &spend.replace("alice", "bob")).json()["allowed"], true);
    // Without a signal it loses at most what came since the last write, of which bob is one.
    let path = folder.as_path().join("state/memory.state");
    let before = std::fs::metadata(&path).expect("it was written").len();
    let grown = || std::fs::metadata(&path).is_ok_and(|file| file.len() > before).then_some(());
    assert!(program::poll(grown).is_some(), "it is written from time to time");
    drop(server);
    let server = start();
    assert_eq!(check(server.address, &spend.replace("alice", "bob")).json()["allowed"], false);
    drop(server);
    std::fs::write(&path, "something else").expect("the file is there");
    let server = start();
    let told = server.err.recv_timeout(crate::wire::DEADLINE).expect("it is told");
    assert!(told.contains("memory.state: the saved state is of another version"), "{told}");
    assert!(path.with_extension("damaged").exists() && !path.exists());
    assert_eq!(check(server.address, spend).json()["allowed"], true);
}

/// Goal: a service manager is told that the server is ready, that it is well, and that it stops.
/// Method: a socket of the test's in the environment, with a watchdog.
#[test]
fn a_service_manager_is_told() {
    let folder = Folder::of(&[]);
    let socket = UnixDatagram::bind(folder.path("notify")).expect("the folder is there");
    socket.set_read_timeout(Some(crate::wire::DEADLINE)).expect("a timeout can be set");
    let mut command = program::command();
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", folder.path("notify")).env("WATCHDOG_USEC", "100000");
    let server = Program::start(command);
    let next = || {
        let mut text = [0; 64];
        let length = socket.recv(&mut text).expect("something is told before the deadline");
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    assert_eq!(next(), "READY=1");
    assert_eq!((next(), next()), ("WATCHDOG=1".into(), "WATCHDOG=1".into()));
    server.signal("INT");
    assert!((0..100).map(|_| next()).any(|text| text == "STOPPING=1"));
}
