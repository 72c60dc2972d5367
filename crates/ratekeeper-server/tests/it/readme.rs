//! The commands of README and docs, run as they stand.
//!
//! In a block marked `console`, a line `$ ratekeeper …`, `$ cargo run --release -- …` or `$ for …` is
//! run by a shell with the built program, and the lines that follow are compared with what it says.
//! A line `…` stands for any lines, and what follows `retry in` or `refused it for` may differ. A line that
//! serves starts a server on a free port, shown as the default one; the others ask it. Other commands are not
//! run.

use crate::folder::Folder;
use crate::program::{self, Program};
use std::path::Path;
use std::process::Command;

/// A command of the README and what it is said to print.
struct Example {
    command: String,
    expected: Vec<String>,
}

/// Goal: what README and docs show is what the program does.
/// Method: run their console blocks, in order, against one server for each page.
#[test]
fn the_readme_shows_what_the_program_does() {
    for page in ["README.md", "docs/running.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let text = std::fs::read_to_string(path).expect("there is such a page");
        let examples = examples(&text);
        assert!(!examples.is_empty(), "{page} has no command in a ```console block");
        run(examples);
    }
}

fn run(examples: Vec<Example>) {
    let folder = Folder::of(&[]);
    let mut server: Option<Program> = None;
    for Example { command, expected } in examples {
        let said = if command.contains(" serve") {
            // The one before, if any, ends first.
            drop(server.take());
            let mut shell = shell(&format!("exec {command}"));
            shell.env("RATEKEEPER_LISTEN", "127.0.0.1:0");
            let started = server.insert(Program::start(shell));
            shown(&started.banner.join("\n"), started)
        } else {
            let server = server.get_or_insert_with(Program::serve);
            let mut shell = shell(&command);
            shell.current_dir(folder.as_path());
            shell.env("RATEKEEPER_URL", format!("http://{}", server.address));
            let output = shell.output().expect("a shell runs");
            shown(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()), server)
        };
        let like = expected.iter().map(|line| timeless(line)).collect::<Vec<_>>();
        let fits = matches(&like, &said.iter().map(|line| timeless(line)).collect::<Vec<_>>());
        assert!(fits, "`{command}` says\n{}\nnot\n{}", said.join("\n"), expected.join("\n"));
    }
}

/// The commands of all console blocks that are to be run.
fn examples(readme: &str) -> Vec<Example> {
    let found = examples_of(readme, &["ratekeeper ", "for "]);
    found.into_iter().map(|(command, expected)| Example { command, expected }).collect()
}

/// The commands of all console blocks that begin like this, with what they are said to print.
pub(crate) fn examples_of(readme: &str, starts: &[&str]) -> Vec<(String, Vec<String>)> {
    let mut examples: Vec<Option<(String, Vec<String>)>> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside && line.trim() == "```console";
            // What follows belongs to no command before.
            examples.push(None);
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let command = command.replace("cargo run --release --", "ratekeeper");
            let ours = starts.iter().any(|start| command.starts_with(start));
            examples.push(ours.then_some((command, Vec::new())));
        } else if let Some(Some((_, expected))) = examples.last_mut().filter(|_| inside) {
            expected.push(line.trim_end().to_owned());
        }
    }
    let mut examples: Vec<_> = examples.into_iter().flatten().collect();
    // Empty lines between commands are for the reader.
    for (_, expected) in &mut examples {
        expected
            .truncate(expected.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1));
    }
    examples
}

/// A shell that finds the built program first.
pub(crate) fn shell(script: &str) -> Command {
    let folder = Path::new(program::PATH).parent().expect("the program is in a folder");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&others));
    let mut shell = program::clean(Command::new("sh"));
    shell.env("PATH", std::env::join_paths(folders).expect("folders have plain names"));
    shell.args(["-c", script]);
    shell
}

/// The lines said, as they would be on the default port.
pub(crate) fn shown(said: &str, server: &Program) -> Vec<String> {
    let address = server.address.to_string();
    let said = said.replace(&format!(" --url http://{address}"), "");
    said.replace(&address, "127.0.0.1:8080")
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// The line without what differs from run to run.
fn timeless(line: &str) -> &str {
    let cuts = ["retry in ", "refused it for "].into_iter();
    cuts.filter_map(|cut| line.find(cut)).min().map_or(line, |at| &line[..at])
}

/// Whether the lines fit, where `…` stands for any number of them.
pub(crate) fn matches(expected: &[&str], said: &[&str]) -> bool {
    match expected {
        [] => said.is_empty(),
        [any, rest @ ..] if any.trim() == "…" => {
            (0..=said.len()).any(|skipped| matches(rest, &said[skipped..]))
        }
        [line, rest @ ..] => said.first() == Some(line) && matches(rest, &said[1..]),
    }
}

/// Goal: the comparison itself is right: it can fail.
/// Method: blocks and lines that fit, and some that do not.
#[test]
fn a_readme_that_differs_is_noticed() {
    let console =
        "```console\n$ ratekeeper check a b\none\n…\nlast, retry in 1 s\n\n$ curl x\nno\n```\n";
    let readme = &format!("{console}two\n```sh\n$ ratekeeper x\n```\n");
    let found = examples(readme);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].expected, ["one", "…", "last, retry in 1 s"]);
    assert!(matches(&["one", "…", "last"], &["one", "two", "three", "last"]));
    assert!(matches(&["one", "…", "last"], &["one", "last"]));
    assert!(!matches(&["one", "…", "last"], &["one", "two"]));
    assert!(!matches(&["one"], &["one", "two"]) && !matches(&["one", "two"], &["one"]));
    assert_eq!(timeless("refused, retry in 0.9 s"), timeless("refused, retry in 12 ms"));
}

/// Goal: `cargo run` in the root of the repository, the first command of the README, finds one program.
/// Method: ask cargo which programs its default members have.
#[test]
fn cargo_run_has_one_program_to_run() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let mut ask = Command::new(env!("CARGO"));
    ask.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let told = ask.args(["--manifest-path", root]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let defaults = told["workspace_default_members"].as_array().unwrap();
    let packages = told["packages"].as_array().unwrap().iter();
    let own = packages.filter(|package| defaults.contains(&package["id"]));
    let targets = own.flat_map(|package| package["targets"].as_array().unwrap());
    let programs = targets.filter(|target| target["kind"][0] == "bin");
    assert_eq!(programs.map(|target| &target["name"]).collect::<Vec<_>>(), ["ratekeeper"]);
}
