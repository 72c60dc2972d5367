//! Administration as the log tells it, and tokens that change while a server runs.
//!
//! Invariant: no line has a token, or a key as it is.

use crate::folder::Folder;
use crate::program::{Program, command, poll};
use crate::wire::{DEADLINE, Reply, send};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const FIRST: &str = "0000000000000000000000000000000a";
const SECOND: &str = "1111111111111111111111111111111a";

const RULES: &str = "listen: {api: '127.0.0.1:0'}\nadmin: {token_file: t}\n\
                     rules: [{id: api, key: user, limit: 5/minute}]";

const RESET: &str = "DELETE /v1/keys?rule=api&key=mallory";

fn folder(tokens: &str) -> Folder {
    let folder = Folder::of(&[("r.yaml", RULES), ("t", tokens)]);
    let only_mine = fs::Permissions::from_mode(0o600);
    fs::set_permissions(folder.path("t"), only_mine).expect("it is ours");
    folder
}

fn serve(folder: &Folder) -> Program {
    let mut serve = command();
    serve.args(["serve", "--config", &folder.path("r.yaml")]);
    Program::start(serve)
}

fn call(program: &Program, line: &str, token: &str, body: &str) -> Reply {
    let fields = format!("Host: a\r\nAuthorization: Bearer {token}\r\n");
    let kind = "Content-Type: application/json\r\n";
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\n{fields}{kind}Content-Length: {length}\r\n\r\n");
    send(program.address, &format!("{head}{body}"))
}

fn next(program: &Program) -> Value {
    let line = program.err.recv_timeout(DEADLINE).expect("a line comes");
    serde_json::from_str(&line).expect("the log is JSON")
}

/// The next line that says this.
fn said(program: &Program, message: &str) -> Value {
    loop {
        let line = next(program);
        if line["message"] == message {
            return line;
        }
    }
}

/// Waits until a token is answered with this status.
fn until(program: &Program, token: &str, status: u16) -> bool {
    let peek = "GET /v1/keys?rule=api&key=a";
    poll(|| (call(program, peek, token, "").status == status).then_some(())).is_some()
}

/// Goal: a token that is added counts, and one that is taken away does so no longer, without a restart; a bad file
/// changes nothing, and is told.
/// Method: rewrite the file, once with a signal and once without; then write nonsense, ask with a signal, and look at
/// the log.
#[test]
fn tokens_change_with_their_file() {
    let folder = folder(FIRST);
    let program = serve(&folder);
    assert!(until(&program, FIRST, 200) && until(&program, SECOND, 401));
    folder.write("t", SECOND);
    program.signal("HUP");
    assert!(until(&program, SECOND, 200) && until(&program, FIRST, 401));
    assert_eq!(next(&program)["message"], "the tokens of administrators have changed");
    folder.write("t", FIRST);
    assert!(until(&program, FIRST, 200) && until(&program, SECOND, 401));
    assert_eq!(next(&program)["message"], "the tokens of administrators have changed");
    folder.write("t", "short");
    program.signal("HUP");
    let told = next(&program);
    assert_eq!(told["message"], "the tokens of administrators are as they were");
    let fault = told["fault"].as_str().expect("it says why");
    assert!(fault.ends_with("makes") && fault.contains("t:1:1: the token is shorter"), "{fault}");
    assert!(until(&program, FIRST, 200));
}

/// Goal: a file of tokens that anyone can read is told at the start; one that only its owner can is not.
/// Method: both modes; the first line of what is said.
#[test]
fn a_token_file_that_anyone_can_read_is_told() {
    let folder = folder(FIRST);
    let quiet = serve(&folder);
    assert_eq!(call(&quiet, RESET, FIRST, "").status, 200);
    assert_eq!(next(&quiet)["message"], "administration", "nothing was said before");
    let everyone = fs::Permissions::from_mode(0o644);
    fs::set_permissions(folder.path("t"), everyone).expect("it is ours");
    let told = serve(&folder).err.recv_timeout(DEADLINE).expect("it warns");
    let path = folder.path("t");
    let text = "anyone on this machine can read the tokens there; `chmod 600` it";
    assert_eq!(told, format!("warning: {path}: {text}"));
}

/// Goal: the line of a change says which rule and which key, as a hash: the one that refusals have.
/// Method: a key is reset, given limits of its own and refused; a rule is switched; the lines are compared.
#[test]
fn changes_are_told_with_rule_and_hashed_key() {
    let folder = folder(FIRST);
    let program = serve(&folder);
    let about = |line: &str, body: &str| {
        assert_eq!(call(&program, line, FIRST, body).status, 200, "{line}");
        let told = said(&program, "administration");
        assert_eq!(told["role"], "write");
        (told["rule"].clone(), told["key"].clone())
    };
    let reset = about(RESET, "");
    let own = r#"{"rule":"api","key":"mallory","limit":"1/day"}"#;
    let over = about("PUT /v1/overrides", own);
    let one = r#"{"rule":"api","key":"mallory"}"#;
    for _ in 0..2 {
        assert_eq!(call(&program, "POST /v1/check", FIRST, one).status, 200);
    }
    let refused = said(&program, "refused");
    let expected = (Value::from("api"), refused["key"].clone());
    assert!(expected.1.as_str().is_some_and(|hash| hash.len() == 16), "{refused}");
    assert_eq!((reset, over), (expected.clone(), expected));
    let (rule, key) = about("PUT /v1/switches/api", r#"{"rollout":"shadow"}"#);
    assert_eq!((rule, key), ("api".into(), Value::Null));
}

/// Goal: who has no token cannot fill the log.
/// Method: many attempts; fewer lines than a second's samples for each second that they took, and every attempt is
/// a line or counted in one.
#[test]
fn attempts_of_strangers_are_told_in_samples() {
    let folder = folder(FIRST);
    let mut program = serve(&folder);
    let tries: u64 = 200;
    for _ in 0..tries {
        assert!([401, 429].contains(&call(&program, RESET, SECOND, "").status));
    }
    // The next second's first line has the rest.
    let mut told = Vec::new();
    let all = poll(|| {
        call(&program, RESET, SECOND, "");
        told.extend(program.err.try_iter());
        let rest = told.last().is_some_and(|line| !line.contains(r#""left_out":0"#));
        rest.then_some(())
    });
    assert!(all.is_some(), "what was left out is told");
    let lines: Vec<Value> =
        told.iter().map(|line| serde_json::from_str(line).expect("the log is JSON")).collect();
    assert!(lines.iter().all(|line| line["role"] == "nobody" && line["rule"].is_null()));
    let left_out: u64 = lines.iter().filter_map(|line| line["left_out"].as_u64()).sum();
    assert!(lines.len() < 100, "{} lines", lines.len());
    assert!(lines.len() as u64 + left_out >= tries, "{} and {left_out}", lines.len());
    program.signal("INT");
    assert!(program.ended().is_some());
}
