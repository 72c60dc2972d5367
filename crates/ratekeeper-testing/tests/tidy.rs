//! The repository keeps its own style: sizes, headers, words, and what the library may depend on.
//!
//! Invariant: what is refused here is refused with the place, the fault and the repair.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file beyond this is two things.
const FILE_MAX: usize = 400;

/// A file beyond this has to be named in `LONG_FILES`, with the reason.
const FILE_ASK: usize = 300;

const LONG_FILES: [&str; 0] = [];

const FUNCTION_MAX: usize = 70;

const WIDTH_MAX: usize = 120;

const README_MAX: usize = 150;

/// Crates that the library may bring along, itself included.
const CRATES_MAX: usize = 15;

/// Names that say nothing about what is in a file.
const EMPTY_NAMES: [&str; 6] = ["mod", "utils", "helpers", "common", "misc", "manager"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files that git knows or would take, with their text; binary ones are left out.
fn files() -> Vec<(String, String)> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let listed =
        Command::new("git").current_dir(root()).args(arguments).output().expect("git is here");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("names are text");
    let read = |name: &str| Some((name.to_owned(), fs::read_to_string(root().join(name)).ok()?));
    names.lines().filter_map(read).collect()
}

fn rust_files() -> Vec<(String, String)> {
    files().into_iter().filter(|(name, _)| name.ends_with(".rs")).collect()
}

