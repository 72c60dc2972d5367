//! Many patterns in their order, of which the first that matches is wanted.
//!
//! Invariant: the answer is that of trying each in order, and the work does not grow with patterns
//! that do not match.

use super::{PathPattern, Step};
use crate::request::path::CanonicalPath;
use crate::rule::index::{Entry, Index};

/// Patterns in their order, such as those of routes.
///
/// ```
/// use ratekeeper::request::path::CanonicalPath;
/// use ratekeeper::rule::pattern::{PathPattern, PathTable};
///
/// let patterns = [PathPattern::parse("/api/v2/**")?, PathPattern::parse("/api/**")?];
/// let table = PathTable::new(&patterns);
/// assert_eq!(table.first(&CanonicalPath::new("/API/v1")?), Some(1));
/// assert_eq!(table.first(&CanonicalPath::new("/")?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PathTable {
    index: Index,
    /// Whether the first pattern matches whatever there is.
    is_for_all: bool,
}

impl PathTable {
    /// A table of these patterns, numbered from 0.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a PathPattern>) -> PathTable {
        let mut patterns = patterns.into_iter().zip(0..).peekable();
        let is_for_all = patterns.peek().is_some_and(|(first, _)| *first.steps() == [Step::Any]);
        let entries = patterns.map(|(pattern, number)| entry(pattern, number));
        PathTable { index: Index::new(entries), is_for_all }
    }

    /// The number of the first pattern that [matches](PathPattern::matches) a path.
    pub fn first(&self, path: &CanonicalPath<'_>) -> Option<usize> {
        match self.is_for_all {
            true => Some(0),
            false => self.index.first(path).map(|number| number as usize),
        }
    }
}

fn entry(pattern: &PathPattern, number: u32) -> Entry<'_> {
    Entry { rule: number, hosts: &[], paths: std::slice::from_ref(pattern) }
}

/// A name that no pattern has by chance; it stands for whatever `*` and `**` match.
#[cfg(feature = "yaml")]
const ANYTHING: &str = "~any~";

/// Patterns of which the first that matches counts, one after the other: it finds those that are never
/// reached.
#[cfg(feature = "yaml")]
pub(crate) struct Shadows {
    index: Index,
    patterns: Vec<PathPattern>,
}

#[cfg(feature = "yaml")]
impl Default for Shadows {
    fn default() -> Shadows {
        Shadows { index: Index::new([]), patterns: Vec::new() }
    }
}

#[cfg(feature = "yaml")]
impl Shadows {
    /// Adds a pattern, unless one before covers it: then its number.
    pub(crate) fn add(&mut self, pattern: &PathPattern) -> Option<usize> {
        // Whatever covers it matches this one path of it, so that few have to be compared.
        let sample = pattern.steps().iter().flat_map(|step| match step {
            Step::Name(name) => ["/", name],
            Step::One | Step::Any => ["/", ANYTHING],
        });
        let found = self.index.find_folded(&sample.collect::<String>());
        let mut numbers = found.iter().map(|found| found.rule as usize);
        let covers = |number: &usize| {
            self.patterns.get(*number).is_some_and(|first| first.covers_generously(pattern))
        };
        if let Some(first) = numbers.find(covers) {
            return Some(first);
        }
        let number = u32::try_from(self.patterns.len()).unwrap_or(u32::MAX);
        self.index.add(&entry(pattern, number));
        self.patterns.push(pattern.clone());
        None
    }
}
