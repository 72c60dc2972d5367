//! Rule files: YAML or JSON, read into what it means.
//!
//! Text becomes a tree with places, and the tree becomes [rules](RuleSet) and
//! [settings](Settings). Invariant: a file that is read makes sense as a whole; of one that is not, every
//! fault is told at once, each with its place and its repair. Whatever the text is, the time and the
//! memory that it takes are bounded.

mod error;
mod json;
mod mean;
mod near;
mod schema;
mod settings;
mod shape;
mod syntax;
mod tree;

pub use error::{FileError, FileErrors, LISTED_MAX};
pub use json::{JSON_MAX, json};
pub use mean::{ALTERNATIVES_MAX, LIMITS_MAX, PARTS_MAX, RULES_MAX};
pub use mean::{length, time};
pub use schema::schema;
pub use settings::{
    AccessLog, Auth, Gateway, Listen, Route, Scheme, Secured, Settings, Store, Timeouts, Upstream,
};
pub use tree::{ALIASES_MAX, DEPTH_MAX, NODES_MAX};

use crate::rule::RuleSet;
use error::{Faults, Place};
use std::io;

/// Most bytes of a set of files, with those that it names.
pub const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Most files of a set.
pub const FILES_MAX: usize = 1_000;

/// The name of a text that has none.
const NAMELESS: &str = "ratekeeper.yaml";

/// One file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, as faults show it.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// A file, or a folder of files, as it was meant.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RuleFile {
    /// The rules.
    pub rules: RuleSet,
    /// What is said about the server.
    pub settings: Settings,
}

impl RuleFile {
    /// Reads the files of a set. `rules`, `overrides` and `exempt` of all of them are put together in
    /// order; every other field may be in one of them only.
    ///
    /// `open` reads what the files name, such as `keys.yaml` and `public.pem`, relative to them; nothing
    /// else is read here.
    pub fn read(
        sources: &[Source],
        open: &dyn Fn(&str) -> io::Result<Vec<u8>>,
    ) -> Result<RuleFile, FileErrors> {
        let mut faults = Faults::default();
        let named = |file: u16| sources.get(usize::from(file)).map(|source| source.name.clone());
        let bytes: usize = sources.iter().map(|source| source.text.len()).sum();
        let start = |file: usize| Place { file: file as u16, line: 1, column: 1 };
        if sources.len() > FILES_MAX {
            let fault = format!("there are more than {FILES_MAX} files");
            faults.add(start(0), fault, "put rules together into fewer files");
            return Err(told(faults, named));
        }
        if bytes > BYTES_MAX {
            let mut read = 0;
            let over = sources.iter().position(|source| {
                read += source.text.len();
                read > BYTES_MAX
            });
            let fault = format!("rule files are larger than {} MiB", BYTES_MAX >> 20);
            faults.add(start(over.unwrap_or(0)), fault, "use fewer rules");
            return Err(told(faults, named));
        }
        let mut trees = Vec::with_capacity(sources.len());
        for (number, source) in sources.iter().enumerate() {
            trees.extend(tree::read(number as u16, &source.text, &mut faults));
        }
        // What a file that cannot be read would have said is missed everywhere.
        if trees.len() < sources.len() {
            return Err(told(faults, named));
        }
        let room = BYTES_MAX - bytes;
        mean::mean(&trees, faults, sources, room, open)
    }

    /// Reads one text, called `ratekeeper.yaml`, that names no other files.
    pub fn parse(text: &str) -> Result<RuleFile, FileErrors> {
        let source = Source { name: NAMELESS.into(), text: text.into() };
        let closed = |_: &str| Err(io::Error::from(io::ErrorKind::Unsupported));
        RuleFile::read(&[source], &closed)
    }
}

/// The faults, where it is known that there are some.
fn told(faults: Faults, named: impl Fn(u16) -> Option<String>) -> FileErrors {
    faults.into_errors(|file| named(file).unwrap_or_else(|| NAMELESS.to_owned()))
}

/// Every field that a rule file can have: the map that it is in, its name, and what it is for.
pub fn fields() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let shapes = shape::SHAPES.iter();
    shapes.flat_map(|shape| {
        shape.fields.iter().map(|field| (shape.name, field.name, field.doc.trim_start()))
    })
}
