//! The command line: sentences, exit codes and help.

use crate::golden::assert_golden;
use crate::program::{self, output};
use crate::server::Holds;
use crate::server::Server;
use ratekeeper::Limiter;
use ratekeeper_server::serve::Bounds;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

/// What the program said, and how it ended.
pub(crate) fn said(args: &[&str]) -> (String, i32) {
    let output = output(args);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("it speaks UTF-8");
    (text, output.status.code().expect("it ends by itself"))
}

/// Goal: a decision is a sentence and an exit code.
/// Method: a table of calls on one server whose clock stands still.
#[test]
fn a_decision_is_a_sentence_and_an_exit_code() {
    let server = Server::start();
    let url = server.url();
    let ask = |args: &[&str]| said(&[&["check", "--url", &url], args].concat());
    let table: [(&[&str], &str, i32); 9] = [
        (&["token-bucket", "alice"], "allowed by token-bucket, 9 of 10 left\n", 0),
        (&["token-bucket", "alice", "--cost", "9"], "allowed by token-bucket, 0 of 10 left\n", 0),
        (&["token-bucket", "alice"], "refused by token-bucket, retry in 1.0 s\n", 1),
        (&["token-bucket", "alice", "--peek"], "peeked at token-bucket, 0 of 10 left\n", 0),
        (&["token-bucket", "alice", "--cost", "0"], "peeked at token-bucket, 0 of 10 left\n", 0),
        (
            &["token-bucket", "bob", "--cost", "11"],
            "refused by token-bucket: a cost of 11 is above its limit of 10, retrying is no use\n",
            1,
        ),
        (&["fixed-window", "alice", "/exports"], "allowed by fixed-window, 9 of 10 left\n", 0),
        (&["fixed-window", "alice/exports"], "allowed by fixed-window, 9 of 10 left\n", 0),
        (&["fixed-window", "--", "-alice"], "allowed by fixed-window, 9 of 10 left\n", 0),
    ];
    for (args, sentence, code) in table {
        assert_eq!(ask(args), (sentence.to_owned(), code), "{args:?}");
    }
    server.clock.advance(Duration::from_millis(950));
    assert_eq!(ask(&["token-bucket", "alice"]).0, "refused by token-bucket, retry in 50 ms\n");
}

