//! `ratekeeper rules` and `ratekeeper switch`.
//!
//! Invariant: exit codes say what is said; the token is sent and never shown.

use crate::folder::Folder;
use crate::golden::assert_golden;
use crate::live::daily;
use crate::program::{command, output};
use crate::server::Server;
use std::io::{Read, Write};
use std::net::TcpListener;

fn run(server: &Server, args: &[&str]) -> (Option<i32>, String, String) {
    let output = output(&[args, &["--url", &server.url()]].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it speaks UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Goal: rules are applied, shown, compared, listed and brought back from the command line.
/// Method: each command against a server, with its words and its exit code.
#[test]
fn rules_are_handled_from_the_command_line() {
    let server = Server::start();
    let folder = Folder::of(&[
        ("r.yaml", &daily(10)),
        ("bad.yaml", "rules:\n  - {id: api, limit: 0/day}\n"),
        ("many/a.yaml", &daily(11)),
        ("many/b.yaml", "rules: [{id: b, key: ip, limit: 1/day}]"),
    ]);
    let [file, bad, many] = ["r.yaml", "bad.yaml", "many"].map(|name| folder.path(name));
    let done = |args: &[&str], code: i32, words: &str| {
        let (exit, out, err) = run(&server, args);
        assert_eq!((exit, &*out, &*err), (Some(code), words, ""), "{args:?}");
    };
    done(&["rules", "apply", &file], 0, "release 2 decides, with 1 rule\n");
    done(&["rules", "show"], 0, &daily(10));
    done(&["rules", "diff", &file], 0, "the same rules as release 2\n");
    let diff = "+ b  {\"key\":\"ip\",\"limit\":\"1/day\"}\n~ api.limit  \"10/day\" -> \"11/day\"\n";
    done(&["rules", "diff", &many], 1, diff);
    done(&["rules", "apply", &many, "--if-version", "2"], 0, "release 3 decides, with 2 rules\n");
    done(&["rules", "rollback", "2"], 0, "release 4 decides, with 1 rule\n");
    let (code, out, _) = run(&server, &["rules", "history"]);
    let first = out.lines().next().unwrap_or_default();
    assert!(
        code == Some(0)
            && first.starts_with("* 4 ")
            && first.ends_with("restore  1 rule, release 2 again by write from 127.0.0.1"),
        "{out}"
    );

    let fault = "`0/day`: a limit of 0 admits nothing; write `deny: true` to close a route\n";
    for verb in ["apply", "diff"] {
        let (code, out, err) = run(&server, &["rules", verb, &bad]);
        assert_eq!((code, &*out), (Some(2), ""));
        assert_eq!(err, format!("{bad}:2:22: {fault}"), "{verb}: the file's own place");
    }
    let (code, _, err) = run(&server, &["rules", "apply", &file, "--if-version", "2"]);
    assert!(code == Some(2) && err.contains("release 4 is live"), "{err}");
    let (code, out, _) = run(&server, &["rules", "show", "--json"]);
    assert!(code == Some(0) && out.starts_with(r#"{"version":4,"source":"restore""#), "{out}");
}

/// Goal: switches are turned, listed and turned back from the command line.
/// Method: each command, with its words.
#[test]
fn switches_are_turned_from_the_command_line() {
    let server = Server::start();
    let done = |args: &[&str], words: &str| {
        let (exit, out, err) = run(&server, args);
        assert_eq!((exit, &*out, &*err), (Some(0), words, ""), "{args:?}");
    };
    done(&["switch", "list"], "nothing is turned\n");
    done(&["switch", "set", "*", "shadow", "--reason", "incident 42"], "*: shadow\n");
    done(
        &["switch", "set", "token-bucket", "off", "--until", "2099-01-01"],
        "token-bucket: off until 2099-01-01T00:00:00Z\n",
    );
    let listed = "*                       shadow   for good, by api, incident 42\n\
                  token-bucket            off      2099-01-01T00:00:00Z, by api\n";
    done(&["switch", "list"], listed);
    done(&["switch", "clear", "*"], "*: turned back\n");
    let (code, _, err) = run(&server, &["switch", "set", "none", "off"]);
    assert!(code == Some(2) && err.contains("(404): there is no such rule"), "{err}");
}

/// Goal: the token goes into one header field, from a file that the flag or the environment names, and shows nowhere.
/// Method: a listener that writes down what it is sent; and a file that holds no token.
#[test]
fn the_token_is_sent_and_not_shown() {
    let folder = Folder::of(&[("token", "s3cret-token\n"), ("empty", "\n")]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it has an address"));
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody asks");
        let mut head = [0; 4096];
        let count = stream.read(&mut head).expect("something is sent");
        let body = r#"{"detail":"no"}"#;
        let answer =
            format!("HTTP/1.1 401 Unauthorized\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).expect("it is answered");
        String::from_utf8_lossy(&head[..count]).into_owned()
    });
    let mut show = command();
    show.args(["rules", "show", "--url", &url]).env("RATEKEEPER_TOKEN_FILE", folder.path("token"));
    let told = show.output().expect("the program runs");
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(
        told.status.code() == Some(2) && text.contains("(401): no") && !text.contains("s3cret"),
        "{text}"
    );
    let heard = heard.join().expect("it heard").to_lowercase();
    assert!(heard.contains("\r\nauthorization: bearer s3cret-token\r\n"), "{heard}");

    let told = output(&["rules", "show", "--url", &url, "--token-file", &folder.path("empty")]);
    assert!(String::from_utf8_lossy(&told.stderr).contains("holds no token"));
}

/// Goal: the help of these commands, with its examples, is as it was looked at once.
/// Method: golden files.
#[test]
fn the_help_shows_examples() {
    for (args, name) in [
        (&["rules", "--help"][..], "help-rules.txt"),
        (&["rules", "apply", "--help"], "help-rules-apply.txt"),
        (&["switch", "--help"], "help-switch.txt"),
        (&["switch", "set", "--help"], "help-switch-set.txt"),
    ] {
        assert_golden(name, &String::from_utf8_lossy(&output(args).stdout));
    }
}
