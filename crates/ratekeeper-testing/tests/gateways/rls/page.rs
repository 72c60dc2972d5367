//! docs/envoy.md: its commands, run as they stand, and its pieces of Envoy's file.
//!
//! Invariant: ports alone are others. A line `…` stands for any lines, and what follows `refused it for` may differ.

use super::bootstrap::{Bootstrap, Ports, example};
use super::edge::{programs, tools};
use crate::client::listens;
use crate::files::root;
use crate::process::Process;
use crate::site::wait_until;
use crate::upstream::Upstream;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn page() -> String {
    fs::read_to_string(root().join("docs/envoy.md")).unwrap()
}

/// The blocks of a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("\n```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

/// The commands of a block, each with what it is said to print.
fn commands(block: &str) -> Vec<(&str, Vec<&str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, expected))) => expected.push(line),
            (None, None) => panic!("a block begins with a command, not with {line}"),
        }
    }
    commands
}

/// Whether the lines fit.
fn fits(expected: &[&str], said: &[&str]) -> bool {
    let cut =
        |line: &'_ str| line.split("refused it for").next().unwrap_or("").trim_end().to_owned();
    match expected {
        [] => said.is_empty(),
        ["…", rest @ ..] => (0..=said.len()).any(|skipped| fits(rest, &said[skipped..])),
        [line, rest @ ..] => {
            said.first().is_some_and(|said| cut(said) == cut(line)) && fits(rest, &said[1..])
        }
    }
}

/// A shell that finds the built program and Envoy first.
fn shell(script: &str, folder: &Path, ports: Ports) -> Command {
    let others = env::var_os("PATH").unwrap_or_default();
    let folders = [programs(), tools()].into_iter().chain(env::split_paths(&others));
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(folder).env("PATH", env::join_paths(folders).unwrap());
    for name in ["CONFIG", "LISTEN", "STORE", "TOKEN_FILE"] {
        shell.env_remove(format!("RATEKEEPER_{name}"));
    }
    shell.env("RATEKEEPER_URL", format!("http://127.0.0.1:{}", ports.api));
    shell
}

/// Goal: what docs/envoy.md shows is what the program and Envoy do, with the files that it names.
/// Method: run its commands in order, where these files are; those that serve stay until the end.
#[test]
fn the_page_on_envoy_shows_what_the_program_does() {
    let upstream = Upstream::start();
    let ports = Ports::free(upstream.port);
    let folder = env::temp_dir().join(format!("ratekeeper-rls-page-{}", ports.envoy));
    fs::create_dir_all(folder.join("examples/envoy")).unwrap();
    let texts = [
        ("ratelimit.yaml", Bootstrap::example().0),
        ("ratekeeper.yaml", example("ratekeeper.yaml")),
    ];
    for (name, text) in texts {
        fs::write(folder.join("examples/envoy").join(name), ports.put_into(&text)).unwrap();
    }
    let page = page();
    let [block] = blocks(&page, "console")[..] else { panic!("there is one block of commands") };
    let mut serving = Vec::new();
    for (number, (command, expected)) in commands(block).into_iter().enumerate() {
        let log = folder.join(format!("{number}.log"));
        let said = if command.starts_with("ratekeeper serve") || command.starts_with("envoy ") {
            // Beside other Envoys of this machine.
            let more = if command.starts_with("envoy ") { " --use-dynamic-base-id" } else { "" };
            let script = format!("exec {command}{more}");
            serving.push(Process::start(&mut shell(&script, &folder, ports), &log));
            let port = if more.is_empty() { ports.grpc } else { ports.envoy };
            wait_until(command, || listens(port));
            fs::read_to_string(&log).unwrap()
        } else {
            let output = shell(&ports.put_into(command), &folder, ports).output().unwrap();
            String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
        };
        let said = ports.take_from(&said);
        let lines: Vec<&str> = said.lines().collect();
        assert!(fits(&expected, &lines), "`{command}` says\n{said}\nnot\n{}", expected.join("\n"));
    }
    assert_eq!((serving.len(), upstream.targets("/orders")), (2, 3));
    drop(serving);
    let _ = fs::remove_dir_all(&folder);
}

/// Goal: the pieces of Envoy's file in docs/envoy.md are those of the file that is tested, and its rules those of the
/// rule file.
/// Method: each block, moved to the right as it stands there, is part of the file; each rule is a line of it.
#[test]
fn the_pieces_of_files_in_the_page_are_those_in_examples() {
    let (page, file, rules) = (page(), example("ratelimit.yaml"), example("ratekeeper.yaml"));
    let pieces = blocks(&page, "text");
    assert_eq!(pieces.len(), 2);
    for piece in pieces {
        let first = piece.lines().next().unwrap();
        let found = file.lines().filter(|line| line.trim_start() == first).any(|line| {
            let margin = &line[..line.len() - first.len()];
            let moved: Vec<String> = piece.lines().map(|line| format!("{margin}{line}")).collect();
            file.contains(&moved.join("\n"))
        });
        assert!(found, "examples/envoy/ratelimit.yaml does not have\n{piece}");
    }
    let shown = blocks(&page, "yaml")[0].lines().filter(|line| line.starts_with("  - "));
    assert_eq!(shown.filter(|line| rules.lines().any(|own| own == *line)).count(), 3);
}

/// Goal: the comparison itself can fail.
/// Method: lines that fit, and some that do not.
#[test]
fn a_page_that_differs_is_noticed() {
    assert!(fits(&["a", "…", "b refused it for 2 s"], &["a", "x", "b refused it for 1 s"]));
    assert!(fits(&["…"], &[]) && !fits(&["a"], &[]) && !fits(&[], &["a"]));
    assert!(!fits(&["a", "…", "b"], &["a", "b", "c"]));
    assert_eq!(commands("$ a\nb\n$ c"), [("a", vec!["b"]), ("c", vec![])]);
}
