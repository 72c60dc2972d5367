//! docs/redis-clients.md, run as it stands.
//!
//! Its YAML is the configuration of servers, its console blocks are run by a shell, and its programs by their
//! interpreters. Invariant: the port and paths alone are others than on the page; times, which are figures of a
//! thousand and more, differ from run to run: at most the second that the page is in, and at least a quarter of it.

use crate::certificate::Certificate;
use crate::languages::{python, script};
use crate::places::is_at_most;
use crate::server::{Server, built};
use crate::shell::{Said, bounded, run};
use std::path::PathBuf;

const PAGE: &str = include_str!("../../../../docs/redis-clients.md");

const PORT: &str = "6380";

/// The blocks of the page: of which language, and what.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let fenced = PAGE.split("\n```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').unwrap()).collect()
}

/// The blocks of a language.
fn of(language: &str) -> Vec<&'static str> {
    blocks().into_iter().filter(|(own, _)| *own == language).map(|(_, text)| text).collect()
}

/// A server as a block of YAML says, but for its port.
fn serve(yaml: &str) -> Server {
    let certificate = Certificate::new();
    let files = [
        ("cert.pem", &*certificate.own),
        ("key.pem", &certificate.key),
        ("ca.pem", &certificate.authority),
        ("password", "0123456789abcdef\n"),
    ];
    let config = yaml.replace(&format!("0.0.0.0:{PORT}"), "127.0.0.1:0");
    Server::of(&config.replace(&format!("127.0.0.1:{PORT}"), "127.0.0.1:0"), &files)
}

/// The commands of a console block, with what they are said to print.
fn commands(block: &str) -> Vec<(&str, Vec<&str>)> {
    let parts = block.strip_prefix("$ ").unwrap().split("\n$ ");
    parts
        .map(|part| {
            let mut lines = part.lines();
            (lines.next().unwrap(), lines.collect())
        })
        .collect()
}

/// Runs a command of the page, as if at a terminal.
fn shell(server: &Server, command: &str) -> Said {
    let own = command.replace(&format!("-p {PORT}"), &format!("-p {}", server.port));
    let own =
        if own.contains("--csv") { own } else { own.replace("redis-cli", "redis-cli --no-raw") };
    run(bounded("sh").args(["-c", &own]).current_dir(&server.folder), b"")
}

/// Whether the lines fit, where `…` stands for any number of them.
fn fits(expected: &[&str], said: &[&str]) -> bool {
    match expected {
        [] => said.is_empty(),
        ["…", rest @ ..] => (0..=said.len()).any(|skipped| fits(rest, &said[skipped..])),
        [line, rest @ ..] => {
            said.first().is_some_and(|said| alike(line, said)) && fits(rest, &said[1..])
        }
    }
}

/// Whether the lines are the same, times left alone.
fn alike(expected: &str, said: &str) -> bool {
    let words = |line: &str| line.split([' ', ',']).map(str::to_owned).collect::<Vec<_>>();
    let (expected, said) = (words(expected), words(said));
    let word = |(like, said): (&String, &String)| match like.parse::<i64>() {
        Ok(most @ 1_000..) => is_at_most(said, (most + 999) / 1_000 * 1_000),
        _ => like == said,
    };
    expected.len() == said.len() && expected.iter().zip(&said).all(word)
}

/// Goal: nothing is on the page that is not run.
/// Method: the languages of its blocks, and how many there are of each.
#[test]
fn every_block_of_the_page_is_of_a_language_that_is_run() {
    let count = |language: &str| of(language).len();
    let programs = ["python", "javascript", "rust", "ruby", "php"];
    assert!(programs.iter().all(|language| count(language) == 1));
    assert_eq!(count("yaml") + count("console") + programs.len(), blocks().len());
    assert!(count("yaml") == 3 && count("console") == 5, "{:?}", blocks());
}

/// Goal: what the page shows in a shell is what happens, and its rule files are fine.
/// Method: each block of YAML starts a server; each command after it is run, and what it says is compared.
#[test]
fn what_the_page_shows_in_a_shell_is_so() {
    let (mut server, mut ran) = (None, 0);
    for (language, block) in blocks() {
        match language {
            "yaml" => server = Some(serve(block)),
            "console" => {
                let server: &mut Server = server.as_mut().unwrap();
                for (command, expected) in commands(block) {
                    let said = if command.starts_with("ratekeeper serve ") {
                        server
                            .banner()
                            .unwrap()
                            .replace(&format!(":{}", server.port), &format!(":{PORT}"))
                    } else {
                        let said = shell(server, command);
                        [said.out, said.err].concat()
                    };
                    let said: Vec<&str> = said.trim_end().lines().collect();
                    assert!(fits(&expected, &said), "`{command}` says {said:?}, not {expected:?}");
                    ran += 1;
                }
            }
            _ => {}
        }
    }
    assert_eq!(ran, 9);
}

/// Runs a program of the page once more than the limit admits, and compares what it says.
fn asks(language: &str, run: impl Fn(&Server, &str) -> Said) {
    let server = serve(of("yaml")[0]);
    let text = of(language)[0].replace(PORT, &server.port.to_string());
    let ask = || run(&server, &text).lines().join("\n");
    for left in [2, 1, 0] {
        assert_eq!(ask(), format!("allowed, {left} left"));
    }
    let last = ask();
    let wait = last.strip_prefix("refused, again in ").and_then(|rest| rest.strip_suffix(" ms"));
    assert!(wait.is_some_and(|wait| is_at_most(wait, 20_000)), "{last}");
}

macro_rules! languages {
    ($($name:ident, $language:literal, $program:expr, $file:literal;)*) => {$(
        /// Goal: the page's program in this language can be copied and run.
        /// Method: its interpreter, and one run more than the limit admits.
        #[test]
        fn $name() {
            asks($language, |server, text| script(server, $program, $file, text));
        }
    )*};
}

languages! {
    the_python_of_the_page_asks, "python", python(), "ask.py";
    the_javascript_of_the_page_asks, "javascript", PathBuf::from("node"), "ask.mjs";
    the_ruby_of_the_page_asks, "ruby", PathBuf::from("ruby"), "ask.rb";
    the_php_of_the_page_asks, "php", PathBuf::from("php"), "ask.php";
}

/// Goal: the page's program in Rust can be copied and run.
/// Method: it is the file that this package builds, which is run once more than the limit admits.
#[test]
fn the_rust_of_the_page_asks() {
    let (_, text) = include_str!("snippet.rs").split_once("\n\n").unwrap();
    assert_eq!(of("rust"), [text.trim_end()]);
    asks("rust", |server, _| {
        let url = format!("redis://127.0.0.1:{}", server.port);
        run(bounded(built().join("rk-client")).arg(url), b"")
    });
}

/// Goal: the comparison itself can fail.
/// Method: lines that fit, and some that do not.
#[test]
fn a_page_that_differs_is_noticed() {
    assert!(fits(&["one", "…", "3) 20000"], &["one", "two", "3) 19950"]));
    assert!(!fits(&["one", "…", "3) 20000"], &["one", "two", "3) 20001"]));
    assert!(
        !fits(&["1,3,2"], &["1,3,1"]) && !fits(&["one"], &["one", "two"]) && !fits(&["one"], &[])
    );
}
