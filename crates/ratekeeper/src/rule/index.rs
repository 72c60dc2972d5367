//! Which rules are for a host and a path, all of them at once.
//!
//! Each host that rules name has a tree of path patterns, and a request walks through those of its
//! host together. Invariant: it finds what trying each pattern by itself would find, and the work
//! does not grow with rules that it does not find.

mod edges;
mod nodes;
mod tree;
#[cfg(test)]
mod tests;

use super::pattern::{HostPattern, PathPattern, canonical_host, to_match};
use crate::few::Few;
use crate::request::path::CanonicalPath;
use nodes::Nodes;
use std::collections::HashMap;
use tree::{Root, Tree};

/// A rule, as far as the index looks at it.
pub(crate) struct Entry<'a> {
    /// Its number.
    pub(crate) rule: u32,
    /// Its hosts; empty for any.
    pub(crate) hosts: &'a [HostPattern],
    /// Its paths; empty for any.
    pub(crate) paths: &'a [PathPattern],
}

/// A rule that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    /// Its number.
    pub(crate) rule: u32,
    /// The first of its path patterns that matched, by number; none if it has no paths.
    pub(crate) pattern: Option<u32>,
}

/// The first rule of those that are found.
#[derive(Default)]
struct First(Option<u32>);

impl Extend<Found> for First {
    fn extend<I: IntoIterator<Item = Found>>(&mut self, found: I) {
        self.0 = found.into_iter().map(|found| found.rule).chain(self.0).min();
    }
}

/// Finds rules by host and path.
#[derive(Debug)]
pub(crate) struct Index {
    tree: Tree,
    /// Where rules for any host begin.
    any_host: Root,
    /// Where rules for one host begin.
    hosts: HashMap<Box<str>, Root>,
    /// Where rules for the names below one begin.
    below: HashMap<Box<str>, Root>,
    /// Most parts that a name in `below` has: no request is looked at any further.
    below_labels: usize,
    has_paths: bool,
}

impl Index {
    /// An index of these rules.
    pub(crate) fn new<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> Index {
        let mut tree = Tree::default();
        let mut index = Index {
            any_host: tree.root(),
            tree,
            hosts: HashMap::new(),
            below: HashMap::new(),
            below_labels: 0,
            has_paths: false,
        };
        entries.into_iter().for_each(|entry| index.add(&entry));
        index
    }

    /// Adds a rule; rules come in their order.
    pub(crate) fn add(&mut self, entry: &Entry<'_>) {
        self.has_paths |= !entry.paths.is_empty();
        if entry.hosts.is_empty() {
            self.tree.add(&mut self.any_host, entry);
        }
        for host in entry.hosts {
            let roots = if host.is_below() {
                self.below_labels = self.below_labels.max(host.name().split('.').count());
                &mut self.below
            } else {
                &mut self.hosts
            };
            let root = roots.entry(host.name().into()).or_insert_with(|| self.tree.root());
            self.tree.add(root, entry);
        }
    }

    /// Every rule for this host and path, in their order and each once. Without a path, those that look
    /// at none.
    pub(crate) fn find(&self, host: Option<&str>, path: Option<&CanonicalPath<'_>>) -> Few<Found> {
        self.find_counting(host, path).0
    }

    /// Says how many nodes it looked at, too.
    fn find_counting(
        &self,
        host: Option<&str>,
        path: Option<&CanonicalPath<'_>>,
    ) -> (Few<Found>, usize) {
        let mut found = Few::default();
        let mut roots = Nodes::default();
        self.each_root(host, |root| {
            found.extend(root.always.iter().copied());
            roots.add(root.node);
        });
        let visited = match path.filter(|_| self.has_paths) {
            Some(path) if path.is_asterisk() => self.tree.about_all(&roots, &mut found),
            Some(path) => self.tree.walk(&roots, &to_match(path), &mut found),
            None => 0,
        };
        found.sort_once(|found| found.rule);
        (found, visited)
    }

    /// The first rule for a path and any host, by its number; those for single hosts are not looked at.
    pub(crate) fn first(&self, path: &CanonicalPath<'_>) -> Option<u32> {
        let (mut first, mut roots) = (First::default(), Nodes::default());
        first.extend(self.any_host.always.iter().copied());
        roots.add(self.any_host.node);
        match path.is_asterisk() {
            true => self.tree.about_all(&roots, &mut first),
            false => self.tree.walk(&roots, &to_match(path), &mut first),
        };
        first.0
    }

    /// Every pattern that rules for any host have and that a folded path walks through.
    #[cfg(feature = "yaml")]
    pub(crate) fn find_folded(&self, folded: &str) -> Few<Found> {
        let (mut found, mut roots) = (Few::default(), Nodes::default());
        roots.add(self.any_host.node);
        self.tree.walk(&roots, folded, &mut found);
        found.sort_once(|found| found.rule);
        found
    }

    fn each_root(&self, host: Option<&str>, mut with: impl FnMut(&Root)) {
        with(&self.any_host);
        let Some(host) = host.filter(|_| !self.hosts.is_empty() || !self.below.is_empty()) else {
            return;
        };
        let host = canonical_host(host);
        self.hosts.get(&*host).into_iter().for_each(&mut with);
        let dots = host.rmatch_indices('.').take(self.below_labels).filter(|(at, _)| *at > 0);
        dots.filter_map(|(at, _)| self.below.get(&host[at + 1..])).for_each(&mut with);
    }
}