fn refuse(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Goal: files and lines stay small enough to read.
/// Method: count them.
#[test]
fn files_are_short_and_lines_fit_the_screen() {
    let mut faults = Vec::new();
    for (name, text) in rust_files() {
        let lines = text.lines().count();
        if lines > FILE_MAX {
            faults.push(format!("{name}: {lines} lines; split it, the most is {FILE_MAX}"));
        } else if lines > FILE_ASK && !LONG_FILES.contains(&name.as_str()) {
            faults.push(format!(
                "{name}: {lines} lines; split it, or name it in LONG_FILES with the reason"
            ));
        }
        for (number, line) in text.lines().enumerate() {
            if line.chars().count() > WIDTH_MAX {
                faults
                    .push(format!("{name}:{}: wider than {WIDTH_MAX}; break the line", number + 1));
            }
        }
    }
    refuse(&faults);
}

/// Goal: functions fit a screen.
/// Method: from each line that begins one to the next closing brace at its indentation.
#[test]
fn functions_are_short() {
    let mut faults = Vec::new();
    for (name, text) in rust_files() {
        let lines: Vec<&str> = text.lines().collect();
        for (start, line) in lines.iter().enumerate() {
            let Some(length) = function_length(&lines[start..], line) else { continue };
            if length > FUNCTION_MAX {
                faults
                    .push(format!("{name}:{}: a function of {length} lines; split it", start + 1));
            }
        }
    }
    refuse(&faults);
}

fn function_length(from: &[&str], line: &str) -> Option<usize> {
    let indentation = line.len() - line.trim_start().len();
    let words = line.trim_start().split(' ');
    let mut words = words.skip_while(|word| {
        word.starts_with("pub") || matches!(*word, "const" | "async" | "in" | "super)" | "crate)")
    });
    if words.next() != Some("fn") || line.trim_end().ends_with([';', '}']) {
        return None;
    }
    let end = format!("{}}}", &line[..indentation]);
    from.iter()
        .position(|other| *other == end || *other == format!("{end});"))
        .map(|lines| lines + 1)
}

/// Goal: a reader learns from the first line what a file is for, and from its name what is in it.
/// Method: look at both.
#[test]
fn every_file_opens_with_what_it_is_and_has_a_telling_name() {
    let mut faults = Vec::new();
    for (name, text) in rust_files() {
        if !text.starts_with("//! ") {
            faults.push(format!(
                "{name}:1: no header; open with `//!`, what it is and what it keeps"
            ));
        }
        let stem = Path::new(&name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if EMPTY_NAMES.contains(&stem) {
            faults.push(format!("{name}: a name that says nothing; name what is in it"));
        }
        let is_root = ["/src/lib.rs", "/src/main.rs"].iter().any(|root| name.ends_with(root));
        if is_root && !text.contains("#![forbid(unsafe_code)]") {
            faults.push(format!("{name}: write `#![forbid(unsafe_code)]` below the header"));
        }
    }
    refuse(&faults);
}

/// Goal: nothing unfinished, switched off or left over is called done.
/// Method: look for the words, put together here so that this file does not find itself.
#[test]
fn nothing_is_left_unfinished_or_switched_off() {
    let join = |parts: [&str; 2]| parts.concat();
    let banned = [
        (join(["to", "do!("]), "finish it"),
        (join(["unimple", "mented!("]), "finish it"),
        (join(["#[ig", "nore"]), "mend the test or delete it"),
        (join(["db", "g!("]), "take it out"),
        (join(["FIX", "ME"]), "fix it"),
    ];
    let mut faults = Vec::new();
    for (name, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            for (word, repair) in banned.iter().filter(|(word, _)| line.contains(word.as_str())) {
                faults.push(format!("{name}:{}: `{word}`; {repair}", number + 1));
            }
        }
    }
    refuse(&faults);
}

/// Goal: every test says what it is for and how it shows that.
/// Method: each `#[test]` in a folder of tests has both words in the comment above it.
#[test]
fn every_test_opens_with_its_goal_and_method() {
    let mut faults = Vec::new();
    for (name, text) in rust_files().into_iter().filter(|(name, _)| name.contains("/tests/")) {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (number, _) in lines.iter().enumerate().filter(|(_, line)| **line == "#[test]") {
            let above = lines[..number].iter().rev().take_while(|line| line.starts_with("///"));
            let comment: String = above.copied().collect();
            if !comment.contains("Goal: ") || !comment.contains("Method: ") {
                faults.push(format!(
                    "{name}:{}: no goal or method; write both above the test",
                    number + 1
                ));
            }
        }
    }
    refuse(&faults);
}

/// Goal: the repository speaks of itself only, and its first page stays short.
/// Method: look for absolute paths of some machine in every text, and count the README's lines.
#[test]
fn no_text_names_a_machine_and_the_readme_is_short() {
    let mut faults = Vec::new();
    for (name, text) in files().into_iter().filter(|(name, _)| !name.ends_with(".lock")) {
        for (number, line) in text.lines().enumerate() {
            let folders =
                [["/ro", "ot/"], ["/wo", "rk/"], ["/ho", "me/"]].map(|parts| parts.concat());
            let path =
                folders.iter().find_map(|folder| line.find(folder.as_str()).map(|at| &line[..at]));
            if path
                .is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric() || c == '.'))
            {
                faults.push(format!(
                    "{name}:{}: a path of some machine; write a relative one",
                    number + 1
                ));
            }
        }
        let lines = text.lines().count();
        if name == "README.md" && lines > README_MAX {
            faults.push(format!(
                "{name}: {lines} lines; move detail to docs/, the most is {README_MAX}"
            ));
        }
    }
    refuse(&faults);
}

/// Goal: taking the library means taking little else.
/// Method: count the crates in its default dependency tree.
#[test]
fn the_library_brings_few_crates_along() {
    let arguments =
        ["tree", "--locked", "--package", "ratekeeper", "--edges", "normal", "--prefix", "none"];
    let tree = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(arguments)
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let text = String::from_utf8(tree.stdout).expect("names are text");
    let crates: BTreeSet<&str> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    assert!(crates.iter().any(|name| name.starts_with("ratekeeper ")), "{crates:?}");
    assert!(
        crates.len() <= CRATES_MAX,
        "{} crates, the most is {CRATES_MAX}: {crates:?}",
        crates.len()
    );
}
