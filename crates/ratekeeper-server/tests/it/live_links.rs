//! Ways in which files come and go (F3 of the fault matrix).
//!
//! Invariant: what is gone or cannot be read leaves the rules as they are, and is told once.

use crate::folder::Folder;
use crate::live::{becomes, daily, fault, get, left, says, serve, version};
use crate::program::poll;
use std::fs::{create_dir, remove_dir, remove_file, rename};
use std::os::unix::fs::symlink;

/// Goal: a file that is put in the place of another in one step is taken up, in a folder and alone.
/// Method: rename onto it, and add one to a folder of two.
#[test]
fn files_that_are_renamed_are_taken_up() {
    let folder = Folder::of(&[("r.yaml", &daily(10))]);
    let server = serve(&folder, "r.yaml");
    for (release, limit) in [(2, 20), (3, 30)] {
        folder.write("next", &daily(limit));
        rename(folder.path("next"), folder.path("r.yaml")).expect("it is renamed");
        becomes(server.address, release);
        assert_eq!(left(server.address, "alice"), (limit.into(), limit.into()));
    }

    let folder =
        Folder::of(&[("a.yaml", &daily(10)), ("b.yaml", "rules: [{id: b, limit: 1/day}]")]);
    let server = serve(&folder, "");
    folder.write("c.new", "rules: [{id: c, limit: 1/day}]");
    rename(folder.path("c.new"), folder.path("c.yaml")).expect("it is renamed");
    becomes(server.address, 2);
    assert_eq!(get(server.address, "/v1/releases")["releases"][0]["rules"], 3);
    remove_file(folder.path("b.yaml")).expect("it is removed");
    becomes(server.address, 3);
    assert_eq!(get(server.address, "/v1/releases")["releases"][0]["rules"], 2);
}

/// Goal: links that are swapped, as Kubernetes does with config maps, are followed.
/// Method: a file that is a link through a link to a folder; swap the folder's link in one step.
#[test]
fn links_that_are_swapped_are_followed() {
    let folder = Folder::of(&[("..one/r.yaml", &daily(10)), ("..two/r.yaml", &daily(20))]);
    symlink("..one", folder.path("..data")).expect("a link is made");
    symlink("..data/r.yaml", folder.path("r.yaml")).expect("a link is made");
    let server = serve(&folder, "r.yaml");
    for (release, target, limit) in [(2, "..two", 20), (3, "..one", 10)] {
        symlink(target, folder.path("..data_tmp")).expect("a link is made");
        rename(folder.path("..data_tmp"), folder.path("..data")).expect("it is swapped");
        becomes(server.address, release);
        assert_eq!(left(server.address, "alice"), (limit, limit));
    }
}

/// Goal: a file that is deleted, or no file any more, leaves the rules as they are, and is told once; back again as
/// it was, it is no new release; as another, it is.
/// Method: delete it, put a folder and then the file in its place.
#[test]
fn a_file_that_is_gone_leaves_the_rules() {
    let folder = Folder::of(&[("r.yaml", &daily(10))]);
    let server = serve(&folder, "r.yaml");
    remove_file(folder.path("r.yaml")).expect("it is removed");
    says(&server, "there is no such file or folder");
    assert_eq!(fault(server.address)["source"], "file");
    create_dir(folder.path("r.yaml")).expect("a folder is made");
    says(&server, "there is no rule file in this folder");
    assert_eq!((version(server.address), left(server.address, "alice")), (1, (10, 10)));
    remove_dir(folder.path("r.yaml")).expect("it is removed");
    folder.write("r.yaml", &daily(10));
    assert!(poll(|| get(server.address, "/v1/rules")["fault"].is_null().then_some(())).is_some());
    assert_eq!(version(server.address), 1);
    folder.write("r.yaml", &daily(11));
    becomes(server.address, 2);
    let more: Vec<String> = server.err.try_iter().collect();
    assert!(!more.iter().any(|line| line.contains("error")), "told again: {more:?}");
}

/// Goal: files that a rule file names are part of it.
/// Method: change the keys that `identity` names, and nothing else.
#[test]
fn files_that_are_named_are_watched() {
    let keys = |id: &str| {
        let hash = "0".repeat(64);
        format!("- {{id: {id}, owner: acme, hash: \"sha256:{hash}\"}}\n")
    };
    let text =
        format!("identity: {{api_key: {{header: X-Api-Key, keys: keys/k.yaml}}}}\n{}", daily(10));
    let folder = Folder::of(&[("r.yaml", &text), ("keys/k.yaml", &keys("one"))]);
    let server = serve(&folder, "r.yaml");
    folder.write("keys/k.yaml", &keys("two"));
    becomes(server.address, 2);
    folder.write("keys/k.yaml", "- {id: three}\n");
    let error = fault(server.address)["errors"][0].clone();
    assert!(error["file"].as_str().is_some_and(|file| file.ends_with("k.yaml")), "{error}");
    assert_eq!(version(server.address), 2);
}
