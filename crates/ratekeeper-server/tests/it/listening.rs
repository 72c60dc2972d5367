//! The listeners of Envoy and of Redis clients in the program: told, warned of, and closed to strangers.

use crate::folder::Folder;
use crate::program::{Program, command, output};
use crate::wire::{DEADLINE, connect};
use std::io::{Read, Write};

fn serve(folder: &Folder) -> Program {
    let mut serve = command();
    serve.args(["serve", "--config", &folder.path("rules.yaml")]);
    Program::start(serve)
}

/// Goal: both are told where they are, with a line to try that works; a listener that is left out stays closed.
/// Method: a file that names both, and the words of the line to try, sent as they are; another that names
/// none.
#[test]
fn listeners_are_told() {
    let rules = "listen: {api: '127.0.0.1:0', grpc: '127.0.0.1:0', resp: '127.0.0.1:0'}\n\
                 rules: [{id: api, key: user, limit: 2/minute}, {id: edge, domain: envoy, limit: 5/minute}]\n";
    let server = serve(&Folder::of(&[("rules.yaml", rules)]));
    let told = |word: &str| server.banner.iter().any(|line| line.starts_with(word));
    assert!(told("grpc          http://127.0.0.1:") && told("resp          redis://127.0.0.1:"));
    let line = server.banner.iter().find(|line| line.contains("redis-cli"));
    let words: Vec<&str> = line.expect("there is a line to try").split_whitespace().collect();
    let ["redis-cli", "-h", host, "-p", port, asked @ ..] = &words[..] else { panic!("{words:?}") };
    let mut stream = connect(format!("{host}:{port}").parse().expect("an address"));
    stream.write_all(format!("{}\r\n", asked.join(" ")).as_bytes()).expect("it reads");
    let mut reply = [0; 16];
    stream.read_exact(&mut reply).expect("it replies");
    assert_eq!(&reply, b"*8\r\n:1\r\n:2\r\n:1\r\n");
    let closed = serve(&Folder::of(&[(
        "rules.yaml",
        "listen: {api: '127.0.0.1:0'}\nrules: [{id: a, limit: 1/day}]",
    )]));
    assert!(!closed.banner.iter().any(|line| line.starts_with("grpc") || line.starts_with("resp")));
}

/// Goal: whoever could reach Redis' protocol from elsewhere needs a password, and one that is long enough;
/// `validate` says the same; a rule file without rules for Envoy is told.
/// Method: both ways to start, with a file that is open, one whose password is short, and what is warned of.
#[test]
fn strangers_need_a_password() {
    let open = "listen: {api: '127.0.0.1:0', resp: '0.0.0.0:0'}\n";
    let locked = format!("{open}resp: {{password_file: secret}}\n");
    let long = "0123456789abcdef\n";
    for (rules, secret, fault) in [
        (
            open,
            long,
            "`listen.resp` would let anyone who reaches it ask, and reset keys; set `resp.password_file`, \
             or listen on 127.0.0.1",
        ),
        (
            &locked,
            "short\n",
            "the password is not 16 to 256 bytes long; write one such as `openssl rand -hex 32` makes",
        ),
    ] {
        let folder = Folder::of(&[("rules.yaml", rules), ("secret", secret)]);
        let path = folder.path("rules.yaml");
        for args in [&["serve", "--config", &path][..], &["validate", &path]] {
            let told = output(args);
            let text = String::from_utf8_lossy(&told.stderr).into_owned();
            assert!(told.status.code() == Some(2) && text.contains(fault), "{args:?}: {text}");
        }
    }
    let rules = format!("{locked}rules: [{{id: a, limit: 1/day}}]\n");
    let server = serve(&Folder::of(&[("rules.yaml", &rules), ("secret", long)]));
    let mut told = String::new();
    while !told.contains("`listen.resp` at 0.0.0.0:") {
        told += &server.err.recv_timeout(DEADLINE).expect("a warning of plain text");
    }
    let envoy =
        "listen: {api: '127.0.0.1:0', grpc: '127.0.0.1:0'}\nrules: [{id: a, limit: 1/day}]\n";
    let server = serve(&Folder::of(&[("rules.yaml", envoy)]));
    let told = server.err.recv_timeout(DEADLINE).expect("a warning");
    assert_eq!(
        told,
        "warning: `listen.grpc` is set, and no rule has a `domain`, so Envoy is never limited"
    );
}
