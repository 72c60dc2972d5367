//! `ratekeeper api-key new`, and a rule file that knows what it made.

use crate::folder::Folder;
use crate::program::output;
use serde_json::Value;

fn made(args: &[&str]) -> String {
    let output = output(&[&["api-key", "new"], args].concat());
    assert!(output.status.success() && output.stderr.is_empty());
    String::from_utf8(output.stdout).expect("it is text")
}

/// Goal: a rule file that takes the printed entry knows who brings the printed key.
/// Method: names that need quotes; the key explained by a file with the entry, and another key.
#[test]
fn the_entry_knows_the_key() {
    let text = made(&["--owner", "a: \"b\" #c", "--tier", "pro", "--id", "k'1"]);
    let key = text.lines().next().expect("the key is first");
    let entry = text.lines().last().expect("the entry is last");
    assert!(key.starts_with("rk_") && key.len() == 51, "{key}");
    assert!(!entry.contains(key));
    let rules = "tiers: [free, pro]\nidentity: {api_key: {header: X-Api-Key, keys: keys/k.yaml}}\n\
                 rules: [{id: api, key: user, limit: 5/minute}]";
    let folder = Folder::of(&[("rules.yaml", rules), ("keys/k.yaml", entry)]);
    let explain = |key: &str| -> Value {
        let header = format!("X-Api-Key: {key}");
        let path = folder.path("rules.yaml");
        let args = ["explain", "GET", "/", "-H", &header, "--config", &path, "--json"];
        serde_json::from_slice(&output(&args).stdout).expect("it is JSON")
    };
    let known = explain(key);
    assert_eq!((&known["user"], &known["tier"]), (&"a: \"b\" #c".into(), &"pro".into()));
    assert!(explain(&key.replace("rk_", "rk-"))["user"].is_null());
}

/// Goal: every key is another, and the same is told in JSON.
/// Method: two of them; one checked against the hash of its own.
#[test]
fn every_key_is_another() {
    let two: [Value; 2] =
        [(); 2].map(|()| serde_json::from_str(&made(&["--owner", "a", "--json"])).expect("JSON"));
    assert_ne!(two[0]["key"], two[1]["key"]);
    assert_ne!(two[0]["entry"]["id"], two[1]["entry"]["id"]);
    let key = two[0]["key"].as_str().expect("it is text");
    let hash = ratekeeper::identity::ApiKey::hash_of(key.as_bytes());
    let entry = two[0]["entry"]["hash"].as_str().expect("it is text");
    assert_eq!(ratekeeper::identity::ApiKey::parse_hash(entry).expect("a hash"), hash);
}