/// Goal: a turn that is to come, and a permit, are parts of the sentence.
/// Method: a table of calls under a shaping and a concurrency rule, whose clock stands still.
#[test]
fn a_delay_and_a_permit_are_told_in_the_sentence() {
    let server = Server::more(Holds::default());
    let url = server.url();
    let ask = |args: &[&str]| said(&[&["check", "--url", &url], args].concat());
    let shaping = "leaky-bucket-shaping";
    let table: [(&[&str], &str, i32); 8] = [
        (&[shaping, "alice"], "allowed by leaky-bucket-shaping, 9 of 10 left\n", 0),
        (&[shaping, "a", "--cost", "3"], "allowed by leaky-bucket-shaping, 7 of 10 left\n", 0),
        (&[shaping, "a"], "allowed by leaky-bucket-shaping after 3.0 s, 6 of 10 left\n", 0),
        (&[shaping, "a", "--peek"], "peeked at leaky-bucket-shaping, 6 of 10 left\n", 0),
        (&[shaping, "a", "--cost", "7"], "refused by leaky-bucket-shaping, retry in 1.0 s\n", 1),
        (
            &["exports", "a", "--cost", "5"],
            "refused by exports: a cost of 5 is above its limit of 4, retrying is no use\n",
            1,
        ),
        (&["exports", "a", "--peek"], "peeked at exports, 4 of 4 left\n", 0),
        (&["fixed-window", "a"], "allowed by fixed-window, 9 of 10 left\n", 0),
    ];
    for (args, sentence, code) in table {
        assert_eq!(ask(args), (sentence.to_owned(), code), "{args:?}");
    }
    let (text, code) = ask(&["exports", "a", "--cost", "3"]);
    let permit = text.strip_prefix("allowed by exports, 1 of 4 left, permit ").map(str::trim_end);
    let body = format!(r#"{{"permit":"{}"}}"#, permit.expect("the sentence ends with the permit"));
    assert_eq!(code, 0);
    assert_eq!(
        ask(&["exports", "a", "--cost", "2"]),
        ("refused by exports, only 1 of 4 left\n".into(), 1)
    );
    assert_eq!(ask(&["exports", "a"]).1, 0);
    assert_eq!(ask(&["exports", "a"]), ("refused by exports, all 4 are taken\n".into(), 1));
    assert_eq!(
        crate::wire::post(server.address, "/v1/release", &body).body,
        r#"{"released":true}"#
    );
    assert_eq!(ask(&["exports", "a", "--peek"]).0, "peeked at exports, 3 of 4 left\n");

    server.clock.advance(Duration::from_millis(2_950));
    let soon = "allowed by leaky-bucket-shaping after 1.1 s, 7 of 10 left\n";
    assert_eq!(ask(&[shaping, "a"]).0, soon, "a wait of 1.05 s is rounded up");
}

/// Goal: a refusal for want of room for permits does not say that they are taken.
/// Method: a server that keeps one key keeps one permit; ask for a second.
#[test]
fn a_server_that_can_keep_no_more_permits_says_so() {
    let builder = Limiter::memory().keys(1).rule("exports", "4 concurrent").expect("a rule");
    let server = Server::of(builder, Holds::default(), Bounds::default());
    let ask = || said(&["check", "--url", &server.url(), "exports", "alice"]);
    assert_eq!(ask().1, 0);
    assert_eq!(ask(), ("refused by exports, the server cannot keep more permits\n".into(), 1));
}

/// Goal: `--json` prints the server's answer as it is, with the same exit codes.
/// Method: compare with the answer to the same question on the wire.
#[test]
fn json_is_the_servers_own_answer() {
    let server = Server::start();
    let wire =
        crate::wire::check(server.address, r#"{"rule":"token-bucket","key":"alice","cost":0}"#);
    let (text, code) =
        said(&["check", "token-bucket", "alice", "--peek", "--json", "--url", &server.url()]);
    assert_eq!((text, code), (format!("{}\n", wire.body), 0));
    let drained =
        ["check", "token-bucket", "alice", "--cost", "11", "--json", "--url", &server.url()];
    assert_eq!(said(&drained).1, 1);
}

/// Goal: the server is also found by `RATEKEEPER_URL`, a URL may end in a slash, and a flag wins.
/// Method: set the variable, then a wrong one beside the flag.
#[test]
fn the_url_comes_from_the_flag_or_the_environment() {
    let server = Server::start();
    let url = format!("{}/", server.url());
    let ask = |variable: &str, args: &[&str]| {
        let mut command = program::command();
        command.args(["check", "token-bucket", "alice"]).args(args).env("RATEKEEPER_URL", variable);
        command.output().expect("the program runs").status.code()
    };
    assert_eq!(ask(&url, &[]), Some(0));
    assert_eq!(ask("nonsense", &["--url", &url]), Some(0));
    assert_eq!(ask("nonsense", &[]), Some(2));
}

/// Goal: what the server does not take is shown with its detail, exit code 2.
/// Method: an unknown rule and an empty key.
#[test]
fn a_bad_call_shows_the_servers_detail() {
    let server = Server::start();
    let url = server.url();
    let rules = "fixed-window, sliding-window-log, sliding-window-counter, token-bucket, \
                 leaky-bucket, leaky-bucket-shaping";
    let unknown = format!(
        "error: {url} did not take the call (404): `rule` is unknown: no rule is named `nope`; the rules are {rules}\n"
    );
    assert_eq!(said(&["check", "nope", "alice", "--url", &url]), (unknown, 2));
    let empty =
        format!("error: {url} did not take the call (400): `key` is empty; send who is counted\n");
    assert_eq!(said(&["check", "token-bucket", "", "--url", &url]), (empty, 2));
}

/// Goal: without a server the error says how to start one.
/// Method: ask a port that no program takes.
#[test]
fn a_server_that_is_not_there_is_told_with_its_repair() {
    let (text, code) = said(&["check", "token-bucket", "alice", "--url", "http://127.0.0.1:1"]);
    assert!(text.starts_with("error: no server answers at http://127.0.0.1:1 (Conn"), "{text}");
    let repair = "; start one with `ratekeeper serve`, or name another with `--url`\n";
    assert!(text.ends_with(repair), "{text}");
    assert_eq!(code, 2);
}

/// Goal: something else on the port is recognised, and cannot steer the terminal.
/// Method: a stranger that answers each call with the next of several texts.
#[test]
fn a_stranger_on_the_port_is_recognised() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("a listener has an address"));
    let not_ours =
        format!("error: what answers at {url} is not a ratekeeper server; correct `--url`\n");
    let steered = format!("error: {url} did not take the call (400): \u{fffd}[2J\n");
    let table = [
        ("200 OK", "<html>", &*not_ours),
        ("200 OK", "{}", &not_ours),
        ("404 Not Found", "no", &not_ours),
        ("400 Bad Request", r#"{"detail":"\u001b[2J"}"#, &steered),
    ];
    let replies = table.map(|(status, body, _)| {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    });
    let stranger = std::thread::spawn(move || {
        for reply in replies {
            let (mut stream, _) = listener.accept().expect("a call comes");
            stream.set_read_timeout(Some(crate::wire::DEADLINE)).expect("a timeout can be set");
            let _ = stream.read(&mut [0; 4096]).expect("a call is sent");
            stream.write_all(reply.as_bytes()).expect("the answer is taken");
        }
    });
    for (status, body, text) in table {
        let answer = said(&["check", "token-bucket", "alice", "--url", &url]);
        assert_eq!(answer, (text.to_owned(), 2), "{status} {body}");
    }
    stranger.join().expect("each call came");
}

/// Goal: a URL that cannot be asked is told with its fault, and a password in it is not shown.
/// Method: a table.
#[test]
fn a_url_that_cannot_be_asked_is_told_with_its_fault() {
    let table = [
        ("", "is not a URL"),
        ("127.0.0.1:8080", "does not begin with http://"),
        ("ftp://127.0.0.1", "does not begin with http://"),
        ("https://127.0.0.1", "is an https URL, which this version does not support"),
        (
            "http://me:s3cret@127.0.0.1",
            "holds a user name or password, which no server here asks for",
        ),
        ("http://127.0.0.1:99999", "has no valid port"),
        ("http://127.0.0.1:8080?x=1", "is more or less than the address of a server"),
    ];
    for (url, fault) in table {
        let text = format!(
            "error: `--url` or `RATEKEEPER_URL` {fault}; write `--url http://127.0.0.1:8080`, or the like\n"
        );
        assert_eq!(said(&["check", "token-bucket", "alice", "--url", url]), (text, 2), "{url}");
    }
}

/// Goal: the tier is asked for, and an unknown one has the limits of the first.
/// Method: a rule with limits by tier.
#[test]
fn a_check_is_by_the_limits_of_its_tier() {
    let server = Server::by(
        "{tiers: [free, pro], rules: [{id: api, key: user, limit: {free: 5/minute, pro: 9/minute}}]}",
    );
    let url = server.url();
    let ask = |key: &str, flags: &[&str]| {
        said(&[&["check", "api", key, "--url", &url], flags].concat()).0
    };
    assert_eq!(ask("a", &[]), "allowed by api, 4 of 5 left\n");
    assert_eq!(ask("b", &["--tier", "pro"]), "allowed by api, 8 of 9 left\n");
    assert_eq!(ask("c", &["--tier", "none"]), "allowed by api, 4 of 5 left\n");
}

/// Goal: a cost that is no cost is refused before anything is asked.
/// Method: a table of costs; the server is not there.
#[test]
fn a_cost_that_is_none_is_told_the_range() {
    for cost in ["-1", "1.5", "4294967297", "many", ""] {
        let (text, code) = said(&["check", "token-bucket", "alice", "--cost", cost]);
        assert!(text.contains("write a whole number from 0 to 4294967296"), "{cost}: {text}");
        assert_eq!(code, 2, "{cost}");
    }
}

/// Goal: the help is what the golden files say; each flag is in it once.
/// Method: compare the help of the program and of each command.
#[test]
fn help_is_what_the_golden_files_say() {
    let table: [(&[&str], &str); 8] = [
        (&["--help"], "help.txt"),
        (&["serve", "--help"], "help-serve.txt"),
        (&["check", "--help"], "help-check.txt"),
        (&["init", "--help"], "help-init.txt"),
        (&["validate", "--help"], "help-validate.txt"),
        (&["explain", "--help"], "help-explain.txt"),
        (&["api-key", "new", "--help"], "help-api-key.txt"),
        (&["audit", "--help"], "help-audit.txt"),
    ];
    for (args, golden) in table {
        let (text, code) = said(args);
        assert_eq!(code, 0, "{args:?}");
        assert_golden(golden, &text);
    }
    assert_eq!(said(&["--version"]), (format!("ratekeeper {}\n", env!("CARGO_PKG_VERSION")), 0));
    assert_eq!(said(&[]).1, 2, "no command is an error");
}
