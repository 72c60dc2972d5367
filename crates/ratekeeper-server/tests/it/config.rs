//! `ratekeeper serve --config`: the rules of a file, or a folder of files, as a process serves them.

use crate::folder::Folder;
use crate::golden::assert_golden;
use crate::program::{self, Program, output};
use crate::wire::check;
use std::net::TcpListener;
use std::process::Command;

const RULES: &str = "
tiers: [free, pro, enterprise]
memory: {keys: 5000}
rules:
  - id: api
    match: {methods: [POST], host: '*.example.com', path: '/api/*/it''s/**', headers: {X-Kind: \"a'b\"}}
    key: {first: [user, api_key, ip]}
    limit: {free: [60/minute, 5000/day], pro: 600/minute burst 100, enterprise: unlimited}
    rollout: 10%
  - {id: login, match: {path: /login}, key: ip, limit: 20/minute, algorithm: sliding_window_log}
  - {id: partner, key: [user, route], limit: 10/second, algorithm: leaky_bucket, mode: shaping}
  - {id: shadow, key: 'header:X-Org', limit: 4 concurrent, rollout: shadow}
  - {id: 'off', key: global, limit: 5/second, rollout: 'off', scope: instance}
  - {id: closed, match: {path: /closed}, deny: true}
";

/// Starts a server by a config, on a free port.
fn serve(path: &str) -> Program {
    let mut command = program::command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--config", path]);
    Program::start(command)
}

/// Goal: the banner says which rules hold, in lines that can be read.
/// Method: the golden file.
#[test]
fn the_banner_shows_the_rules_of_the_file() {
    let folder = Folder::of(&[("rules.yaml", RULES)]);
    let server = serve(&folder.path("rules.yaml"));
    let banner = server.banner.join("\n").replace(&server.address.to_string(), "127.0.0.1:PORT");
    assert_golden("banner-config.txt", &format!("{}\n", folder.shown(&banner)));
}

/// Goal: the line to try works as it is printed, and the rule that it is for answers.
/// Method: run it in a shell, for a rule that a request is made for, and for one that needs a key.
#[test]
fn the_line_to_try_works_as_it_is_printed() {
    let keyed = "rules: [{id: pair, key: [user, ip], limit: 5/minute, when: \"user == 'zoe'\"}]";
    for (rules, rule) in [(RULES, "api"), (keyed, "pair")] {
        let folder = Folder::of(&[("rules.yaml", rules)]);
        let server = serve(&folder.path("rules.yaml"));
        let lines = server.banner.iter().map(|line| line.trim());
        for line in
            lines.filter(|line| line.starts_with("curl ") || line.starts_with("ratekeeper check"))
        {
            let line =
                line.replacen("ratekeeper", program::PATH, usize::from(!line.starts_with("curl")));
            let answer = Command::new("sh").args(["-c", &line]).output().expect("a shell runs");
            let text = String::from_utf8_lossy(&answer.stdout).into_owned();
            assert!(answer.status.success(), "{line}: {text}");
            assert!(text.contains(rule) && !text.contains("detail"), "{line}: {text}");
        }
    }
}

/// Goal: of many rules twenty are shown, and the others counted.
/// Method: 20, 21 and 50 rules.
#[test]
fn the_banner_shows_twenty_rules_at_most() {
    for (count, more) in [(20, None), (21, Some("and 1 more")), (50, Some("and 30 more"))] {
        let rules: Vec<String> =
            (0..count).map(|number| format!("{{id: r{number}, limit: 9/second}}")).collect();
        let folder = Folder::of(&[("rules.yaml", &format!("rules: [{}]", rules.join(", ")))]);
        let server = serve(&folder.path("rules.yaml"));
        let shown = server.banner.iter().filter(|line| line.contains("9/second")).count();
        assert_eq!(shown, 20);
        let said =
            server.banner.iter().map(|line| line.trim()).find(|line| line.ends_with(" more"));
        assert_eq!(said, more);
    }
}

/// Goal: the file says where to listen and where the state is, and flags and environment say otherwise.
/// Method: a port of the file's own; then flags that win over a store that is not there.
#[test]
fn the_file_says_where_and_flags_say_otherwise() {
    let holder = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = holder.local_addr().expect("a listener has an address").to_string();
    drop(holder);
    let text = format!("{{listen: {{api: '{address}'}}, memory: {{keys: 77}}, rules: []}}");
    let folder = Folder::of(&[
        ("here.yaml", &text),
        ("far.yaml", "{store: {url: 'redis://127.0.0.1:1', password_file: none}, rules: []}"),
    ]);
    let mut command = program::command();
    command.arg("serve").env("RATEKEEPER_CONFIG", folder.path("here.yaml"));
    let server = Program::start(command);
    assert_eq!(server.address.to_string(), address);
    assert!(server.banner.contains(&"store         memory, 77 keys at most".to_owned()));
    assert!(server.banner.contains(&"rules         none, so that every request passes".to_owned()));

    let far = folder.path("far.yaml");
    let failed = output(&["serve", "--config", &far, "--listen", "127.0.0.1:0"]);
    let error = folder.shown(&String::from_utf8_lossy(&failed.stderr));
    assert!(error.starts_with("none:1:1: cannot be read: "), "the password file: {error}");
    assert_eq!((failed.status.code(), failed.stdout.len()), (Some(2), 0));

    let mut command = program::command();
    command.args(["serve", "--config", &far, "--store", "memory", "--listen", "127.0.0.1:0"]);
    let server = Program::start(command);
    assert!(server.banner.contains(&"store         memory, 1000000 keys at most".to_owned()));
}

/// Goal: the store of the file is used, with what is said about it; while it is away, rules decide.
/// Method: a store that is not there; a rule that admits then, and one that refuses.
#[test]
fn the_store_of_the_file_is_used() {
    let rules = "
store: {url: 'redis://user@127.0.0.1:1/3', password_file: secret/store, prefix: it, deadline: 20ms}
nodes: 2
rules:
  - {id: open, match: {path: /open}, limit: 5/minute}
  - {id: shut, match: {path: /shut}, limit: 5/minute, on_store_failure: deny}
  - {id: here, match: {path: /here}, limit: 10/minute, on_store_failure: local}
";
    let folder = Folder::of(&[("rules.yaml", rules), ("secret/store", "s3cret\n")]);
    let server = serve(&folder.path("rules.yaml"));
    let store = "store         redis://user:***@127.0.0.1:1/3, shared by all servers that use it";
    assert!(server.banner.contains(&store.to_owned()), "{:?}", server.banner);
    let warning = server.err.recv_timeout(crate::wire::DEADLINE).expect("a warning");
    assert!(warning.contains("each rule does what its `on_store_failure` says"), "{warning}");
    for (path, source, limit) in [
        ("/open", "failed_open", None),
        ("/shut", "failed_closed", None),
        ("/here", "local", Some(5)),
    ] {
        let body = format!(r#"{{"request":{{"method":"GET","path":"{path}","ip":"192.0.2.1"}}}}"#);
        let answer = check(server.address, &body).json();
        assert_eq!(answer["source"], source, "{path}");
        assert_eq!(answer["limit"].as_u64(), limit, "{path}: the share of one of two nodes");
    }
}

/// Goal: rules from Redis without Redis are told before the server listens.
/// Method: a file that wants them with the store in memory.
#[test]
fn rules_from_redis_need_a_shared_store() {
    let folder = Folder::of(&[("rules.yaml", "rules_from: redis\nrules: []\n")]);
    let args = ["serve", "--listen", "127.0.0.1:0", "--config", &folder.path("rules.yaml")];
    let told = output(&args);
    let text = "error: `rules_from: redis` needs a `store` that is shared; write the URL of one, or \
                leave out `rules_from`\n";
    assert_eq!((told.status.code(), &*String::from_utf8_lossy(&told.stderr)), (Some(2), text));
}

/// Goal: a folder is one set of files in order of name; hidden files, other files and folders in it are
/// not read as rules.
/// Method: three files in three forms beside what must not be read; the order is in the banner.
#[test]
fn a_folder_is_one_set_of_files_in_order_of_name() {
    let folder = Folder::of(&[
        ("20-b.yml", "rules: [{id: second, limit: 5/minute}]"),
        ("10-a.yaml", "{tiers: [free], rules: [{id: first, limit: 5/minute}]}"),
        ("30-c.json", r#"{"rules": [{"id": "third", "limit": "5/minute"}]}"#),
        (".hidden.yaml", "{"),
        ("README.md", "{"),
        ("secrets/keys.yaml", "{"),
    ]);
    let server = serve(&folder.path(""));
    let rules = server.banner.iter().filter(|line| line.contains("5/minute"));
    let ids: Vec<_> = rules.map(|line| line[14..].split(' ').next().unwrap_or_default()).collect();
    assert_eq!(ids, ["first", "second", "third"]);
}

/// Goal: a bad config starts nothing: exit code 2, every fault on a line with its place, and no banner.
/// Method: a file with three faults, in a folder beside one with another; the port stays free.
#[test]
fn a_bad_file_starts_nothing_and_every_fault_is_told() {
    let holder = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = holder.local_addr().expect("a listener has an address").to_string();
    let bad = "rules:\n  - {id: api, limit: 0/minute}\n  - {id: api, limmit: 5/minute}\n";
    let folder = Folder::of(&[("a.yaml", bad), ("b.yaml", "tiers: [\"\\e[2J\"]\n")]);
    // The port is taken: a server that came to listen would say so instead.
    let output = output(&["serve", "--config", &folder.path(""), "--listen", &address]);
    let error = folder.shown(&String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{error}");
    let lines: Vec<_> = error.lines().collect();
    assert!(lines.len() >= 2, "{error}");
    for line in lines {
        let mut parts = line.splitn(4, ':');
        let file = parts.next().unwrap_or_default();
        assert!(["a.yaml", "b.yaml"].contains(&file), "{line}");
        let place: Vec<u32> = parts.by_ref().take(2).filter_map(|part| part.parse().ok()).collect();
        assert_eq!(place.len(), 2, "{line}");
        assert!(parts.next().is_some_and(|text| text.contains("; ")), "{line} has a repair");
        assert!(!line.contains('\u{1b}'), "nothing steers the terminal");
    }
}
