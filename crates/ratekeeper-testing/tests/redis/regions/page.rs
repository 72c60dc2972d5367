//! docs/multi-datacentre.md: its files and commands, run as they stand.
//!
//! Invariant: ports alone are others. A line `…` stands for any lines, and what follows `retry in` may differ.

use ratekeeper_testing::servers::{Kind, Server, free_port, wait_until};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs};

const PAGE: &str = include_str!("../../../../../docs/multi-datacentre.md");

/// The last line but one of what a server says when it has started.
const STARTED: &str = "Try, in another terminal";

/// `ratekeeper serve`, ended when dropped.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the page says a port is, and what it is here.
struct Ports([(&'static str, String); 4]);

impl Ports {
    fn put_into(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (said, own)| text.replace(said, own))
    }

    fn take_from(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (said, own)| text.replace(own, said))
    }
}

/// The blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("\n```{language}\n");
    PAGE.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

/// A shell that finds the built program first.
fn shell(script: &str, folder: &Path) -> Command {
    let tests = env::current_exe().unwrap();
    let built: PathBuf = tests.ancestors().nth(2).unwrap().into();
    let program = built.join("ratekeeper");
    assert!(program.exists(), "build it first: cargo build -p ratekeeper-server");
    let others = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(built).chain(env::split_paths(&others));
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(folder).env("PATH", env::join_paths(folders).unwrap());
    for name in ["CONFIG", "LISTEN", "STORE", "TOKEN_FILE", "URL"] {
        shell.env_remove(format!("RATEKEEPER_{name}"));
    }
    shell.stdin(Stdio::null());
    shell
}

/// Whether the lines fit.
fn fits(expected: &[&str], said: &[&str]) -> bool {
    let cut = |line: &str| line.split("retry in").next().unwrap_or("").trim_end().to_owned();
    match expected {
        [] => said.is_empty(),
        ["…", rest @ ..] => (0..=said.len()).any(|skipped| fits(rest, &said[skipped..])),
        [line, rest @ ..] => {
            said.first().is_some_and(|said| cut(said) == cut(line)) && fits(rest, &said[1..])
        }
    }
}

/// Starts a server, and tells what it says.
fn serve(command: &str, folder: &Path, log: &str) -> (Serving, String) {
    let log = folder.join(log);
    let mut shell = shell(&format!("exec {command}"), folder);
    shell.stdout(fs::File::create(&log).unwrap()).stderr(Stdio::null());
    let serving = Serving(shell.spawn().unwrap());
    let said = || fs::read_to_string(&log).unwrap();
    wait_until(command, || {
        said().split_once(STARTED).is_some_and(|(_, rest)| rest.lines().count() > 1)
    });
    (serving, said())
}

/// Goal: what the page shows is what the program does: two regions, each with its part.
/// Method: write its files that have names, start a store for each, and run its commands in order; those that serve
/// stay until the end.
#[test]
fn the_page_on_several_data_centres_shows_what_the_program_does() {
    let stores = [Server::start(Kind::Redis), Server::start(Kind::Redis)];
    let ports = Ports([
        ("127.0.0.1:6379", stores[0].address()),
        ("127.0.0.1:6479", stores[1].address()),
        ("127.0.0.1:8080", format!("127.0.0.1:{}", free_port())),
        ("127.0.0.1:9080", format!("127.0.0.1:{}", free_port())),
    ]);
    let folder = stores[0].dir();
    for block in blocks("yaml") {
        let name = block.lines().next().and_then(|line| line.strip_prefix("# "));
        if let Some(name) = name {
            fs::write(folder.join(name), ports.put_into(block)).unwrap();
        }
    }
    let (mut serving, mut ran) = (Vec::new(), 0);
    for block in blocks("console") {
        for part in block.split("$ ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap_or((part, ""));
            let own = ports.put_into(command);
            let said = if command.contains(" serve") {
                let (server, said) = serve(&own, folder, &format!("{ran}.log"));
                serving.push(server);
                said
            } else {
                let output = shell(&own, folder).output().unwrap();
                String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
            };
            let said = ports.take_from(&said);
            let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
            let expected: Vec<&str> = expected.lines().collect();
            assert!(fits(&expected, &lines), "`{command}` says\n{said}\nnot\n{expected:?}");
            ran += 1;
        }
    }
    assert_eq!((ran, serving.len()), (5, 2));
}
