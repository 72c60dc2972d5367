//! `ratekeeper validate`: what is fine, and all that is wrong, for people and for programs.

use crate::cli::said;
use crate::folder::Folder;
use crate::program::output;
use serde_json::Value;

/// Goal: what is fine is told with the number of its rules, exit code 0.
/// Method: files and folders with none, one and several rules.
#[test]
fn what_is_fine_is_told_with_its_rules() {
    let folder = Folder::of(&[
        ("none.yaml", "version: 1\n"),
        ("one.yaml", "rules: [{id: a, limit: 5/minute}]\n"),
        ("set/a.yaml", "rules: [{id: a, limit: 5/minute}, {id: b, limit: 5/minute}]\n"),
        ("set/b.json", r#"{"rules": [{"id": "c", "limit": "5/minute"}]}"#),
    ]);
    for (name, count) in [("none.yaml", "0 rules"), ("one.yaml", "1 rule"), ("set", "3 rules")] {
        let path = folder.path(name);
        assert_eq!(said(&["validate", &path]), (format!("{path}: {count}, fine\n"), 0));
    }
    let json = said(&["validate", &folder.path("set"), "--json"]);
    assert_eq!(json, (r#"{"valid":true,"rules":3,"errors":[]}"#.to_owned() + "\n", 0));
}

/// Goal: every fault is a line with place, fault and repair, exit code 2, and the same in JSON.
/// Method: a file with several faults; both forms are compared with one another and with what is known.
#[test]
fn every_fault_is_told_in_lines_and_in_json() {
    let bad = "rules:\n  - {id: api, limit: 0/minute}\n  - {id: api, limit: 5/minute, keyy: ip}\n";
    let folder = Folder::of(&[("bad.yaml", bad)]);
    let path = folder.path("bad.yaml");
    let lines = output(&["validate", &path]);
    assert_eq!((lines.status.code(), lines.stdout.len()), (Some(2), 0));
    let lines = String::from_utf8(lines.stderr).expect("it speaks UTF-8");
    let (json, code) = said(&["validate", &path, "--json"]);
    assert_eq!(code, 2);
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["valid"], &json["rules"]), (&false.into(), &0.into()));
    let errors = json["errors"].as_array().expect("a list");
    let told: Vec<String> = errors
        .iter()
        .map(|error| {
            let [file, fault, repair] =
                ["file", "fault", "repair"].map(|name| error[name].as_str().expect("a text"));
            format!("{file}:{}:{}: {fault}; {repair}", error["line"], error["column"])
        })
        .collect();
    assert_eq!(lines.lines().collect::<Vec<_>>(), told);
    assert_eq!(errors.len(), 3, "{lines}");
    let places: Vec<_> = errors.iter().map(|error| error["line"].as_u64()).collect();
    assert_eq!(places, [Some(2), Some(3), Some(3)]);
}

/// Goal: whatever a path leads to, the command ends with a place, a fault and a repair.
/// Method: nothing, an empty folder, a pipe, bytes that are no text, more bytes and more files than may be.
#[test]
fn a_path_that_leads_to_no_rule_file_is_told() {
    let folder = Folder::of(&[("empty/README.md", ""), ("bytes.yaml", "")]);
    std::fs::write(folder.as_path().join("bytes.yaml"), b"version: 1\nrules: \xff")
        .expect("written");
    let pipe = folder.path("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let large = std::fs::File::create(folder.as_path().join("large.yaml")).expect("a file");
    large.set_len(16 * 1024 * 1024 + 1).expect("it grows");
    for number in 0..1_001 {
        folder.write(&format!("many/{number}.yaml"), "");
    }
    let table = [
        (
            "none.yaml",
            "none.yaml:1:1: there is no such file or folder; write its path, or make one with `ratekeeper init`",
        ),
        (
            "empty",
            "empty:1:1: there is no rule file in this folder; add one with a name that ends in \
             `.yaml`, `.yml` or `.json`",
        ),
        ("pipe.yaml", "pipe.yaml:1:1: this is not a regular file; name a file or a folder"),
        ("bytes.yaml", "bytes.yaml:2:8: this is not text in UTF-8; save the file as UTF-8"),
        (
            "large.yaml",
            "large.yaml:1:1: rule files are larger than 16 MiB; use fewer rules, with patterns and tiers",
        ),
        (
            "many",
            "many:1:1: there are more than 1000 rule files in this folder; put rules together into fewer files",
        ),
    ];
    for (name, text) in table {
        let (told, code) = said(&["validate", &folder.path(name)]);
        assert_eq!((folder.shown(&told), code), (format!("{text}\n"), 2));
    }
    // One less is read.
    std::fs::remove_file(folder.as_path().join("many/0.yaml")).expect("it is there");
    assert_eq!(said(&["validate", &folder.path("many")]).1, 0);
}

/// Goal: files that a config names for the store and for administrators are opened, too, each fault with its place.
/// Method: a password file, certificates and tokens that are missing or make no sense; each alone, then as they should
/// be; and `serve` says the same, although the store is away.
#[test]
fn files_that_a_config_names_are_opened() {
    let rest = "admin: {token_file: t}\nrules: [{id: a, limit: 5/minute}]\n";
    let store = |text: &str| format!("store: {{url: 'rediss://127.0.0.1:1/0', {text}}}\n{rest}");
    let folder = Folder::of(&[
        ("password.yaml", &store("password_file: none")),
        ("folder.yaml", &store("password_file: folder")),
        ("ca.yaml", &store("ca: secret")),
        (
            "both.yaml",
            &format!("store: {{url: 'redis://127.0.0.1:1', password_file: none}}\n{rest}"),
        ),
        (
            "fine.yaml",
            &format!("store: {{url: 'redis://127.0.0.1:1', password_file: secret}}\n{rest}"),
        ),
        ("folder/x", ""),
        ("secret", "open-sesame-4711\n"),
        ("t", "0000000000000000000000000000000a"),
    ]);
    let missing =
        "none:1:1: cannot be read: No such file or directory (os error 2); name a file that can\n";
    let table = [
        ("password.yaml", missing),
        (
            "folder.yaml",
            "folder:1:1: cannot be read: it is not a regular file; name a file that can\n",
        ),
        (
            "ca.yaml",
            "ca.yaml:1:1: store `rediss://127.0.0.1:1/0`: has no certificate to know the server by; \
             give the CA as PEM\n",
        ),
    ];
    for (name, text) in table {
        let path = folder.path(name);
        for args in [&["validate", &path][..], &["serve", "--config", &path]] {
            let (told, code) = said(args);
            assert_eq!((folder.shown(&told), code), (text.to_owned(), 2), "{args:?}");
        }
    }
    folder.write("t", "short");
    let (told, code) = said(&["validate", &folder.path("both.yaml")]);
    let short = "t:1:1: the token is shorter than 32 bytes; write a longer one, such as `openssl rand -hex 32` makes\n";
    assert_eq!((folder.shown(&told), code), (format!("{missing}{short}"), 2));
    folder.write("t", "0000000000000000000000000000000a");
    assert_eq!(said(&["validate", &folder.path("fine.yaml")]).1, 0);
}
