//! What is wrong with rule files: every fault with its place and its repair.
//!
//! Invariant: however many faults a file has, few are kept, and those are the first of the file.

use std::fmt;

/// Most faults that are listed; the others are counted.
pub const LISTED_MAX: usize = 100;

/// So many faults, and reading ends: the file is not a rule file.
const FAULTS_MAX: usize = 10_000;

/// Longest piece of a file that a fault quotes.
const QUOTED_MAX: usize = 60;

/// Where something is in a set of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    /// The file, by number.
    pub(super) file: u16,
    /// The line, from 1.
    pub(super) line: u32,
    /// The character in its line, from 1.
    pub(super) column: u32,
}

/// One fault of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileError {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The character in its line, from 1.
    pub column: u32,
    /// What is wrong.
    pub fault: String,
    /// What to write instead.
    pub repair: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileError { file, line, column, fault, repair } = self;
        write!(f, "{file}:{line}:{column}: {fault}; {repair}")
    }
}

impl std::error::Error for FileError {}

/// All faults of a set of files, in the order of their places: at least one, and at most
/// [`LISTED_MAX`] of them in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileErrors {
    listed: Vec<FileError>,
    more: usize,
}

impl FileErrors {
    /// What is wrong with the store that a file names.
    pub(crate) fn of_store(fault: &str, repair: &str) -> FileErrors {
        let (file, fault, repair) = (super::NAMELESS.into(), fault.into(), repair.into());
        FileErrors { listed: vec![FileError { file, line: 1, column: 1, fault, repair }], more: 0 }
    }

    /// The faults that are listed.
    pub fn iter(&self) -> impl Iterator<Item = &FileError> {
        self.listed.iter()
    }

    /// How many faults there are beyond those; reading ends at ten thousand.
    pub fn more(&self) -> usize {
        self.more
    }
}

impl fmt::Display for FileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.listed.iter().enumerate() {
            let newline = if number > 0 { "\n" } else { "" };
            write!(f, "{newline}{error}")?;
        }
        if self.more > 0 { write!(f, "\nand {} more", self.more) } else { Ok(()) }
    }
}

impl std::error::Error for FileErrors {}

/// Faults while a file is read.
#[derive(Default)]
pub(super) struct Faults {
    kept: Vec<(Place, String, String)>,
    told: usize,
}

impl Faults {
    /// Notes a fault; texts that come from the file were [quoted].
    pub(super) fn add(&mut self, at: Place, fault: impl Into<String>, repair: impl Into<String>) {
        self.told += 1;
        self.kept.push((at, fault.into(), repair.into()));
        if self.kept.len() >= 4 * LISTED_MAX {
            self.tidy();
        }
    }

    /// Whether there are so many that no more need to be found.
    pub(super) fn full(&self) -> bool {
        self.told >= FAULTS_MAX
    }

    /// How many were noted so far.
    pub(super) fn told(&self) -> usize {
        self.told
    }

    /// Keeps the first. A fault of what an alias repeats is one fault.
    fn tidy(&mut self) {
        self.kept.sort_by_key(|(at, ..)| *at);
        let before = self.kept.len();
        self.kept.dedup();
        self.told -= before - self.kept.len();
        self.kept.truncate(LISTED_MAX);
    }

    /// What callers are told; there is something to tell.
    pub(super) fn into_errors(mut self, name: impl Fn(u16) -> String) -> FileErrors {
        self.tidy();
        let error = |(Place { file, line, column }, fault, repair)| {
            let file = plain(name(file).chars());
            FileError { file, line, column, fault, repair }
        };
        let listed: Vec<FileError> = self.kept.into_iter().map(error).collect();
        FileErrors { more: self.told - listed.len(), listed }
    }
}

/// A piece of the file as a fault quotes it: not too long, and nothing that steers a terminal or
/// breaks a line of a log.
pub(super) fn quoted(text: &str) -> String {
    let mut rest = text.chars();
    let mut shown = plain(rest.by_ref().take(QUOTED_MAX));
    if rest.next().is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

fn plain(text: impl Iterator<Item = char>) -> String {
    text.map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// A message that says `fault; repair`, as those two.
pub(super) fn split(message: &str, repair: &str) -> (String, String) {
    let (fault, repair) = message.split_once("; ").unwrap_or((message, repair));
    (fault.to_owned(), repair.to_owned())
}
