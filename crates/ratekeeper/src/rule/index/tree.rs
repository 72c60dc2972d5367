//! Patterns that begin alike share their beginning; a path walks through all of them at once.
//!
//! Invariant: a node is reached by one step from one other, or is where rules begin.

use super::edges::Edges;
use super::nodes::Nodes;
use super::{Entry, Found};
use crate::rule::pattern::{GHOST, Step, segments};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Names of segments in patterns, by number.
    names: HashMap<Box<str>, usize>,
    edges: Edges,
}

#[derive(Debug, Default)]
struct Node {
    /// Where `*` leads.
    one: Option<usize>,
    /// Where `**` leads.
    any: Option<usize>,
    /// Whether it was reached by `**`, so that every segment leads back here.
    stays: bool,
    /// Whether names lead on.
    has_names: bool,
    /// Patterns that end here.
    here: Vec<Found>,
}

/// Where the rules for some host begin.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) node: usize,
    /// Rules without paths.
    pub(super) always: Vec<Found>,
}

impl Tree {
    pub(super) fn root(&mut self) -> Root {
        Root { node: self.node(), always: Vec::new() }
    }

    pub(super) fn add(&mut self, root: &mut Root, entry: &Entry<'_>) {
        let rule = entry.rule;
        if entry.paths.is_empty() {
            root.always.push(Found { rule, pattern: None });
        }
        for (path, number) in entry.paths.iter().zip(0..) {
            let end = path.steps().iter().fold(root.node, |node, step| self.step(node, step));
            self.nodes[end].here.push(Found { rule, pattern: Some(number) });
        }
    }

    fn node(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    /// Where a step leads; a new node if no pattern went there before.
    fn step(&mut self, from: usize, step: &Step) -> usize {
        let known = match step {
            Step::One => self.nodes[from].one,
            Step::Any => self.nodes[from].any,
            Step::Name(name) => {
                let name = self.names.get(name);
                name.and_then(|name| self.edges.get(&(from, *name))).copied()
            }
        };
        if let Some(known) = known {
            return known;
        }
        let new = self.node();
        match step {
            Step::One => self.nodes[from].one = Some(new),
            Step::Any => {
                self.nodes[from].any = Some(new);
                self.nodes[new].stays = true;
            }
            Step::Name(name) => {
                let next = self.names.len();
                let name = *self.names.entry(name.clone()).or_insert(next);
                self.edges.insert((from, name), new);
                self.nodes[from].has_names = true;
            }
        }
        new
    }

    /// Adds to `found` what is for all paths: that alone is for `OPTIONS *`. Says how many nodes it
    /// looked at.
    pub(super) fn about_all(&self, roots: &Nodes, found: &mut impl Extend<Found>) -> usize {
        let all = |root: usize| self.nodes[root].any;
        let visit = |node: usize| found.extend(self.nodes[node].here.iter().copied());
        roots.iter().filter_map(all).map(visit).count()
    }

    /// Adds to `found` what is for a folded path. Says how many nodes it looked at.
    pub(super) fn walk(
        &self,
        roots: &Nodes,
        folded: &str,
        found: &mut impl Extend<Found>,
    ) -> usize {
        let mut visited = 0;
        let (mut at, mut next) = (Nodes::default(), Nodes::default());
        roots.iter().for_each(|root| self.enter(root, &mut at));
        for segment in segments(folded) {
            let name = self.names.get(segment);
            for number in at.iter() {
                visited += 1;
                let node = &self.nodes[number];
                if node.stays || segment == GHOST {
                    self.enter(number, &mut next);
                }
                let name = name.filter(|_| node.has_names);
                let named = name.and_then(|name| self.edges.get(&(number, *name))).copied();
                let children = [named, node.one].into_iter().flatten();
                children.for_each(|child| self.enter(child, &mut next));
            }
            std::mem::swap(&mut at, &mut next);
            next.clear();
        }
        for number in at.iter() {
            visited += 1;
            found.extend(self.nodes[number].here.iter().copied());
        }
        visited
    }

    /// Where a walk comes to, and where it comes to as well because `**` may be nothing.
    fn enter(&self, node: usize, at: &mut Nodes) {
        at.add(node);
        self.nodes[node].any.into_iter().for_each(|any| at.add(any));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }
}
