//! Rule files: what they mean, what is refused and in which words, and what they cost to read.
//!
//! Invariant: every refusal is a small file in `tests/files/bad` with its message beside it. To accept
//! new messages, or a new schema, run the tests with `UPDATE=1` and look at what git shows.

mod bad;
mod gateway;
mod good;
mod hostile;
mod merged;
mod sample;
mod schema;

use ratekeeper::rule::file::{FileErrors, RuleFile, Source};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the files.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

/// The text of a file in one of the folders.
fn text(path: &str) -> String {
    std::fs::read_to_string(folder(path)).expect("the file is there")
}

/// Opens what rule files name.
fn open(name: &str) -> io::Result<Vec<u8>> {
    std::fs::read(folder("named").join(name))
}

/// Reads one text under a name.
fn read(name: &str, text: &str) -> Result<RuleFile, FileErrors> {
    RuleFile::read(&[Source { name: name.into(), text: text.into() }], &open)
}

/// Reads a text that has no fault.
fn good(text: &str) -> RuleFile {
    read("r.yaml", text).map_err(|errors| errors.to_string()).unwrap()
}

/// What is said of a text that has faults.
fn refused(text: &str) -> String {
    read("r.yaml", text).unwrap_err().to_string()
}

/// Fails unless a text is what a file has, which `UPDATE=1` writes.
fn assert_golden(path: &Path, text: &str) {
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(path, text).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    let shown = path.display();
    assert_eq!(text, golden, "{shown} is out of date; run the tests with UPDATE=1 and review it");
}

/// The names of the files of a folder that end so, in order.
fn listed(name: &str, end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder(name)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
    names.sort();
    names
}
