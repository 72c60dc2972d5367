//! Rule files on disk: one, or a folder of them, with the files that they name.
//!
//! Invariant: whatever the path leads to, what is read is bounded: regular files, so many, so large in
//! all. A set of files that is read makes sense; of one that is not, every fault is told with its place
//! and its repair.

mod files;

pub use files::SECRET_MAX;
pub(crate) use files::{NAME_ANOTHER, Named, bytes, digest, listed};

use ratekeeper::rule::file::{FileErrors, RuleFile, Source};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};

/// How names of rule files in a folder end.
pub const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// A rule file, or a folder of them, as it was meant.
#[derive(Clone, Debug)]
pub struct Config {
    /// What it says.
    pub file: RuleFile,
    /// Where it is, as it was named.
    pub path: PathBuf,
    /// The folder that names of files in it start from.
    folder: PathBuf,
    /// What is written there.
    pub(crate) sources: Vec<Source>,
    /// Files that are named there, as they were read.
    pub(crate) named: Named,
    /// What is wrong with it, if the server goes on with rules that were stored.
    pub(crate) fault: Option<Faults>,
}

impl Config {
    /// Reads the file, or the folder, at this path, and what is named there.
    pub fn read(path: &Path) -> Result<Config, Faults> {
        let (sources, folder) = Config::sources(path)?;
        let named = RefCell::new(Named::new());
        let open = |name: &str| {
            let read = bytes(&folder.join(name), files::BYTES_MAX);
            named.borrow_mut().insert(name.to_owned(), digest(&read));
            read
        };
        let file = RuleFile::read(&sources, &open)?;
        let (path, named) = (path.to_owned(), named.into_inner());
        Ok(Config { file, path, folder, sources, named, fault: None })
    }

    /// A file that makes no sense, with what it says about the server, and no rules.
    pub(crate) fn faulty(path: &Path, file: RuleFile, fault: Faults) -> Result<Config, Faults> {
        let (sources, folder) = Config::sources(path)?;
        let (path, named) = (path.to_owned(), Named::new());
        Ok(Config { file, path, folder, sources, named, fault: Some(fault) })
    }

    /// The texts at this path, and the folder that they are in.
    pub(crate) fn sources(path: &Path) -> Result<(Vec<Source>, PathBuf), Faults> {
        let mut room = files::BYTES_MAX;
        let (names, folder) = listed(path)?;
        let mut sources = Vec::with_capacity(names.len());
        let mut faults = Vec::new();
        for name in names {
            match files::text(&name, room) {
                Ok(text) => {
                    room -= text.len();
                    sources.push(Source { name: shown(&name), text });
                }
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(Faults { listed: faults, more: 0 });
        }
        Ok((sources, folder))
    }

    /// The folder that names of files in it start from.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a file is that is named there.
    pub(crate) fn named(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where the tokens of administrators are, if it says.
    pub(crate) fn token_file(&self) -> Option<PathBuf> {
        self.file.settings.admin_token_file.as_deref().map(|name| self.named(name))
    }
}

/// A path as texts show it.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// One fault, with its place and its repair.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The character in its line, from 1.
    pub column: u32,
    /// What is wrong.
    pub fault: String,
    /// What to do about it.
    pub repair: String,
}

impl Fault {
    /// A fault of a file as a whole.
    pub(crate) fn of(path: &Path, fault: impl Into<String>, repair: impl Into<String>) -> Fault {
        let (fault, repair) = (fault.into(), repair.into());
        Fault { file: shown(path), line: 1, column: 1, fault, repair }
    }

    /// The same of a text that has both.
    pub(crate) fn told(path: &Path, text: &str) -> Fault {
        let (fault, repair) = text.rsplit_once("; ").unwrap_or((text, "correct it"));
        Fault::of(path, fault, repair)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { file, line, column, fault, repair } = self;
        write!(f, "{file}:{line}:{column}: {fault}; {repair}")
    }
}

/// Every fault of a set of files; of very many, the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// Those that are told.
    pub listed: Vec<Fault>,
    /// How many there are beyond those.
    pub more: usize,
}

impl Faults {
    /// One line for each.
    pub fn lines(&self) -> Vec<String> {
        let each = self.listed.iter().map(ToString::to_string);
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        each.chain(more).collect()
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Faults {
        Faults { listed: vec![fault], more: 0 }
    }
}

impl From<FileErrors> for Faults {
    fn from(errors: FileErrors) -> Faults {
        let each = errors.iter().cloned().map(|error| Fault {
            file: error.file,
            line: error.line,
            column: error.column,
            fault: error.fault,
            repair: error.repair,
        });
        Faults { listed: each.collect(), more: errors.more() }
    }
}
