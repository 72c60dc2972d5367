//! `ratekeeper audit`: exit codes, text and JSON.

use crate::cli::said;
use crate::folder::Folder;
use serde_json::Value;

const RULES: &str = "nodes: 2\nrules: [{id: api, limit: 2/minute}]\n";

const KEPT: &str = "\
sent 3
1 a alice api 1 1 1000000 2000000 allow store - 1
2 a alice api 1 1 3000000 4000000 allow store - 0
3 b alice api 1 1 5000000 6000000 deny store 29000000000 0
";

fn run(files: &[(&str, &str)], more: &[&str]) -> (String, i32) {
    let folder = Folder::of(files);
    let (history, rules) = (folder.path("h.txt"), folder.path("r.yaml"));
    let other = folder.path("other.txt");
    let more: Vec<&str> =
        more.iter().map(|each| if *each == "OTHER" { &*other } else { each }).collect();
    let (text, code) = said(&[&["audit", &history, "--config", &rules], &more[..]].concat());
    (folder.shown(&text), code)
}

/// Goal: a history that kept its bounds ends with 0 and says what was judged.
/// Method: three operations, as text and as JSON.
#[test]
fn a_history_that_kept_its_bounds_ends_with_0() {
    let files = [("h.txt", KEPT), ("r.yaml", RULES)];
    let (text, code) = run(&files, &[]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.starts_with("h.txt: 3 operations, 1 key, 1 rule, 2 nodes in 5.000 ms\n"),
        "{text}"
    );
    assert!(text.contains("refusals     kept, 1 refusal\n"), "{text}");
    assert!(text.ends_with("\nevery bound was kept\n"), "{text}");
    let (text, code) = run(&files, &["--json"]);
    let json: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((&json["kept"], &json["operations"], code), (&true.into(), &3.into(), 0));
    assert_eq!((&json["sources"]["store"], &json["nodes_allowed_for"]), (&3.into(), &2.into()));
}

/// Goal: one that did not ends with 1, and says where, alike in both forms.
/// Method: an operation too many, of a key whose name would steer a terminal.
#[test]
fn a_history_that_broke_its_bounds_ends_with_1() {
    let too_many = KEPT.replace("deny store 29000000000 0", "allow store - 0");
    let too_many = too_many.replace("alice", "%1B[31malice");
    let files = [("h.txt", &*too_many), ("r.yaml", RULES)];
    let (text, code) = run(&files, &["--nodes", "3"]);
    assert_eq!(code, 1, "{text}");
    let finding = "envelope: rule api, key \u{fffd}[31malice\n  limit 2/minute, token_bucket\n  from 0.000 to \
                   5.000 ms\n  3 units admitted, 2 allowed, 1 too many\n  operations 1 to 3\n";
    assert!(text.contains(finding), "{text}");
    assert!(text.ends_with("\nnot every bound was kept\n"), "{text}");
    let (text, code) = run(&files, &["--json"]);
    let json: Value = serde_json::from_str(&text).expect("it is JSON");
    let found = &json["findings"][0];
    assert_eq!((&json["kept"], code), (&false.into(), 1));
    assert_eq!((&found["check"], &found["excess"]), (&"envelope".into(), &1.into()));
    assert_eq!((&found["from_ms"], &found["to_ms"]), (&0.0.into(), &5.0.into()));
    assert_eq!((&found["first"], &found["last"]), (&1.into(), &3.into()));
}

/// Goal: two histories can be compared.
/// Method: the same one, and one in which the key was refused earlier.
#[test]
fn histories_can_be_compared() {
    let other = KEPT.replace(
        "2 a alice api 1 1 3000000 4000000 allow",
        "2 a alice api 1 1 3000000 4000000 deny",
    );
    for (other, code) in [(KEPT, 0), (&*other, 1)] {
        let files = [("h.txt", KEPT), ("r.yaml", RULES), ("other.txt", other)];
        let (text, ended) = run(&files, &["--same-as", "OTHER"]);
        assert_eq!(ended, code, "{text}");
        assert_eq!(text.contains("allow of 1 here, deny of 1 there"), code == 1, "{text}");
    }
}

/// Goal: whatever is wrong with the input is told with its place and its repair, and ends with 2.
/// Method: no history, a broken line, an unknown rule, no rule file, a rule file that makes no sense.
#[test]
fn bad_input_ends_with_2() {
    let table = [
        (
            KEPT,
            "rules: [{id: web, limit: 2/minute}]\n",
            "rule `api` is not in r.yaml; name the rule",
        ),
        ("sent 3\nx\n", RULES, "h.txt:2: 1 fields; write `id node key"),
        (KEPT, "rules: 5\n", "r.yaml:1:8: "),
    ];
    for (history, rules, fault) in table {
        let (text, code) = run(&[("h.txt", history), ("r.yaml", rules)], &[]);
        assert!(code == 2 && text.contains(fault), "{text}");
    }
    let (text, code) = run(&[("r.yaml", RULES)], &[]);
    assert!(code == 2 && text.contains("h.txt: it cannot be read: "), "{text}");
    let (text, code) = said(&["audit", "h.txt"]);
    assert!(code == 2 && text.contains("write `--config PATH`"), "{text}");
}
