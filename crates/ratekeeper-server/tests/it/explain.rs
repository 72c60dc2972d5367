//! `ratekeeper explain`: why a request is decided as it is, by a rule file alone.

use crate::cli::said;
use crate::folder::Folder;
use crate::golden::assert_golden;
use crate::program;
use serde_json::Value;
use std::fmt::Write;

const RULES: &str = "
store: redis://127.0.0.1:1
identity: {trusted_proxies: [10.0.0.0/8]}
tiers: [free, pro]
exempt: [{path: /healthz}]
rules:
  - id: api
    match: {path: '/api/**', except: [/api/status]}
    key: {first: [user, ip]}
    limit: {free: [60/minute, 5000/day], pro: 600/minute burst 100}
  - id: writes
    match: {methods: [POST], host: '*.example.com'}
    key: [ip, route]
    limit: 5/second
    algorithm: leaky_bucket
    mode: shaping
  - {id: watched, match: {headers: {X-Kind: a}}, key: global, limit: 4 concurrent, rollout: shadow}
  - {id: closed, match: {path: /closed}, deny: true}
  - {id: tokens, match: {path: /chat}, key: ip, limit: 100/minute, cost: {header: X-Tokens, max: 50}}
  - {id: pros, match: {tier: pro}, key: tier, limit: unlimited}
  - {id: rest, key: ip, limit: 5/second, rollout: 'off'}
";

/// Goal: the explanation tells path, address, user, tier, and each rule with its reason, in lines.
/// Method: a table of requests against the golden file. The store that the file names is not asked.
#[test]
fn a_request_is_explained_in_lines() {
    let folder = Folder::of(&[("rules.yaml", RULES)]);
    let config = folder.path("rules.yaml");
    let table: [&[&str]; 6] = [
        &["GET", "/API//users/?x=1"],
        &["POST", "/api/status", "--user", "alice", "--tier", "pro", "--host", "a.example.com"],
        &["GET", "/closed", "-H", "X-Kind: a", "--ip", "2001:db8::1"],
        &[
            "GET",
            "/chat",
            "-H",
            "X-Tokens: 30",
            "-H",
            "X-Forwarded-For: 192.0.2.9",
            "--ip",
            "10.0.0.1",
        ],
        &["GET", "/healthz"],
        &["post", "/", "-H", "Host: b.example.com", "--user", "\u{1b}[2J"],
    ];
    let mut text = String::new();
    for args in table {
        let (told, code) = said(&[&["explain", "--config", &config], args].concat());
        assert_eq!(code, 0, "{told}");
        writeln!(text, "$ explain {}\n{told}", args.join(" ").escape_debug()).expect("memory");
    }
    assert_golden("explain.txt", &text);
}

/// Goal: the same in JSON.
/// Method: the whole text of one explanation with a rule that applies, and one that does not.
#[test]
fn a_request_is_explained_in_json() {
    let folder = Folder::of(&[(
        "rules.yaml",
        "rules: [{id: api, match: {path: '/api/*'}, key: ip, limit: 5/minute},
                 {id: b, match: {methods: [PUT]}, deny: true}]",
    )]);
    let config = folder.path("rules.yaml");
    let (told, code) = said(&["explain", "GET", "/api/x", "--config", &config, "--json"]);
    assert_eq!(
        told,
        concat!(
            r#"{"version":1,"path":"/api/x","address":"192.0.2.7","user":null,"tier":null,"#,
            r#""exempt":false,"rules":[{"rule":"api","applies":true,"why_not":null,"#,
            r#""mode":"enforced","route":"/api/*","key":[{"part":"ip","value":"192.0.2.7"}],"#,
            r#""limits":["5/minute"],"algorithm":"token_bucket","cost":1,"limit":5,"remaining":5},"#,
            r#"{"rule":"b","applies":false,"why_not":"the method is another","mode":null,"#,
            r#""route":null,"key":[],"limits":[],"algorithm":null,"cost":null,"limit":null,"#,
            r#""remaining":null}]}"#,
            "\n"
        )
    );
    assert_eq!(code, 0);
}

/// Goal: a request that no rule can be asked about is told, exit code 1; a bad call is exit code 2.
/// Method: a table of both, in lines and in JSON.
#[test]
fn a_rejected_request_and_a_bad_call_are_told_apart() {
    let folder = Folder::of(&[("rules.yaml", RULES)]);
    let config = folder.path("rules.yaml");
    let table: [(&[&str], &str, i32); 6] = [
        (
            &["GET", "/%zz"],
            "this request would be answered with 400: the path cannot be matched: ",
            1,
        ),
        (
            &["GET", "/chat", "-H", "X-Tokens: 0"],
            "this request would be answered with 400: the header field `x-tokens` is not a cost; ",
            1,
        ),
        (
            &["GET", "/", "-H", "nonsense"],
            "error: `-H nonsense` is not a header field; write `-H 'Name: value'`",
            2,
        ),
        (&["GET", "/", "-H", ": x"], "error: `-H : x` is not a header field; ", 2),
        (&["GET", "/", "-H", "A: x\ny"], "error: `-H A: x\u{fffd}y` is not a header field; ", 2),
        (
            &["GET", "/", "--ip", "localhost"],
            "error: invalid value 'localhost' for '--ip <ADDR>': ",
            2,
        ),
    ];
    for (args, text, code) in table {
        let (told, ended) = said(&[&["explain", "--config", &config], args].concat());
        assert!(told.starts_with(text), "{args:?}: {told}");
        assert_eq!(ended, code, "{args:?}");
    }
    let (told, code) = said(&["explain", "GET", "/%zz", "--config", &config, "--json"]);
    let told: Value = serde_json::from_str(&told).expect("it is JSON");
    assert_eq!((&told["status"], code), (&400.into(), 1));
}

/// Goal: the file is named by the flag or the environment; without either the error says so.
/// Method: each of the three.
#[test]
fn the_file_comes_from_the_flag_or_the_environment() {
    let (told, code) = said(&["explain", "GET", "/"]);
    assert_eq!(
        (&*told, code),
        ("error: no rule file is named; write `--config PATH`, or set `RATEKEEPER_CONFIG`\n", 2)
    );
    let folder = Folder::of(&[("rules.yaml", "rules: []"), ("bad.yaml", "rules: 1")]);
    let explain = |variable: &str, args: &[&str]| {
        let mut command = program::command();
        command.args(["explain", "GET", "/"]).args(args);
        command.env("RATEKEEPER_CONFIG", folder.path(variable));
        command.output().expect("the program runs").status.code()
    };
    assert_eq!(explain("rules.yaml", &[]), Some(0));
    assert_eq!(explain("bad.yaml", &[]), Some(2));
    assert_eq!(explain("bad.yaml", &["--config", &folder.path("rules.yaml")]), Some(0));
}
